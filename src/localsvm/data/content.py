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
from localsvm.data.ties import Ties

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
    ties: Ties | None = None
    """Which samples have to share a fold beside those with equal features, or else which decide alone."""

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


def mixed(numbers: Keys) -> Keys:
    """Return numbers that differ in half of their bits where the given ones differ in one: the end of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def tied_keys(keys: Keys, ties: Ties) -> Keys:
    """Return keys of rows that their time decides, too, or the rows of their group, whatever it is called."""
    if ties.ordered:
        return mixed(keys + mixed(ties.number.astype(np.uint64)))
    order, first = _distinct_in_groups(ties, keys, np.broadcast_to(1.0, len(keys)))
    numbers, content = _sums_of_groups(ties.number[order[first]], keys[order[first]])
    return mixed(keys + content[np.searchsorted(numbers, ties.number)])


def rank_groups(ties: Ties, keys: Keys, weight: NDArray[np.float64]) -> Ties:
    """Return groups numbered in an order that their rows and weights decide; equal groups are interchangeable."""
    order, first = _distinct_in_groups(ties, keys, weight)
    mass = np.add.reduceat(weight[order], first)
    marks = keys[order[first]] + mixed(content_hash(mass[:, None], seed=0))
    numbers, content = _sums_of_groups(ties.number[order[first]], marks)
    rank = np.argsort(np.argsort(content, kind="stable"))
    return Ties(rank[np.searchsorted(numbers, ties.number)])


def _distinct_in_groups(
    ties: Ties, keys: Keys, weight: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the order of rows by group, key and weight, and where each distinct key of a group begins in it."""
    order = np.lexsort((weight, keys, ties.number))
    number, key = ties.number[order], keys[order]
    differs = (number[1:] != number[:-1]) | (key[1:] != key[:-1])
    return order, np.flatnonzero(np.append(True, differs))


def _sums_of_groups(number: NDArray[np.int64], marks: Keys) -> tuple[NDArray[np.int64], Keys]:
    """Return the groups of sorted rows, and for each of them a sum of marks, which has no order."""
    begins = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    sums: Keys = np.add.reduceat(mixed(marks), begins)
    return number[begins], mixed(sums)


def distinct_rows(
    X: RowSource, y: NDArray[np.float64], weight: NDArray[np.float64], seed: int = 0, ties: Ties | None = None
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64], Ties | None]:
    """Order samples by content and merge identical ones, if they are tied; samples of weight zero are dropped.

    Targets are numbers (n,), or rows of them (n, n_targets). Of the rows only the distinct ones are held.
    """
    if not (weight > 0).all():
        present = weight > 0
        X, y, weight, ties = X[present], y[present], weight[present], None if ties is None else ties[present]
    order, first, ties = _content_order(X, y, weight, seed, ties)
    return *_merged(X, y, weight, order, first), ties


def _content_order(
    X: RowSource, y: NDArray[np.float64], weight: NDArray[np.float64], seed: int, ties: Ties | None
) -> tuple[NDArray[np.intp], NDArray[np.intp], Ties | None]:
    """Return the order of samples by content, where each distinct one begins in it, and the ties of these."""
    h = content_hash(X, seed)
    if ties is not None and not ties.ordered:
        ties = rank_groups(ties, row_keys(h, y), weight)
    targets: NDArray[np.float64] = y if y.ndim == 2 else y[:, None]
    order = np.lexsort((weight, *([] if ties is None else [ties.number]), *targets.T, h))
    # Rows are compared only where the hashes of neighbours in this order agree.
    alike = np.flatnonzero(h[order[1:]] == h[order[:-1]])
    above, below = order[alike], order[alike + 1]
    equal = (targets[above] == targets[below]).all(axis=1)
    for block in row_blocks(0, len(alike), block_rows(X.shape[1])):
        equal[block] &= (X[above[block]] == X[below[block]]).all(axis=1)
    if ties is not None:
        equal &= ties.number[above] == ties.number[below]
    new_sample = np.ones(len(y), dtype=bool)
    new_sample[alike[equal] + 1] = False
    first = np.flatnonzero(new_sample)
    return order, first, None if ties is None else ties[order[first]]


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
    ties: Ties | None = None,
) -> Samples:
    """Return the distinct samples in the order of their seeded hash; of the keys of merged samples the smallest."""
    if not (weight > 0).all():
        present = weight > 0
        X, y, weight, key = X[present], y[present], weight[present], None if key is None else key[present]
        ties = None if ties is None else ties[present]
    order, first, ties = _content_order(X, y, weight, seed, ties)
    if key is not None:
        key = np.minimum.reduceat(key[order], first)
    X, y, weight = _merged(X, y, weight, order, first)
    new_features = np.ones(len(y), dtype=bool)
    new_features[1:] = (X[1:] != X[:-1]).any(axis=1)
    return Samples(X=X, y=y, weight=weight, group=np.cumsum(new_features) - 1, key=key, ties=ties)
