"""Paths of squared losses: no box, but a ridge, so all lams of a width come from the same products with the kernel.

Enters: folded rows and problems of least squares or expectiles. Leaves: `WidthPaths`, as for other losses.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm._native import SquareCell
from localsvm.cell.columns import Columns
from localsvm.cell.path import (
    SKIPPED,
    BoxPaths,
    NativeCell,
    PathPlan,
    PathSolver,
    Validation,
    WidthPaths,
    uncancelled,
    validate,
)
from localsvm.tasks import Problem
from localsvm.tasks.losses import Expectile, Loss, Squares

_MAX_ITERATIONS = 2000  # passes over the kernel matrix; far more than any solve was seen to need


@dataclass(frozen=True)
class _Targets:
    """Problems on the same rows with the same loss and weights, and so the same lams: they are solved together."""

    loss: Loss
    cell: SquareCell
    numbers: list[int]
    values: NDArray[np.float32]
    weight: NDArray[np.float32]


class SquarePaths:
    """Problems of least squares and expectiles: folds, lams and targets share the passes over the kernel matrix."""

    def __init__(self, native: NativeCell, columns: Columns) -> None:
        self._columns, self._n_threads, self._token = columns, native.n_threads, native.token
        self._cell = SquareCell(*native.arguments)
        self._groups = [_targets(self._cell, columns, numbers) for numbers in _alike(columns.problems)]

    def set_width(self, width: float) -> None:
        """Make the kernel matrix of this width."""
        self._cell.set_width(width, self._token)

    def solve(self, plan: PathPlan) -> WidthPaths:
        """Solve what the plan asks for."""
        begin = time.perf_counter()
        if len(self._columns.problems) == 1:  # nothing to put side by side
            beta, values, gap, status, steps = self._solve_group(self._groups[0], plan)
            beta, values = beta[0], values[0]
        else:
            beta, values, gap, status, steps = self._side_by_side(plan)
        validation = self._validation(values, plan)
        seconds = time.perf_counter() - begin
        return uncancelled(WidthPaths(beta, values, gap, status, steps, validation, seconds), self._token)

    def _validation(self, values: NDArray[np.float32], plan: PathPlan) -> Validation:
        folds = list(plan.folds)
        if folds == [-1]:  # nothing is left out
            none = np.zeros((len(self._columns.problems), 1, len(values)))
            return Validation(none, none)
        judged = validate(self._columns, values)
        return Validation(judged.risk[:, folds], judged.loss[:, folds])

    def _side_by_side(self, plan: PathPlan) -> tuple[NDArray[Any], ...]:
        n_lams, n_columns = max(plan.n_lams), len(self._columns.row)
        beta = np.zeros((len(plan.folds), n_lams, n_columns), dtype=np.float32)
        values = np.zeros((n_lams, n_columns), dtype=np.float32)
        shape = (len(self._columns.problems), len(plan.folds), n_lams)
        gap, steps = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
        status = np.full(shape, SKIPPED, dtype=np.int8)
        for group in self._groups:
            solved = self._solve_group(group, plan)
            for place, number in enumerate(group.numbers):
                kept = slice(0, plan.n_lams[number])
                where = self._columns.of_problem(number)
                beta[:, kept, where] = solved[0][place, :, kept]
                values[kept, where] = solved[1][place, kept]
                for out, part in ((gap, solved[2]), (status, solved[3]), (steps, solved[4])):
                    out[number, :, kept] = part[place, :, kept]
        return beta, values, gap, status, steps

    def _solve_group(self, group: _Targets, plan: PathPlan) -> tuple[NDArray[Any], ...]:
        """Solve for as many lams as one of its problems wants."""
        wanted = max(plan.n_lams[number] for number in group.numbers)
        lams = plan.lams[group.numbers[0], :wanted].tolist()
        folds, options = list(plan.folds), (plan.tolerance, _MAX_ITERATIONS, self._token, self._n_threads)
        if isinstance(group.loss, Expectile):
            return group.cell.solve_expectile(group.values, group.weight, folds, lams, group.loss.tau, *options)
        return group.cell.solve_ridge(group.values, group.weight, folds, lams, *options)


def _alike(problems: Sequence[Problem]) -> list[list[int]]:
    """Group the problems on all rows with the same loss and weights; others stand alone."""
    groups: list[list[int]] = []
    for number, problem in enumerate(problems):
        for group in groups:
            first = problems[group[0]]
            on_all_rows = first.rows is None and problem.rows is None
            if on_all_rows and first.loss == problem.loss and np.array_equal(first.weight, problem.weight):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _targets(cell: SquareCell, columns: Columns, numbers: list[int]) -> _Targets:
    problems = [columns.problems[number] for number in numbers]
    rows = problems[0].rows
    return _Targets(
        loss=problems[0].loss,
        cell=cell if rows is None else cell.part(rows.tolist()),
        numbers=numbers,
        values=np.stack([problem.y for problem in problems]).astype(np.float32),
        weight=problems[0].weight.astype(np.float32),
    )


def path_solver(native: NativeCell, columns: Columns) -> PathSolver:
    """Return the solver for the loss of the problems, which is of one kind in a cell."""
    if isinstance(columns.problems[0].loss, Squares):
        return SquarePaths(native, columns)
    return BoxPaths(native, columns)
