"""Lambda paths of one width (Alg. 1, lines 6-10): all problems and folds, risks from the shared kernel matrix.

Enters: folded rows and the problems on them. Leaves: coefficients, validation risks and certificates by problem, fold
and lam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from localsvm import _native
from localsvm._native import CancelToken, Cell, PathJob, StopRule, solve_paths
from localsvm.cell.columns import Columns
from localsvm.cell.folds import FoldedRows
from localsvm.tasks import Problem
from localsvm.tasks.losses import BoxLoss

STATUS = _native.STATUS
"""How a solve ends: converged, max_steps, precision (float32 allows no further progress), cancelled, or skipped."""

SKIPPED = STATUS.index("skipped")
"""Of grid points that racing dropped, or that come after the end of a path."""


@dataclass(frozen=True)
class Validation:
    """Summed risks and losses of the validation samples, clipped, by problem, fold and lam."""

    risk: NDArray[np.float64]
    loss: NDArray[np.float64]


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
    validation: Validation
    seconds: float
    """In the solver, summed over threads."""


class Cancelled(Exception):
    """Raised inside a worker when the fit was stopped from outside."""


@dataclass(frozen=True)
class PathPlan:
    """Which paths to solve."""

    folds: Sequence[int]
    """Validation folds; -1 trains on all samples."""
    lams: NDArray[np.float64]
    """Descending, by problem."""
    n_lams: Sequence[int]
    """How many of them, by problem."""
    total_weight: NDArray[np.float64]
    """Of the training samples, by problem and fold."""
    tolerance: float
    """Duality gap in risk units at which a solve stops."""
    patience: int = 0
    """Lams without a lower risk after which a path of least squares ends; 0: all lams are solved."""


@dataclass(frozen=True)
class NativeCell:
    """What a native cell is made of, and by how many threads; `token` stops its work."""

    rows: FoldedRows
    kernel: str
    max_bytes: int | None
    n_threads: int
    token: CancelToken | None

    @property
    def arguments(self) -> tuple[NDArray[np.float32], list[int], str, CancelToken | None, int | None, int]:
        """Those of its constructor."""
        rows = self.rows
        return rows.X, list(rows.ends), self.kernel, self.token, self.max_bytes, self.n_threads


class PathSolver(Protocol):
    """Solves the paths of all problems of a cell at one width after the other."""

    def set_width(self, width: float) -> None:
        """Make the kernel matrix of this width."""
        ...

    def solve(self, plan: PathPlan) -> WidthPaths:
        """Solve what the plan asks for."""
        ...


def max_steps(n_samples: int) -> int:
    """Return the number of steps after which a solve gives up: far more than any was seen to need."""
    return max(1_000_000, 2_000 * n_samples)


class BoxPaths:
    """Problems whose dual is a box; those on some of the rows only have a part of the cell."""

    def __init__(self, native: NativeCell, columns: Columns) -> None:
        self._n_threads, self._token = native.n_threads, native.token
        self._max_steps = max_steps(len(columns.row))
        self._risk_is_value = columns.problems[0].loss.risk_is_value  # of all problems of a cell
        self._problem = columns.problem
        # By fold, the solutions at the first lams of the width before: near to those of the next one.
        self._firsts = np.zeros((native.rows.n_folds, len(columns.row)), dtype=np.float32)
        self._folds_known: set[int] = set()
        self._cell = Cell(*native.arguments)
        self._cells, self._numbers = [], []
        for problem in columns.problems:
            owner = self._cell if problem.rows is None else self._cell.part(problem.rows.tolist(), self._token)
            self._cells.append(owner)
            self._numbers.append(_add_problem(owner, problem))

    def set_width(self, width: float) -> None:
        """Make the kernel matrix of this width."""
        self._cell.set_width(width, self._token)

    def solve(self, plan: PathPlan) -> WidthPaths:
        """Solve what the plan asks for."""
        solved = solve_paths(
            self._jobs(plan),
            list(plan.folds),
            StopRule(plan.tolerance, self._max_steps, self._token),
            self._n_threads,
            self._guesses(plan.folds),
        )
        self._remember_firsts(plan, solved.beta)
        validation = Validation(solved.loss if self._risk_is_value else solved.wrong, solved.loss)
        paths = WidthPaths(
            solved.beta, solved.values, solved.gap, solved.status, solved.steps, validation, solved.seconds
        )
        return uncancelled(paths, self._token)

    def _jobs(self, plan: PathPlan) -> list[PathJob]:
        """Return one job per problem."""
        return [
            PathJob(cell, number, lams[:n_lams].tolist(), weights.tolist())
            for cell, number, lams, n_lams, weights in zip(
                self._cells, self._numbers, plan.lams, plan.n_lams, plan.total_weight, strict=True
            )
        ]

    def _guesses(self, folds: Sequence[int]) -> NDArray[np.float32] | None:
        return self._firsts[list(folds)] if self._folds_known.issuperset(folds) else None

    def _remember_firsts(self, plan: PathPlan, beta: NDArray[np.float32]) -> None:
        """Keep the first solutions of each fold; problems without lams keep those they have."""
        folds = [fold for fold in plan.folds if fold >= 0]
        if not folds or not any(plan.n_lams):
            return
        if all(plan.n_lams):
            self._firsts[folds] = beta[:, 0]
            self._folds_known.update(folds)
        elif self._folds_known.issuperset(folds):
            solved = np.flatnonzero(np.array(plan.n_lams)[self._problem])
            self._firsts[np.array(folds)[:, None], solved] = beta[:, 0, solved]


def uncancelled(paths: WidthPaths, token: CancelToken | None) -> WidthPaths:
    """Return paths that were solved to their end."""
    if (paths.status == STATUS.index("cancelled")).any() or (token is not None and token.cancelled):
        raise Cancelled
    return paths


def _add_problem(cell: Cell, problem: Problem) -> int:
    dual = cast(BoxLoss, problem.loss).dual(problem.y, problem.weight, problem.side)
    return cell.add_problem(dual.target, dual.lo, dual.hi, problem.clip)


def validate(columns: Columns, values: NDArray[np.float32]) -> Validation:
    """Sum risks and training losses of out-of-fold values (lam, column), clipped, by problem, fold and lam."""
    f: NDArray[np.float64] = np.minimum(np.maximum(values, -columns.clip), columns.clip)
    loss = _sums(columns, columns.losses(f))
    if all(problem.loss.risk_is_value for problem in columns.problems):
        return Validation(loss, loss)
    return Validation(_sums(columns, columns.risks(f)), loss)


def _sums(columns: Columns, of_column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum weighted values (lam, column) to (problem, fold, lam)."""
    return np.moveaxis(columns.by_fold(of_column * columns.weight), 0, -1)
