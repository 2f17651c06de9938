"""Paths of squared losses: no box, but a ridge, so all lams of a width come from the same products with the kernel.

Enters: folded rows and problems of least squares or expectiles. Leaves: `WidthPaths`, as for other losses.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm._native import Solutions, SquareCell, StopRule
from localsvm.cell.columns import Columns
from localsvm.cell.path import (
    SKIPPED,
    BoxPaths,
    Cancelled,
    NativeCell,
    PathPlan,
    PathSolver,
    Validation,
    WidthPaths,
    uncancelled,
    validate,
)
from localsvm.data.types import Float32Array, FloatArray
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


@dataclass(frozen=True)
class _Solved:
    """Solutions of all problems, side by side; axes as in `WidthPaths`."""

    beta: NDArray[np.float32]
    values: NDArray[np.float32]
    gap: NDArray[np.float64]
    status: NDArray[np.int8]
    steps: NDArray[np.int64]


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
            alone = self._solve_group(self._groups[0], plan)
            solved = _Solved(alone.beta[0], alone.values[0], alone.gap, alone.status, alone.steps)
        else:
            solved = self._side_by_side(plan)
        validation = self._validation(solved.values, plan)
        seconds = time.perf_counter() - begin
        paths = WidthPaths(solved.beta, solved.values, solved.gap, solved.status, solved.steps, validation, seconds)
        return uncancelled(paths, self._token)

    def solve_of_folds(self, target: FloatArray, weight: FloatArray, plan: PathPlan) -> Solutions:
        """Solve least squares on all rows with targets and weights (problem, fold, row), at the width that is set."""
        solved = self._cell.solve_ridge_of_folds(
            target.astype(np.float32),
            weight.astype(np.float32),
            list(plan.folds),
            plan.lams[0].tolist(),
            StopRule(plan.tolerance, _MAX_ITERATIONS, self._token),
            self._n_threads,
            plan.patience,
        )
        if self._token is not None and self._token.cancelled:
            raise Cancelled
        return solved

    def multiply(self, beta: Float32Array) -> Float32Array:
        """Return the products of the kernel matrix with coefficients (..., row)."""
        products = self._cell.multiply(np.ascontiguousarray(beta.reshape(-1, beta.shape[-1])), self._n_threads)
        return products.reshape(beta.shape)

    def _validation(self, values: NDArray[np.float32], plan: PathPlan) -> Validation:
        folds = list(plan.folds)
        if folds == [-1]:  # there is no validation fold
            none = np.zeros((len(self._columns.problems), 1, len(values)))
            return Validation(none, none)
        scores = validate(self._columns, values)
        return Validation(scores.risk[:, folds], scores.loss[:, folds])

    def _side_by_side(self, plan: PathPlan) -> _Solved:
        solved = _nothing_solved(len(self._columns.problems), len(plan.folds), max(plan.n_lams), len(self._columns.row))
        for group in self._groups:
            part = self._solve_group(group, plan)
            for place, number in enumerate(group.numbers):
                kept = slice(0, plan.n_lams[number])
                where = self._columns.of_problem(number)
                solved.beta[:, kept, where] = part.beta[place, :, kept]
                solved.values[kept, where] = part.values[place, kept]
                solved.gap[number, :, kept] = part.gap[place, :, kept]
                solved.status[number, :, kept] = part.status[place, :, kept]
                solved.steps[number, :, kept] = part.steps[place, :, kept]
        return solved

    def _solve_group(self, group: _Targets, plan: PathPlan) -> Solutions:
        """Solve for as many lams as one of its problems wants."""
        wanted = max(plan.n_lams[number] for number in group.numbers)
        lams = plan.lams[group.numbers[0], :wanted].tolist()
        folds, stop = list(plan.folds), StopRule(plan.tolerance, _MAX_ITERATIONS, self._token)
        if isinstance(group.loss, Expectile):
            return group.cell.solve_expectile(
                group.values, group.weight, folds, lams, group.loss.tau, stop, self._n_threads
            )
        clips = [self._columns.problems[number].clip for number in group.numbers]
        return group.cell.solve_ridge(
            group.values, group.weight, folds, lams, stop, self._n_threads, plan.patience, clips
        )


def _nothing_solved(n_problems: int, n_folds: int, n_lams: int, n_columns: int) -> _Solved:
    shape = (n_problems, n_folds, n_lams)
    return _Solved(
        beta=np.zeros((n_folds, n_lams, n_columns), dtype=np.float32),
        values=np.zeros((n_lams, n_columns), dtype=np.float32),
        gap=np.full(shape, np.nan),
        status=np.full(shape, SKIPPED, dtype=np.int8),
        steps=np.zeros(shape, dtype=np.int64),
    )


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
