"""Rows that depend on each other share a fold: those of a group, or of a stretch of time.

Enters: a number for every row, that of its group or of its time. Leaves: `Ties`, which deal groups to folds, or cut
time into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class Ties:
    """The group or the time of every row.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.data.ties import Ties
    >>> Ties(np.array([7, 7, 7, 3, 3, 5])).folds(2).tolist()
    [0, 0, 0, 1, 1, 1]
    >>> Ties(np.array([1, 2, 3, 4, 5, 6]), ordered=True).folds(2).tolist()
    [1, 1, 1, 0, 0, 0]
    """

    number: NDArray[np.int64]
    """Rows of equal numbers are tied; rows of weight zero have -1."""
    ordered: bool = False
    """Whether the numbers are times, whose order counts; those of groups only tell them apart."""

    def __getitem__(self, rows: IndexArray | BoolArray) -> Ties:
        """Return those of some rows."""
        return Ties(self.number[rows], self.ordered)

    def folds(self, n_folds: int, stratum: FloatArray | None = None) -> IndexArray:
        """Return the fold of every row: at most as many as there are groups or times, and none of them empty.

        Times are cut into blocks of nearly as many rows each, and fold 0 is the latest of them. Groups are dealt to
        folds, the largest first, each to the fold with the least of its strata: see `_deal`.
        """
        if self.ordered:
            return _blocks(self.number, n_folds)
        return _deal(self.number, np.zeros(len(self.number)) if stratum is None else stratum, n_folds)


def _blocks(time: NDArray[np.int64], n_folds: int) -> IndexArray:
    """Return the block of every row: that of the middle one of the rows of its time."""
    _, place, size = np.unique(time, return_inverse=True, return_counts=True)
    middle = np.cumsum(size) - size / 2
    block = np.floor(n_folds * middle / len(time))
    return np.asarray(np.unique(-block, return_inverse=True)[1][place])  # a large time may leave blocks empty


def _deal(number: NDArray[np.int64], stratum: FloatArray, n_folds: int) -> IndexArray:
    """Return the fold of every row; groups of as many rows are dealt in the order of their numbers.

    A group of g_c rows of stratum c goes to the fold in which the sum of n_c g_c / N_c^2 is least, where n_c rows of
    all N_c are already: that keeps the sum of squared shares of strata in folds low. Then to the fold that is emptiest.
    """
    groups, group = np.unique(number, return_inverse=True)
    strata, level = np.unique(stratum, return_inverse=True)
    counts = np.zeros((len(groups), len(strata)))
    np.add.at(counts, (group, level), 1)
    share = counts / counts.sum(axis=0)
    load = np.zeros((min(n_folds, len(groups)), len(strata)))
    fold_of = np.empty(len(groups), dtype=np.intp)
    for g in np.argsort(-counts.sum(axis=1), kind="stable").tolist():
        fold_of[g] = fold = np.lexsort((load.sum(axis=1), (load * share[g]).sum(axis=1)))[0]
        load[fold] += share[g]
    return np.asarray(fold_of[group])
