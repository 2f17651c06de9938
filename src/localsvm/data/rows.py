"""Rows in the metric of the model: scaled to float32 a block at a time, never copied whole.

Enters: a source of rows and a scaling. Leaves: `ScaledRows`, which are `ModelRows`, and a sample of rows that content
decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.scaling import Scaling
from localsvm.data.source import RowSource, block_rows, row_blocks

_SCALED_ROWS = 2048  # at a time: few enough for the cache


class ModelRows(ABC):
    """Rows in the metric of the model, wherever they are."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @abstractmethod
    def take(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Return some rows, given by a slice or by their numbers."""

    def blocks(self, begin: int, end: int) -> Iterator[slice]:
        """Yield slices of rows to read at a time that cover begin to end."""
        return row_blocks(begin, end, block_rows(self.n_features))

    def arrange(self, order: NDArray[np.intp]) -> None:  # noqa: B027 - nothing to do where any order is as fast
        """Prepare for being read in this order; the numbers of the rows stay the same."""


@dataclass(frozen=True)
class ScaledRows(ModelRows):
    """Rows that are scaled when they are read; without a scaling, rows that are scaled already."""

    X: RowSource
    scaling: Scaling | None = None

    @classmethod
    def of(cls, X: RowSource, scaling: Scaling) -> ScaledRows:
        """Scale all rows now, for a caller that reads them several times; float32 arrays are scaled in place."""
        held = X if isinstance(X, np.ndarray) and X.dtype == np.float32 else np.empty(X.shape, dtype=np.float32)
        for block in row_blocks(0, len(X), block_rows(X.shape[1], _SCALED_ROWS)):
            held[block] = scaling.apply(X[block])
        return cls(held)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def take(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Return some rows, contiguous and scaled; a slice is a block already."""
        if self.scaling is None:
            return np.ascontiguousarray(self.X[rows])
        if isinstance(rows, slice):
            return np.ascontiguousarray(self.scaling.apply(self.X[rows]))
        out = np.empty((len(rows), self.n_features), dtype=np.float32)
        for block in self.blocks(0, len(rows)):
            out[block] = self.scaling.apply(self.X[rows[block]])
        return out


def mean_ball(X: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """Return the mean of the rows, and the largest distance of a row from it."""
    wide = X.astype(np.float64)
    center = wide.mean(axis=0)
    return center, float(np.sqrt(np.square(wide - center).sum(axis=1).max()))


def smallest_hashes(hashes: NDArray[np.uint64], count: int) -> NDArray[np.intp]:
    """Return where the `count` smallest distinct hashes are: a random sample of distinct rows, with their duplicates.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.data.rows import smallest_hashes
    >>> smallest_hashes(np.array([7, 3, 9, 3, 5], dtype=np.uint64), 2)
    array([1, 3, 4])
    """
    n = len(hashes)
    if n <= count:
        return np.arange(n)
    kept = 2 * count
    while True:
        # Hashes are uniform: unless duplicates are many, a quantile of them leaves about `kept` rows.
        threshold = np.uint64(min(int(kept / n * 2**64), 2**64 - 1))
        candidates = np.flatnonzero(hashes <= threshold)
        distinct = np.unique(hashes[candidates])
        if len(distinct) >= count or len(candidates) == n:
            break
        kept *= 4
    if len(distinct) <= count:
        return candidates
    return np.asarray(candidates[hashes[candidates] <= distinct[count - 1]])
