"""Content decides, not order: hashes of rows, the canonical order, duplicates merged into weights.

Enters: scaled float32 rows, targets, weights, a seed. Leaves: `Rows` in an order that depends on the rows' content
only, so that the model is the same for any order of the input, and a weight of 2 is the same as a row given twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Rows:
    """Distinct weighted samples in canonical order; equal feature rows stand next to each other."""

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    group: NDArray[np.int64]
    """Samples with equal features have equal group numbers, 0, 1, ... in canonical order."""

    @property
    def n_groups(self) -> int:
        """Number of distinct feature rows."""
        return int(self.group[-1]) + 1


def _mix(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # The finaliser of splitmix64: every input bit reaches every output bit.
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def content_hash(X: NDArray[np.float32], seed: int) -> NDArray[np.uint64]:
    """Return a seeded 64-bit hash of every row; equal rows hash equally, -0.0 counts as 0.0."""
    with np.errstate(over="ignore"):
        start = (np.uint64(seed & 0xFFFFFFFFFFFFFFFF) + np.uint64(1)) * _MULTIPLIER
        h = np.full(X.shape[0], start, dtype=np.uint64)
        for column in (X + np.float32(0)).T:
            bits = np.ascontiguousarray(column).view(np.uint32).astype(np.uint64)
            h = _mix(h + _MULTIPLIER + bits)
    return h


def canonical_rows(
    X: NDArray[np.float32],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    seed: int,
) -> Rows:
    """Order samples by content and merge identical ones; samples of weight zero are left out."""
    present = weight > 0
    X, y, weight = X[present], y[present], weight[present]
    h = content_hash(X, seed)
    order = np.lexsort((weight, y, h))
    X, y, weight = X[order], y[order], weight[order]
    new_features = np.ones(len(y), dtype=bool)
    new_features[1:] = (X[1:] != X[:-1]).any(axis=1)
    new_sample = new_features.copy()
    new_sample[1:] |= y[1:] != y[:-1]
    first = np.flatnonzero(new_sample)
    return Rows(
        X=np.ascontiguousarray(X[first]),
        y=y[first],
        weight=np.add.reduceat(weight, first),
        group=np.cumsum(new_features)[first] - 1,
    )
