"""The samples of all problems of a cell side by side, so that one array operation serves all of them.

    columns = [ samples of problem 0 | samples of problem 1 | ... ],  each in fold order

Enters: folded rows and the problems on them. Leaves: `Columns`, and sums over them by problem and fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.folds import FoldedRows
from localsvm.tasks import Problem
from localsvm.tasks.losses import Loss


@dataclass(frozen=True)
class Columns:
    """One column per sample of a problem."""

    problems: tuple[Problem, ...]
    row: NDArray[np.intp]
    """The sample's row in the cell."""
    problem: NDArray[np.intp]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    clip: NDArray[np.float64]
    ends: NDArray[np.intp]
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
            ends=np.stack(ends),
        )

    def of_problem(self, number: int) -> slice:
        """Return the columns of one problem."""
        begin = self.ends[number - 1, -1] if number else 0
        return slice(int(begin), int(self.ends[number, -1]))

    def by_fold(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum (..., column) over the samples of each problem and fold: (..., problem, fold)."""
        starts, filled = self._filled_folds
        sums = np.zeros((*values.shape[:-1], len(filled)))
        sums[..., filled] = np.add.reduceat(values, starts, axis=-1)
        return sums.reshape(*values.shape[:-1], *self.ends.shape)

    @cached_property
    def _filled_folds(self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """First columns of the folds that have any, and which of all folds these are."""
        edges = np.concatenate([[0], self.ends.ravel()])
        filled = np.diff(edges) > 0
        return edges[:-1][filled], filled

    def losses(self) -> Iterator[tuple[Loss, slice]]:
        """Yield each loss with the columns it judges."""
        numbered = enumerate(self.problems)
        for loss, group in groupby(numbered, key=lambda item: item[1].loss):
            numbers = [number for number, _ in group]
            yield loss, slice(self.of_problem(numbers[0]).start, self.of_problem(numbers[-1]).stop)

    @cached_property
    def row_groups(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows by the problems that they take part in: (problems, rows) of every group."""
        n_problems, n_rows = len(self.problems), int(self.row.max()) + 1
        takes_part = np.zeros((n_problems, n_rows), dtype=bool)
        takes_part[self.problem, self.row] = True
        if takes_part.all():
            return [(np.arange(n_problems), np.arange(n_rows))]
        patterns, group = np.unique(np.packbits(takes_part, axis=0).T, axis=0, return_inverse=True)
        rows = (np.flatnonzero(group.ravel() == number) for number in range(len(patterns)))
        return [(np.flatnonzero(takes_part[:, members[0]]), members) for members in rows]
