"""Probabilities of classes by Newton steps of the logistic loss, each of them a weighted least-squares problem.

Enters: the least-squares solutions of a cell on the indicators of its classes, with out-of-fold values. Leaves: scores
(log-odds, or logarithms of the probabilities of several classes) as kernel sums, and their out-of-fold values.

With p the probabilities so far, a step minimizes for every class, at the width that least squares has chosen,

    lam ||f||^2 + 1/V sum_i v_i (z_i - f(x_i))^2,   v = w p (1 - p),   z = f_p + (indicator - p) / (p (1 - p)),

where f_p is the score that p belongs to and V the sum of v. The lams are those of the grid, and the out-of-fold
log-loss selects one. Probabilities are out of fold, too, so that rows that were fitted too well keep their weight. Of
two classes this is Newton's method; of several it is that of Friedman, Hastie, Tibshirani (2000), "Additive logistic
regression", which takes the classes one by one.
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
from localsvm.cell.squares import SquarePaths
from localsvm.cell.trained import count_unconverged
from localsvm.data.types import Float32Array, FloatArray, IndexArray
from localsvm.tasks import Probabilities

# A second step gains .0005 in log-loss where a class is rare, a third nothing.
_STEPS = 2
# Least squares has values outside of [0, 1]: a probability is at least a quarter of the class's rate, or 0.02.
_LEAST_PROBABILITY, _LEAST_OF_RATE = 0.02, 0.25
# In later steps: smaller ones make the working targets of single rows too large.
_LEAST_STEP_PROBABILITY = 1e-3
_CONVERGED = STATUS.index("converged")
_GAP_FACTOR = 0.2  # on the allowed gap: log-losses differ by less than errors do


_Refitted = tuple[Float32Array, FloatArray, NDArray[np.int8]]
"""Coefficients (problem, row), and the gaps and statuses of the solves that they come from."""


def newton_steps(
    search: GridSearch, outputs: Outputs, squares: Refitted, reduction: Probabilities, y: FloatArray, refit: str
) -> tuple[Outputs, Refitted]:
    """Return the outputs of a cell and their functions for the logistic loss; `squares` has those of least squares."""
    width = int(squares.choice.width[0])
    search.set_width(width)
    p = _first_probabilities(outputs, squares.values)
    for _ in range(_STEPS):
        step = _Step.of(search, outputs, reduction, y, p)
        p = np.clip(reduction.of_outputs(step.scores), _LEAST_STEP_PROBABILITY, 1.0 - _LEAST_STEP_PROBABILITY)
    beta, gaps, status = step.retrained(search, outputs) if refit == "retrain" else step.combined()
    allowed = search.loss.allowed_gap(1.0)
    gaps = (gaps.T * _log_loss_unit(outputs, step.weight)).T
    status = np.where(gaps <= allowed, _CONVERGED, status)
    outputs = _with_offsets(outputs, reduction, y, step.offset)
    choice = replace(squares.choice, lam=np.full(len(beta), step.lam))
    term = Term(float(search.widths[width]), np.arange(len(beta)), beta.ravel())
    values, n_unconverged = step.scores, count_unconverged(status)
    return outputs, Refitted(choice, [term], values, n_unconverged, float(gaps.max()), int(status.max()))


def _first_probabilities(outputs: Outputs, values: FloatArray) -> FloatArray:
    """Return least-squares values as probabilities (row, output); the rates where no fold validates."""
    rows = outputs.rows
    rate = rows.weight @ rows.y / rows.weight.sum()
    p: FloatArray = np.where(np.arange(len(values))[:, None] < outputs.n_validated, values, rate)
    least = np.minimum(_LEAST_PROBABILITY, _LEAST_OF_RATE * np.minimum(rate, 1.0 - rate))
    return np.clip(p, least, 1.0 - least)


def _with_offsets(outputs: Outputs, reduction: Probabilities, y: FloatArray, offset: FloatArray) -> Outputs:
    """Return the outputs of probabilities; classes that are absent from the cell keep the score of their rate."""
    weight = outputs.rows.weight
    constants, bound = reduction.constants(y, weight), reduction.score_bound(float(weight.sum()))
    problems = [replace(problem, scale=1.0) for problem in outputs.columns.problems]
    constants[[problem.output for problem in problems]] = offset
    return replace(
        outputs,
        reduction=reduction,
        rows=replace(outputs.rows, y=y),
        columns=replace(outputs.columns, problems=tuple(problems)),
        constants=constants,
        bounds=np.tile([-bound, bound], (len(constants), 1)),
    )


@dataclass(frozen=True)
class _Step:
    """A Newton step: its working targets and weights by problem, and the solutions of all folds and lams."""

    target: FloatArray
    """Less the offset (problem, row)."""
    weight: FloatArray
    """(problem, row)"""
    offset: FloatArray
    """(problem,)"""
    solved: Sequence[Solutions]
    scores: FloatArray
    """Out of fold (row, output), at the lam that is best for all folds."""
    lam: int
    fold_lams: IndexArray
    """The best lam of every fold."""
    fold_share: FloatArray
    """The share of every fold in the combined solution."""

    @classmethod
    def of(cls, search: GridSearch, outputs: Outputs, reduction: Probabilities, y: FloatArray, p: FloatArray) -> _Step:
        """Solve the step from probabilities p (row, output)."""
        rows, own = outputs.rows, [problem.output for problem in outputs.columns.problems]
        p = p[:, own]  # without classes that are absent from the cell
        score = np.log(p / (1.0 - p)) if reduction.n_classes == 2 else np.log(p)
        variance = p * (1.0 - p)
        target = (score + (rows.y[:, own] - p) / variance).T
        weight = (rows.weight[:, None] * variance).T
        offset = (weight * target).sum(axis=1) / weight.sum(axis=1)
        target = target - offset[:, None]
        folds, lams = range(outputs.n_folds), search.lams[0]
        solved = [_solve(search, outputs, *problem, folds, lams) for problem in zip(target, weight, strict=True)]
        lams = lams[: min(_n_solved(found) for found in solved)]
        bound = reduction.score_bound(float(rows.weight.sum()))
        scores = np.tile(reduction.constants(y, rows.weight), (len(lams), len(y), 1))  # (lam, row, output)
        for place, shift, found in zip(own, offset, solved, strict=True):
            scores[:, :, place] = np.clip(shift + found.values[0, : len(lams)], -bound, bound)
        losses, fold_weight = _fold_losses(outputs, reduction, y, scores)
        best = losses.argmin(axis=0)
        share = combination_weights(losses[best, np.arange(len(best))] / fold_weight, fold_weight)
        lam = int(losses.sum(axis=1).argmin())
        return cls(target, weight, offset, solved, scores[lam], lam, best, share)

    def combined(self) -> _Refitted:
        """Return the average of the fold solutions."""
        at = (0, np.arange(len(self.fold_lams)), self.fold_lams)
        share = self.fold_share.astype(np.float32)
        beta = np.stack([share @ found.beta[at] for found in self.solved])
        return beta, np.stack([found.gap[at] for found in self.solved]), np.stack([s.status[at] for s in self.solved])

    def retrained(self, search: GridSearch, outputs: Outputs) -> _Refitted:
        """Return the solutions on all samples."""
        lams = search.lams[0][: self.lam + 1]
        problems = zip(self.target, self.weight, strict=True)
        solved = [_solve(search, outputs, target, weight, [-1], lams) for target, weight in problems]
        at = (0, 0, self.lam)
        return (
            np.stack([found.beta[at] for found in solved]),
            np.stack([found.gap[at] for found in solved]),
            np.stack([found.status[at] for found in solved]),
        )


def _fold_losses(
    outputs: Outputs, reduction: Probabilities, y: FloatArray, scores: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the summed log-losses (lam, fold) of out-of-fold scores (lam, row, output), and the weights of folds."""
    starts = np.array([0, *outputs.rows.ends[: outputs.n_folds - 1]])
    validated = slice(0, outputs.n_validated)
    weight = outputs.rows.weight[validated]
    losses = reduction.risk(y[validated], scores[:, validated]) * weight
    return np.add.reduceat(losses, starts, axis=1), np.add.reduceat(weight, starts)


def _solve(
    search: GridSearch,
    outputs: Outputs,
    target: FloatArray,
    weight: FloatArray,
    folds: Sequence[int],
    lams: FloatArray,
) -> Solutions:
    """Solve a weighted least-squares problem."""
    assert isinstance(search.solver, SquarePaths), "least squares have paths of their own"
    tolerance = _GAP_FACTOR * search.loss.allowed_gap(1.0) / float(_log_loss_unit(outputs, weight))
    total_weight = np.full((1, len(folds)), weight.sum())
    plan = PathPlan(folds, lams[None], [len(lams)], total_weight, tolerance, search.patience)
    with search.clock.phase("solver"):
        return search.solver.solve_weighted(target, weight, plan)


def _log_loss_unit(outputs: Outputs, weight: FloatArray) -> FloatArray:
    """Return what a gap of 1 in a step of these weights (..., row) is in the mean log-loss: half the mean p (1 - p)."""
    return np.asarray(0.5 * weight.sum(axis=-1) / outputs.rows.weight.sum())


def _n_solved(found: Solutions) -> int:
    """Return how many lams were solved: the path ends before the others."""
    return int((found.status != SKIPPED).all(axis=(0, 1)).sum())
