"""Probabilities of classes by Newton steps of the logistic loss, each of them a weighted least-squares problem.

Enters: the least-squares solutions of a cell on the indicators of its classes, one per validation fold. Leaves: scores
(log-odds, or logarithms of the probabilities of several classes) as kernel sums, and their out-of-fold values.

With p the probabilities so far, a step minimizes for every class, at the width that least squares has chosen,

    lam ||f||^2 + 1/V sum_i v_i (z_i - f(x_i))^2,   v = w p (1 - p),   z = f_p + (indicator - p) / (p (1 - p)),

where f_p is the score that p belongs to and V the sum of v. Every fold goes its own way: p is that of the solution
which has not seen the fold, at all rows, so nothing that trains a fold's solution depends on the labels that validate
it. The lams are those of the grid, and the out-of-fold log-loss selects one; it also decides how far a step goes,
since functions before and after it are sums of the same kernels. Of two classes this is Newton's method; of several
it is that of Friedman, Hastie, Tibshirani (2000), "Additive logistic regression", which takes the classes one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localsvm._native import Solutions
from localsvm.cell.combine import Refitted, combination_weights
from localsvm.cell.outputs import Outputs, Term
from localsvm.cell.path import SKIPPED, STATUS, PathPlan
from localsvm.cell.search import GridSearch
from localsvm.cell.select import CommonWidth
from localsvm.cell.squares import SquarePaths
from localsvm.cell.trained import count_unconverged
from localsvm.data.types import BoolArray, Float32Array, FloatArray
from localsvm.tasks import Probabilities

# They end where no length of a step lowers the out-of-fold log-loss.
_MOST_STEPS = 5
# Least squares has values outside of [0, 1]: a probability is at least a quarter of the class's rate, or 0.02.
_LEAST_PROBABILITY, _LEAST_OF_RATE = 0.02, 0.25
# In later steps: smaller ones make the working targets of single rows too large.
_LEAST_STEP_PROBABILITY = 1e-3
# Of a step: shorter ones where it goes too far, longer ones where classes are nearly certain and probabilities lag.
_LENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
# The first step has at least half its length: of few distinct rows, no other tells anything of one that is left out.
_FIRST_LENGTHS = _LENGTHS[2:]
_CONVERGED = STATUS.index("converged")
_GAP_FACTOR = 0.2  # on the allowed gap: log-losses differ by less than errors do


def newton_steps(
    search: GridSearch, selection: CommonWidth, reduction: Probabilities, y: FloatArray, refit: str
) -> tuple[Outputs, Refitted]:
    """Return the outputs of a cell and their functions for the logistic loss; `selection` has those of least squares.

    Classes are y; the targets of `selection` are their indicators.
    """
    squares, choice = selection.best, selection.choice()
    width = int(choice.width[0])
    search.set_width(width)
    problem = _Problem(search, squares.outputs, reduction, y)
    p = problem.least_squares_probabilities(squares.beta)
    functions = problem.constants()
    for number in range(_MOST_STEPS):
        step = problem.step(p)
        length = problem.step_length(functions.scores, step.scores, _LENGTHS if number else _FIRST_LENGTHS)
        if length == 0:
            break
        solution = problem.retrained(p, step.lam) if refit == "retrain" else step.combined()
        functions = functions.moved(length, step, solution, problem.bound)
        p = np.clip(reduction.of_outputs(functions.scores), _LEAST_STEP_PROBABILITY, 1.0 - _LEAST_STEP_PROBABILITY)
    status = np.where(functions.gap <= search.loss.allowed_gap(1.0), _CONVERGED, functions.status)
    choice = replace(choice, lam=np.full(len(functions.beta), functions.lam))
    term = Term(float(search.widths[width]), np.arange(len(functions.beta)), functions.beta.ravel())
    values = problem.out_of_fold(functions.scores)
    refitted = Refitted(
        choice, [term], values, count_unconverged(status), float(functions.gap.max()), int(status.max())
    )
    return problem.outputs_with(functions.offset), refitted


@dataclass(frozen=True)
class _Solution:
    """Functions of the classes in the cell, on all of which the arrays are: offset + kernel sum."""

    offset: FloatArray
    beta: Float32Array
    """(class, row)"""
    gap: FloatArray
    """Of the solves that they come from, in log-loss, as the next one."""
    status: NDArray[np.int8]


@dataclass(frozen=True)
class _Functions:
    """The functions of a cell after some steps."""

    offset: FloatArray
    beta: Float32Array
    gap: FloatArray
    """The largest of all steps, as the next one."""
    status: NDArray[np.int8]
    scores: FloatArray
    """Of every fold's functions at all rows (fold, row, output)."""
    lam: int
    """Of the last step."""

    def moved(self, length: float, step: _Step, solution: _Solution, bound: float) -> _Functions:
        """Return the functions after a step of this length; a length of 1 leads to its solution."""
        return _Functions(
            offset=_between(self.offset, solution.offset, length),
            beta=_between(self.beta, solution.beta, length).astype(np.float32),
            gap=np.maximum(self.gap.max(), solution.gap),
            status=np.maximum(self.status.max(), solution.status),
            scores=np.clip(_between(self.scores, step.scores, length), -bound, bound),
            lam=step.lam,
        )


def _between(start: NDArray[np.floating], end: NDArray[np.floating], length: float) -> FloatArray:
    return np.asarray((1.0 - length) * start + length * end)


@dataclass(frozen=True)
class _Step:
    """The solutions of a step for all folds, one lam each."""

    scores: FloatArray
    """At all rows (fold, row, output), at the lam that is best for all folds."""
    lam: int
    offset: FloatArray
    """(class, fold)"""
    beta: Float32Array
    """Each fold at its own lam (class, fold, row)."""
    gap: FloatArray
    """(class, fold)"""
    status: NDArray[np.int8]
    share: FloatArray
    """Of every fold in the combined solution."""

    def combined(self) -> _Solution:
        """Return the average of the fold solutions."""
        beta = np.einsum("f,cfn->cn", self.share.astype(np.float32), self.beta)
        return _Solution(self.offset @ self.share, beta, self.gap, self.status)


@dataclass(frozen=True)
class _Weighted:
    """Weighted least squares of a step: targets less their offsets, and weights (class, fold, row)."""

    target: FloatArray
    weight: FloatArray
    offset: FloatArray
    """(class, fold)"""


class _Problem:
    """The logistic loss on the rows of a cell, at the width that is set."""

    def __init__(self, search: GridSearch, outputs: Outputs, reduction: Probabilities, y: FloatArray) -> None:
        assert isinstance(search.solver, SquarePaths), "least squares have paths of their own"
        self._search, self._solver, self._outputs = search, search.solver, outputs
        self._reduction, self._y, self._rows = reduction, y, outputs.rows
        self._own = [problem.output for problem in outputs.columns.problems]  # without classes absent from the cell
        self._constants = reduction.constants(y, self._rows.weight)
        self._fold = np.repeat(np.arange(outputs.n_folds), np.diff([0, *self._rows.ends[: outputs.n_folds]]))
        self.bound = reduction.score_bound(float(self._rows.weight.sum()))
        trained = (np.delete(y, np.flatnonzero(self._fold == fold)) for fold in range(outputs.n_folds))
        self._of_one_class = np.array([bool((rows == rows[:1]).all()) for rows in trained])

    def least_squares_probabilities(self, beta: Float32Array) -> FloatArray:
        """Return the values of least squares (fold, column) at all rows as probabilities (fold, row, output)."""
        rows, outputs = self._rows, self._outputs
        f = self._solver.multiply(beta.reshape(len(beta), len(self._own), -1))  # (fold, class, row)
        rate = rows.weight @ rows.y / rows.weight.sum()
        p = np.tile(rate, (len(beta), len(rows.y), 1))
        for number, problem in enumerate(outputs.columns.problems):
            p[..., problem.output] = problem.offset + problem.scale * f[:, number]
        least = np.minimum(_LEAST_PROBABILITY, _LEAST_OF_RATE * np.minimum(rate, 1.0 - rate))
        return np.asarray(np.clip(p, least, 1.0 - least))

    def constants(self) -> _Functions:
        """Return the scores of the rates of the classes."""
        n_folds, n = self._outputs.n_folds, len(self._y)
        return _Functions(
            offset=self._constants[self._own],
            beta=np.zeros((len(self._own), n), dtype=np.float32),
            gap=np.zeros(1),
            status=np.full(1, _CONVERGED, dtype=np.int8),
            scores=np.tile(self._constants, (n_folds, n, 1)),
            lam=0,
        )

    def step(self, p: FloatArray) -> _Step:
        """Solve a step from the probabilities (fold, row, output) of every fold's functions."""
        folds = range(self._outputs.n_folds)
        validates = np.zeros((len(folds), len(self._y)), dtype=bool)
        validates[self._fold, np.arange(len(self._fold))] = True
        problem = self._weighted(p, ~validates)
        lams = self._search.lams[0]
        solved, unit = self._solve(problem, folds, lams)
        lams = lams[: int((solved.status != SKIPPED).all(axis=(0, 1)).sum())]  # a path ends before the others
        scores = np.tile(self._constants, (len(lams), len(self._fold), 1))  # (lam, validated row, output)
        values = solved.values[:, : len(lams), : len(self._fold)]
        for place, offset, scale, found in zip(self._own, problem.offset, unit, values, strict=True):
            scores[:, :, place] = np.clip(offset[self._fold] + found / scale[self._fold], -self.bound, self.bound)
        beta = np.divide(solved.beta, unit[:, :, None, None], dtype=np.float32)
        losses, fold_weight = self._fold_losses(scores)
        best, lam = losses.argmin(axis=0), int(losses.sum(axis=1).argmin())
        own = np.arange(len(folds)), best
        return _Step(
            scores=self._at_all_rows(problem.offset, beta[:, :, lam]),
            lam=lam,
            offset=problem.offset,
            beta=beta[:, *own],
            gap=solved.gap[:, *own],
            status=solved.status[:, *own],
            share=combination_weights(losses[best, own[0]] / fold_weight, fold_weight),
        )

    def retrained(self, p: FloatArray, lam: int) -> _Solution:
        """Return the solution of a step on all samples."""
        p = self.out_of_fold(p)[None]
        problem = self._weighted(p, np.ones((1, len(self._y)), dtype=bool))
        solved, unit = self._solve(problem, [-1], self._search.lams[0][: lam + 1])
        beta = np.divide(solved.beta[:, 0, lam], unit, dtype=np.float32)
        return _Solution(problem.offset[:, 0], beta, solved.gap[:, 0, lam], solved.status[:, 0, lam])

    def _weighted(self, p: FloatArray, trains: BoolArray) -> _Weighted:
        """Return the problem of a step from probabilities (fold, row, output); `trains` is (fold, row)."""
        p = p[..., self._own]
        score = np.log(p / (1.0 - p)) if self._reduction.n_classes == 2 else np.log(p)
        variance = p * (1.0 - p)
        target = np.moveaxis(score + (self._rows.y[:, self._own] - p) / variance, -1, 0)
        weight = np.moveaxis(self._rows.weight[:, None] * variance, -1, 0)
        if (
            len(trains) > 1
        ):  # folds that train on one class have the offset of all rows, so that two rows are told apart
            trains = trains | self._of_one_class[:, None]
        trained = weight * trains
        offset = (trained * target).sum(axis=-1) / trained.sum(axis=-1)
        return _Weighted(target - offset[..., None], weight, offset)

    def _solve(self, problem: _Weighted, folds: Sequence[int], lams: FloatArray) -> tuple[Solutions, FloatArray]:
        """Solve for targets times a unit (class, fold), which is returned, so that gaps are those of the log-loss.

        A gap of 1 of the weighted squares is one of half the mean of p (1 - p) in the log-loss.
        """
        unit = np.sqrt(0.5 * problem.weight.mean(axis=-1) / self._rows.weight.mean())
        tolerance = _GAP_FACTOR * self._search.loss.allowed_gap(1.0)
        total_weight = problem.weight.sum(axis=-1)
        plan = PathPlan(folds, lams[None], [len(lams)], total_weight, tolerance, self._search.patience)
        with self._search.clock.phase("solver"):
            solved = self._solver.solve_of_folds(problem.target * unit[..., None], problem.weight, plan)
        return solved, unit

    def _at_all_rows(self, offset: FloatArray, beta: Float32Array) -> FloatArray:
        """Return the scores (fold, row, output) of offsets (class, fold) and coefficients (class, fold, row)."""
        scores = np.tile(self._constants, (beta.shape[1], beta.shape[2], 1))
        values = offset[..., None] + self._solver.multiply(beta)
        scores[..., self._own] = np.clip(np.moveaxis(values, 0, -1), -self.bound, self.bound)
        return scores

    def out_of_fold(self, values: FloatArray) -> FloatArray:
        """Return the values (row, output) of the functions that have not seen a row; of the first for all others."""
        found: FloatArray = values[0].copy()
        rows = np.arange(len(self._fold))
        found[rows] = values[self._fold, rows]
        return found

    def step_length(self, start: FloatArray, end: FloatArray, lengths: Sequence[float]) -> float:
        """Return the length of lowest out-of-fold log-loss between, and beyond, scores of all folds."""
        validated = slice(0, len(self._fold))
        start, end = (self.out_of_fold(scores)[validated] for scores in (start, end))
        lines = [_between(start, end, length) for length in lengths]
        losses = [self._reduction.risk(self._y[validated], scores) @ self._rows.weight[validated] for scores in lines]
        return lengths[int(np.argmin(losses))]

    def _fold_losses(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the summed log-losses (lam, fold) of scores (lam, validated row, output), and the weights of folds."""
        starts = np.array([0, *self._rows.ends[: self._outputs.n_folds - 1]])
        validated = slice(0, len(self._fold))
        weight = self._rows.weight[validated]
        losses = self._reduction.risk(self._y[validated], scores) * weight
        return np.add.reduceat(losses, starts, axis=1), np.add.reduceat(weight, starts)

    def outputs_with(self, offset: FloatArray) -> Outputs:
        """Return the outputs of probabilities; classes that are absent from the cell keep the score of their rate."""
        problems = [replace(problem, scale=1.0) for problem in self._outputs.columns.problems]
        constants = self._constants.copy()
        constants[self._own] = offset
        return replace(
            self._outputs,
            reduction=self._reduction,
            rows=replace(self._rows, y=self._y),
            columns=replace(self._outputs.columns, problems=tuple(problems)),
            constants=constants,
            bounds=np.tile([-self.bound, self.bound], (len(constants), 1)),
        )
