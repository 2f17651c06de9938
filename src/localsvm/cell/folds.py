"""Folds of a cell (Alg. 1, line 2): decided by content, balanced over classes, equal rows together.

Enters: canonical rows. Leaves: `FoldedRows`, the same rows ordered [ fold 0 | fold 1 | ... ].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.content import Samples


@dataclass(frozen=True)
class FoldedRows:
    """Samples of a cell in fold order; fold l is the rows ends[l-1] to ends[l]."""

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    ends: tuple[int, ...]

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.ends)

    def repeated(self, copies: int) -> FoldedRows:
        """Return each sample several times, its copies next to each other."""
        if copies == 1:
            return self
        rows = np.repeat(np.arange(len(self.y)), copies)
        return FoldedRows(self.X[rows], self.y[rows], self.weight[rows], tuple(copies * end for end in self.ends))

    def fold(self, number: int) -> slice:
        """Rows of one fold."""
        return slice(self.ends[number - 1] if number else 0, self.ends[number])


def make_folds(rows: Samples, n_folds: int, stratify: bool) -> FoldedRows:
    """Return the rows in the order of their folds."""
    order, ends = fold_order(rows, n_folds, stratify)
    return FoldedRows(np.ascontiguousarray(rows.X[order]), rows.y[order], rows.weight[order], ends)


def fold_order(rows: Samples, n_folds: int, stratify: bool) -> tuple[NDArray[np.intp], tuple[int, ...]]:
    """Deal the distinct feature rows, in the order of their hash, to the folds in turn; return the order and the ends.

    With fewer distinct rows than folds every distinct row is a fold of its own. Stratified, each class is dealt
    separately, and a class goes on where the last one stopped.
    """
    n_folds = max(1, min(n_folds, rows.n_groups))
    first_of_group = np.flatnonzero(np.diff(rows.group, prepend=-1))
    stratum = rows.y[first_of_group] if stratify else np.zeros(rows.n_groups)
    dealt = np.argsort(stratum, kind="stable")
    fold_of_group = np.empty(rows.n_groups, dtype=np.int64)
    fold_of_group[dealt] = np.arange(rows.n_groups) % n_folds
    fold = fold_of_group[rows.group]
    ends = np.cumsum(np.bincount(fold, minlength=n_folds))
    return np.argsort(fold, kind="stable"), tuple(int(end) for end in ends)
