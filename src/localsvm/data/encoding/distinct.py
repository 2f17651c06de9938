"""Distinct rows: duplicates are merged into weights, and sums over rows do not depend on the order of the input.

Enters: a table, targets and weights. Leaves: `Inputs`, rows with distinct features, which know nothing of targets; and
`Units`, the same with the means of their targets. Rows of weight zero are in neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.content import content_hash
from localsvm.data.source import RowSource
from localsvm.data.types import FloatArray, IndexArray


@dataclass(frozen=True)
class Inputs:
    """Rows with distinct features, in ascending order of weight."""

    rows: IndexArray
    """Number of one row of each in the table."""
    weight: FloatArray
    of_row: IndexArray
    """The input of every row of the table; rows of weight zero have the last one."""

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return len(self.rows)


@dataclass(frozen=True)
class Units:
    """Distinct rows (of each group) with the means of their targets, sorted by target and weight.

    Units with equal targets and weights add equal numbers, so sums in this order are the same for any order of the
    input; and without one of the units the others keep their order.
    """

    rows: IndexArray
    weight: FloatArray
    targets: FloatArray


def distinct_inputs(X: RowSource, weight: FloatArray) -> Inputs:
    """Merge rows with equal features."""
    # Different rows whose 64-bit hashes agree are counted as one: in 10^8 rows there is none with probability 0.9997.
    present = np.flatnonzero(weight)
    hashes = content_hash(_OneNaN(X), 0)[present]
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    merged = _sums(weight[present], inverse, len(first))
    order = np.argsort(merged, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    of_row = np.full(len(X), len(order) - 1)
    of_row[present] = place[inverse]
    return Inputs(present[first[order]], merged[order], of_row)


def distinct_units(
    inputs: Inputs, targets: FloatArray, weight: FloatArray, groups: NDArray[np.integer] | None
) -> Units:
    """Merge rows with equal features, in each group, and average their targets."""
    rows = np.flatnonzero(weight)
    mass, key, means = weight[rows], content_hash(targets, 0)[rows], targets[rows]
    if len(inputs) < len(rows):
        # Equal targets are merged first: a weight of 2 and a row given twice round alike.
        same_unit = [inputs.of_row[rows], *([] if groups is None else [groups[rows]])]
        order = np.lexsort((mass, key, *same_unit))
        first = _changes([part[order] for part in (key, *same_unit)])
        mass, order = np.add.reduceat(mass[order], first), order[first]
        first = _changes([part[order] for part in same_unit])
        is_single = np.diff(first, append=len(order))[:, None] == 1
        sums, only = np.add.reduceat(mass[:, None] * means[order], first), means[order[first]]
        mass = np.add.reduceat(mass, first)
        rows, means = rows[order[first]], np.where(is_single, only, sums / mass[:, None])
        key = content_hash(means, 0)
    order = np.argsort(key, kind="stable") if (mass == mass[0]).all() else np.lexsort((mass, key))
    return Units(rows[order], mass[order], means[order])


def _changes(keys: Sequence[NDArray[np.integer]]) -> IndexArray:
    """Return where any of the keys differs from the one before."""
    differs = np.any([np.diff(key) != 0 for key in keys], axis=0)
    return np.flatnonzero(np.concatenate([[True], differs]))


def _sums(weight: FloatArray, number: IndexArray, count: int) -> FloatArray:
    """Return the weights summed by number, for any order of the rows rounded alike."""
    if count == len(weight):
        return np.asarray(weight[np.argsort(number)])
    order = np.lexsort((weight, number))
    return np.asarray(np.bincount(number[order], weight[order], count))


@dataclass(frozen=True)
class _OneNaN:
    """Rows in which all missing numbers have the same bits."""

    source: RowSource

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """Type of the numbers."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    def __getitem__(self, rows: slice) -> FloatArray:
        """Return some rows."""
        block = self.source[rows].astype(np.float64)
        block[np.isnan(block)] = np.nan
        return np.asarray(block)
