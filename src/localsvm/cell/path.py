"""Lambda paths of one width (Alg. 1, lines 6-10): all problems and folds, risks from the shared kernel matrix.

Enters: a native cell and the problems on it. Leaves: coefficients, validation risks and certificates by problem, fold
and lam.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from localsvm._native import CancelToken, Cell, solve_paths
from localsvm.cell.columns import Columns
from localsvm.losses import BoxLoss, Squared
from localsvm.reduction import Problem

STATUS = ("converged", "max_steps", "precision", "cancelled", "skipped")
"""How a solve can end: at the tolerance, out of steps, at the end of single precision, stopped from outside; or not
even begin, when racing left it out."""

SKIPPED = STATUS.index("skipped")

MAX_ITERATIONS = 2000
"""Passes over the kernel matrix after which least squares gives up."""


@dataclass(frozen=True)
class WidthPaths:
    """The paths of all problems at one width; see `Columns`."""

    beta: NDArray[np.float32]
    """Coefficients (fold, lam, column)."""
    values: NDArray[np.float32]
    """Out-of-fold values (lam, column)."""
    gap: NDArray[np.float64]
    """By problem, fold and lam, as the next two."""
    status: NDArray[np.int8]
    steps: NDArray[np.int64]
    seconds: float
    """In the solver, summed over threads."""


class Cancelled(Exception):
    """Raised inside a worker when the fit was stopped from outside."""


@dataclass(frozen=True)
class PathPlan:
    """Which paths to solve."""

    folds: Sequence[int]
    """Folds to leave out; -1 leaves nothing out."""
    lams: NDArray[np.float64]
    """Descending, by problem."""
    n_lams: Sequence[int]
    """How many of them, by problem."""
    total_weight: NDArray[np.float64]
    """Of the training samples, by problem and fold."""


class PathSolver(Protocol):
    """Solves the paths of all problems of a cell at the width it has."""

    def solve(self, plan: PathPlan) -> WidthPaths:
        """Solve what the plan asks for."""
        ...


def max_steps(n_samples: int) -> int:
    """Return the number of steps after which a solve gives up: far more than any was seen to need."""
    return max(1_000_000, 2_000 * n_samples)


class BoxPaths:
    """Problems whose dual is a box; those on some of the rows only have a part of the cell."""

    def __init__(self, cell: Cell, columns: Columns, n_threads: int, token: CancelToken | None) -> None:
        self._n_threads, self._token = n_threads, token
        self._max_steps = max_steps(len(columns.row))
        self._tolerance = columns.problems[0].loss.tolerance
        self._cells, self._numbers = [], []
        for problem in columns.problems:
            owner = cell if problem.rows is None else cell.part(problem.rows.tolist(), token)
            self._cells.append(owner)
            self._numbers.append(_add_problem(owner, problem))

    def solve(self, plan: PathPlan) -> WidthPaths:
        """Solve what the plan asks for."""
        solved = solve_paths(
            self._cells,
            self._numbers,
            list(plan.folds),
            plan.lams,
            list(plan.n_lams),
            plan.total_weight,
            self._tolerance,
            self._max_steps,
            SKIPPED,
            self._n_threads,
            self._token,
        )
        return uncancelled(WidthPaths(*solved), self._token)


@dataclass(frozen=True)
class _Targets:
    """Problems on the same rows with the same weights and lams: they are solved together."""

    cell: Cell
    numbers: list[int]
    values: NDArray[np.float32]
    weight: NDArray[np.float32]


class RidgePaths:
    """Problems of least squares: all lams of a width from one Krylov space."""

    def __init__(self, cell: Cell, columns: Columns, n_threads: int, token: CancelToken | None) -> None:
        self._columns, self._n_threads, self._token = columns, n_threads, token
        self._tolerance = columns.problems[0].loss.tolerance
        self._groups = [_targets(cell, columns, numbers, token) for numbers in _alike(columns.problems)]

    def solve(self, plan: PathPlan) -> WidthPaths:
        """Solve what the plan asks for."""
        begin = time.perf_counter()
        n_lams, n_columns = max(plan.n_lams), len(self._columns.row)
        beta = np.zeros((len(plan.folds), n_lams, n_columns), dtype=np.float32)
        values = np.zeros((n_lams, n_columns), dtype=np.float32)
        shape = (len(self._columns.problems), len(plan.folds), n_lams)
        gap, steps = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
        status = np.full(shape, SKIPPED, dtype=np.int8)
        for group in self._groups:
            wanted = max(plan.n_lams[number] for number in group.numbers)
            lams = plan.lams[group.numbers[0], :wanted].tolist()
            solved = group.cell.solve_ridge(
                group.values,
                group.weight,
                list(plan.folds),
                lams,
                self._tolerance,
                MAX_ITERATIONS,
                self._token,
                self._n_threads,
            )
            for place, number in enumerate(group.numbers):
                kept = slice(0, plan.n_lams[number])
                where = self._columns.of_problem(number)
                beta[:, kept, where] = solved[0][place, :, kept]
                values[kept, where] = solved[1][place, kept]
                for out, part in ((gap, solved[2]), (status, solved[3]), (steps, solved[4])):
                    out[number, :, kept] = part[place, :, kept]
        return uncancelled(WidthPaths(beta, values, gap, status, steps, time.perf_counter() - begin), self._token)


def _alike(problems: Sequence[Problem]) -> list[list[int]]:
    """Group the problems that are on all rows with the same weights; others stand alone."""
    groups: list[list[int]] = []
    for number, problem in enumerate(problems):
        for group in groups:
            first = problems[group[0]]
            if first.rows is None and problem.rows is None and np.array_equal(first.weight, problem.weight):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _targets(cell: Cell, columns: Columns, numbers: list[int], token: CancelToken | None) -> _Targets:
    problems = [columns.problems[number] for number in numbers]
    rows = problems[0].rows
    return _Targets(
        cell=cell if rows is None else cell.part(rows.tolist(), token),
        numbers=numbers,
        values=np.stack([problem.y for problem in problems]).astype(np.float32),
        weight=problems[0].weight.astype(np.float32),
    )


def path_solver(cell: Cell, columns: Columns, n_threads: int, token: CancelToken | None) -> PathSolver:
    """Return the solver for the loss of the problems, which is of one kind in a cell."""
    if isinstance(columns.problems[0].loss, Squared):
        return RidgePaths(cell, columns, n_threads, token)
    return BoxPaths(cell, columns, n_threads, token)


def uncancelled(paths: WidthPaths, token: CancelToken | None) -> WidthPaths:
    """Return paths that were solved to their end."""
    if (paths.status == STATUS.index("cancelled")).any() or (token is not None and token.cancelled):
        raise Cancelled
    return paths


def _add_problem(cell: Cell, problem: Problem) -> int:
    dual = cast(BoxLoss, problem.loss).dual(problem.y, problem.weight)
    return cell.add_problem(dual.target, dual.lo, dual.hi, problem.clip)


@dataclass(frozen=True)
class Validation:
    """Summed risks and losses of the samples left out, by problem, lam and fold."""

    risk: NDArray[np.float64]
    loss: NDArray[np.float64]


def validate(columns: Columns, paths: WidthPaths) -> Validation:
    """Judge out-of-fold values, clipped, by risk and by training loss."""
    f = np.clip(paths.values.astype(np.float64), -columns.clip, columns.clip)
    risk, loss = np.empty_like(f), np.empty_like(f)
    for judge, where in columns.losses():
        risk[:, where] = judge.risk(columns.y[where], f[:, where])
        loss[:, where] = judge.value(columns.y[where], f[:, where])
    return Validation(*(np.moveaxis(columns.by_fold(values * columns.weight), 0, 1) for values in (risk, loss)))
