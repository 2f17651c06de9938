"""The samples of all problems of a cell side by side, so that one array operation covers all problems.

    columns = [ samples of problem 0 | samples of problem 1 | ... ],  each in fold order

Enters: folded rows and the problems on them. Leaves: `Columns`, sums over them by problem and fold, and the
`FoldWeights` of training and validation samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from localsvm.cell.folds import FoldedRows
from localsvm.data.types import BoolArray, FloatArray, IndexArray
from localsvm.tasks import Problem
from localsvm.tasks.losses import Loss


@dataclass(frozen=True)
class Columns:
    """One column per sample of a problem."""

    problems: tuple[Problem, ...]
    row: IndexArray
    """The sample's row in the cell."""
    problem: IndexArray
    y: FloatArray
    weight: FloatArray
    clip: FloatArray
    side: FloatArray | None
    """See `Problem`; None where the losses are not one-sided."""
    ends: IndexArray
    """One past the last column of a fold, by problem and fold."""

    @classmethod
    def of(cls, problems: list[Problem], rows: FoldedRows) -> Columns:
        """Lay out problems on folded rows."""
        row = [np.arange(len(rows.X)) if p.rows is None else p.rows for p in problems]
        sizes = [len(r) for r in row]
        starts = np.cumsum([0, *sizes[:-1]])
        ends = [start + np.searchsorted(r, rows.ends) for start, r in zip(starts, row, strict=True)]
        return cls(
            problems=tuple(problems),
            row=np.concatenate(row),
            problem=np.repeat(np.arange(len(problems)), sizes),
            y=np.concatenate([p.y for p in problems]),
            weight=np.concatenate([p.weight for p in problems]),
            clip=np.repeat([p.clip for p in problems], sizes),
            side=np.concatenate(sides) if (sides := [p.side for p in problems if p.side is not None]) else None,
            ends=np.stack(ends),
        )

    def of_problem(self, number: int) -> slice:
        """Return the columns of one problem."""
        begin = self.ends[number - 1, -1] if number else 0
        return slice(int(begin), int(self.ends[number, -1]))

    def by_fold(self, values: FloatArray) -> FloatArray:
        """Sum (..., column) over the samples of each problem and fold: (..., problem, fold)."""
        starts, filled = self._filled_folds
        sums = np.zeros((*values.shape[:-1], len(filled)))
        sums[..., filled] = np.add.reduceat(values, starts, axis=-1)
        return sums.reshape(*values.shape[:-1], *self.ends.shape)

    @cached_property
    def _filled_folds(self) -> tuple[IndexArray, BoolArray]:
        """First columns of the folds that have any, and which of all folds these are."""
        edges = np.concatenate([[0], self.ends.ravel()])
        filled = np.diff(edges) > 0
        return edges[:-1][filled], filled

    def by_loss(self) -> Iterator[tuple[Loss, slice]]:
        """Yield each loss with its columns."""
        numbered = enumerate(self.problems)
        for loss, group in groupby(numbered, key=lambda item: item[1].loss):
            numbers = [number for number, _ in group]
            yield loss, slice(self.of_problem(numbers[0]).start, self.of_problem(numbers[-1]).stop)

    def losses(self, f: FloatArray) -> FloatArray:
        """Return the training losses (..., column) of clipped values."""
        of_loss = []
        for loss, where in self.by_loss():
            side = None if self.side is None else self.side[where]
            of_loss.append(loss.value(self.y[where], f[..., where], side))
        return of_loss[0] if len(of_loss) == 1 else np.concatenate(of_loss, axis=-1)

    def risks(self, f: FloatArray) -> FloatArray:
        """Return the losses that select (..., column) of clipped values."""
        of_loss = [loss.risk(self.y[where], f[..., where]) for loss, where in self.by_loss()]
        return of_loss[0] if len(of_loss) == 1 else np.concatenate(of_loss, axis=-1)

    @cached_property
    def row_groups(self) -> list[tuple[IndexArray, IndexArray]]:
        """Rows by the problems that they take part in: (problems, rows) of every group."""
        n_problems, n_rows = len(self.problems), int(self.row.max()) + 1
        takes_part = np.zeros((n_problems, n_rows), dtype=bool)
        takes_part[self.problem, self.row] = True
        if takes_part.all():
            return [(np.arange(n_problems), np.arange(n_rows))]
        patterns, group = np.unique(np.packbits(takes_part, axis=0).T, axis=0, return_inverse=True)
        rows = (np.flatnonzero(group.ravel() == number) for number in range(len(patterns)))
        return [(np.flatnonzero(takes_part[:, members[0]]), members) for members in rows]


@dataclass(frozen=True)
class FoldWeights:
    """Summed weights of the samples of each problem."""

    total: FloatArray
    """(problem,)"""
    validation: FloatArray
    """In validation folds (problem, fold)."""

    @classmethod
    def of(cls, columns: Columns, n_folds: int) -> FoldWeights:
        """Return the weights where the first `n_folds` folds validate."""
        by_fold = columns.by_fold(columns.weight)
        return cls(by_fold.sum(axis=1), by_fold[:, :n_folds])

    @cached_property
    def training(self) -> FloatArray:
        """Outside each validation fold (problem, fold)."""
        training: FloatArray = self.total[:, None] - self.validation
        # All samples of a problem may be in one fold: its solution without them is zero, whatever the weight.
        return np.where(training > 0, training, 1.0)

    @cached_property
    def validated(self) -> FloatArray:
        """In all validation folds together (problem,)."""
        validated: FloatArray = np.maximum(self.validation.sum(axis=1), np.finfo(np.float64).tiny)
        return validated
