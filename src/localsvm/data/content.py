"""Content decides, not order: hashes of rows, the canonical order, duplicates merged into weights.

Enters: rows, targets, weights, a seed. Leaves: `Samples` in an order that depends on the rows' content
only, so that the model is the same for any order of the input, and a weight of 2 is the same as a
row given twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm import _native
from localsvm.data.source import RowSource, block_rows, row_blocks

_BLOCK_ROWS = 65536

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Samples:
    """Distinct weighted samples in canonical order; equal feature rows stand next to each other."""

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    group: NDArray[np.int64]
    """Samples with equal features have equal group numbers, 0, 1, ... in canonical order."""
    key: Keys | None = None
    """By which samples are found again in another model of the same rows, if that is needed: see `row_keys`."""

    @property
    def n_groups(self) -> int:
        """Number of distinct feature rows."""
        return int(self.group[-1]) + 1


def content_hash(X: RowSource, seed: int) -> NDArray[np.uint64]:
    """Return a seeded 64-bit hash of every row; rows of equal numbers hash equally, in both precisions."""
    seed &= 0xFFFFFFFFFFFFFFFF
    out = np.empty(len(X), dtype=np.uint64)
    for begin in range(0, len(X), _BLOCK_ROWS):
        block = X[begin : begin + _BLOCK_ROWS]
        out[begin : begin + len(block)] = _native.content_hash(np.ascontiguousarray(block), seed)
    return out


def row_keys(hashes: Keys, y: NDArray[np.float64]) -> Keys:
    """Return a number for every row that its features, by their hashes, and its target decide."""
    keys = np.empty_like(hashes)
    for block in row_blocks(0, len(hashes), _BLOCK_ROWS):
        targets = content_hash(np.ascontiguousarray(y[block].reshape(-1, y[0].size)), seed=0)
        keys[block] = hashes[block] * np.uint64(0x9E3779B97F4A7C15) + targets
    return keys


def distinct_rows(
    X: RowSource, y: NDArray[np.float64], weight: NDArray[np.float64], seed: int = 0
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
    """Order samples by content and merge identical ones; samples of weight zero are dropped.

    Targets are numbers (n,), or rows of them (n, n_targets). Of the rows only the distinct ones are held.
    """
    if not (weight > 0).all():
        present = weight > 0
        X, y, weight = X[present], y[present], weight[present]
    order, first = _content_order(X, y, weight, seed)
    return _merged(X, y, weight, order, first)


def _content_order(
    X: RowSource, y: NDArray[np.float64], weight: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the order of samples by content, and where each distinct one begins in it."""
    h = content_hash(X, seed)
    targets: NDArray[np.float64] = y if y.ndim == 2 else y[:, None]
    order = np.lexsort((weight, *targets.T, h))
    # Rows are compared only where the hashes of neighbours in this order agree.
    alike = np.flatnonzero(h[order[1:]] == h[order[:-1]])
    above, below = order[alike], order[alike + 1]
    equal = (targets[above] == targets[below]).all(axis=1)
    for block in row_blocks(0, len(alike), block_rows(X.shape[1])):
        equal[block] &= (X[above[block]] == X[below[block]]).all(axis=1)
    new_sample = np.ones(len(y), dtype=bool)
    new_sample[alike[equal] + 1] = False
    return order, np.flatnonzero(new_sample)


def _merged(
    X: RowSource,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    order: NDArray[np.intp],
    first: NDArray[np.intp],
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
    kept = order[first]
    zero = X.dtype.type(0)  # turns -0.0 into 0.0, whichever of the two came first
    return np.ascontiguousarray(X[kept]) + zero, y[kept] + 0.0, np.add.reduceat(weight[order], first)


def canonical_rows(
    X: NDArray[np.float32],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    seed: int,
    key: Keys | None = None,
) -> Samples:
    """Return the distinct samples in the order of their seeded hash; of the keys of merged samples the smallest."""
    if not (weight > 0).all():
        present = weight > 0
        X, y, weight, key = X[present], y[present], weight[present], None if key is None else key[present]
    order, first = _content_order(X, y, weight, seed)
    if key is not None:
        key = np.minimum.reduceat(key[order], first)
    X, y, weight = _merged(X, y, weight, order, first)
    new_features = np.ones(len(y), dtype=bool)
    new_features[1:] = (X[1:] != X[:-1]).any(axis=1)
    return Samples(X=X, y=y, weight=weight, group=np.cumsum(new_features) - 1, key=key)
