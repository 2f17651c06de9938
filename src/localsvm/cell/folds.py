"""Folds of a cell (Alg. 1, line 2): decided by content, balanced over classes, rows that depend together.

Enters: canonical rows. Leaves: `FoldedRows`, the same rows ordered [ fold 0 | fold 1 | ... ].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localsvm.data.content import Keys, Samples
from localsvm.data.types import Float32Array, FloatArray, IndexArray


@dataclass(frozen=True)
class FoldedRows:
    """Samples of a cell in fold order; fold l is the rows ends[l-1] to ends[l]."""

    X: Float32Array
    y: FloatArray
    weight: FloatArray
    ends: tuple[int, ...]
    key: Keys | None = None
    """See `Samples`."""

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.ends)

    def repeated(self, times: int) -> FoldedRows:
        """Return each sample several times, in adjacent rows."""
        if times == 1:
            return self
        rows = np.repeat(np.arange(len(self.y)), times)
        key = None if self.key is None else self.key[rows]
        return FoldedRows(self.X[rows], self.y[rows], self.weight[rows], tuple(times * end for end in self.ends), key)

    def fold(self, number: int) -> slice:
        """Rows of one fold."""
        return slice(self.ends[number - 1] if number else 0, self.ends[number])


def make_folds(rows: Samples, n_folds: int, stratify: bool) -> FoldedRows:
    """Return the rows in the order of their folds."""
    order, ends = fold_order(rows, n_folds, stratify)
    key = None if rows.key is None else rows.key[order]
    return FoldedRows(np.ascontiguousarray(rows.X[order]), rows.y[order], rows.weight[order], ends, key)


def fold_order(rows: Samples, n_folds: int, stratify: bool) -> tuple[IndexArray, tuple[int, ...]]:
    """Assign distinct feature rows, in the order of their hash, to the folds in turn; return row order and fold ends.

    With fewer distinct rows than folds every distinct row is a fold of its own. Stratified, the classes come one after
    the other, and a class starts at the fold after the last one of the class before. Where samples have groups or
    times, these decide alone: equal rows of two groups may be in two folds.
    """
    if rows.ties is not None:
        return _by_fold(rows.ties.folds(n_folds, rows.y if stratify else None))
    n_folds = max(1, min(n_folds, rows.n_groups))
    first_of_group = np.flatnonzero(np.diff(rows.group, prepend=-1))
    stratum = rows.y[first_of_group] if stratify else np.zeros(rows.n_groups)
    by_class = np.argsort(stratum, kind="stable")
    fold_of_group = np.empty(rows.n_groups, dtype=np.int64)
    fold_of_group[by_class] = np.arange(rows.n_groups) % n_folds
    return _by_fold(fold_of_group[rows.group])


def _by_fold(fold: IndexArray) -> tuple[IndexArray, tuple[int, ...]]:
    ends = np.cumsum(np.bincount(fold))
    return np.argsort(fold, kind="stable"), tuple(int(end) for end in ends)
