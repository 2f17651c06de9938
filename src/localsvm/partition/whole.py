"""No partition: one cell of all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.rows import ModelRows
from localsvm.partition.base import Members


@dataclass(frozen=True)
class WholePartition:
    """One cell; its center is the middle of the box around the training rows."""

    centers: NDArray[np.float32]
    radii: NDArray[np.float64]

    def assign(self, X: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return cell 0 for every row."""
        return np.zeros(len(X), dtype=np.int32)


def build_whole(rows: ModelRows) -> tuple[WholePartition, Members]:
    """Put all rows into one cell."""
    ends = [(X.min(axis=0), X.max(axis=0)) for X in map(rows.take, rows.blocks(0, len(rows)))]
    low, high = np.min([a for a, _ in ends], axis=0), np.max([b for _, b in ends], axis=0)
    center = (low / 2 + high / 2).astype(np.float32)
    squared = max(float(_squared(rows.take(block), center).max()) for block in rows.blocks(0, len(rows)))
    partition = WholePartition(center[None, :], np.sqrt([squared]))
    return partition, Members(np.arange(len(rows)), np.array([len(rows)]))


def _squared(X: NDArray[np.float32], center: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.asarray(np.square(X.astype(np.float64) - center).sum(axis=1))
