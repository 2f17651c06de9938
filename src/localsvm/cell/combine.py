"""The end of Algorithm 1: one function per problem from the solutions of the folds and grid points.

Enters: what the search kept. Leaves: coefficients by width (`Term`) and out-of-fold values. There are three ways:

    combine   the fold solutions at the chosen point are averaged, with weights exponential in their risks (line 12)
    retrain   the problem is solved once more, on all samples, at the chosen point
    blend     the same at several points, whose weighted mean has the lowest out-of-fold loss; the points are added one
              after the other, as often as they help (Caruana, Niculescu-Mizil, Crew, Ksikes 2004, "Ensemble selection
              from libraries of models"); docs/decisions.md has the gain
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.columns import Columns, FoldWeights
from localsvm.cell.outputs import Outputs, Term, terms_by_width
from localsvm.cell.path import SKIPPED
from localsvm.cell.search import GridSearch, path_lengths
from localsvm.cell.select import Best, Choice, CommonWidth, PointPerProblem, select
from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import count_unconverged
from localsvm.data.types import Float32Array, FloatArray
from localsvm.tasks import Problem

_BLEND_SIZE = 10  # points in a blend, each counted as often as it was added
_BLEND_WIDTHS = 3  # at most: each is trained once more, and evaluated in predictions


@dataclass(frozen=True)
class Refitted:
    """The functions of a cell, and the certificate of solves on all samples, if there were any."""

    choice: Choice
    terms: list[Term]
    values: FloatArray
    """Out-of-fold values (row, output)."""
    n_unconverged: int = 0
    gap: float = np.nan
    status: int = SKIPPED


class Refit(Protocol):
    """One of the ways to get from solutions to functions."""

    def update(self, w: int, beta: Float32Array, values: Float32Array) -> None:
        """Keep what will be needed of a width: solutions (fold, lam, column), out-of-fold values (lam, column)."""
        ...

    def finish(self) -> Refitted:
        """Return the functions."""
        ...


def choose_refit(settings: CellSettings, search: GridSearch, outputs: Outputs) -> Refit:
    """Return what `settings.refit` names, before the first width."""
    if settings.refit == "blend":
        return Blend.none(search, outputs)
    best = Best.none(search.record, outputs, settings.own_lams)
    selection = CommonWidth.none(best, search.widths) if settings.reduction.one_width else PointPerProblem(best)
    return Combine(search, selection) if settings.refit == "combine" else Retrain(search, selection)


@dataclass(frozen=True)
class _AtChosenPoint:
    """A refit at the chosen point."""

    search: GridSearch
    selection: PointPerProblem | CommonWidth

    def update(self, w: int, beta: Float32Array, values: Float32Array) -> None:
        """Keep the best solutions so far."""
        with self.search.clock.phase("selection"):
            self.selection.update(w, beta, values)


def selected(refit: Refit) -> CommonWidth:
    """Return the selection of one width for all problems, which least squares on the indicators of classes have."""
    assert isinstance(refit, _AtChosenPoint)
    assert isinstance(refit.selection, CommonWidth)
    return refit.selection


# ----------------------------------------------------------------------------------------- combine


class Combine(_AtChosenPoint):
    """The weighted average of the fold solutions."""

    def finish(self) -> Refitted:
        """Average the fold solutions."""
        choice, best = self.selection.choice(), self.selection.best
        with self.search.clock.phase("selection"):
            beta = combine(best.outputs.columns, best.beta, best.risk, best.record.weights)
        return Refitted(choice, terms_by_width(beta, self.search.widths[choice.width]), best.values)


def combine(columns: Columns, beta: Float32Array, risk: FloatArray, weights: FoldWeights) -> Float32Array:
    """Return the average of the fold solutions (fold, column), weighted by their summed risks (problem, fold)."""
    mean_risk = risk / np.maximum(weights.validation, np.finfo(np.float64).tiny)
    by_column = combination_weights(mean_risk, weights.validation)[columns.problem].T
    average: Float32Array = (by_column * beta).sum(axis=0).astype(np.float32)
    return average


def combination_weights(risk: FloatArray, fold_weight: FloatArray) -> FloatArray:
    """Return weights exponential in the folds' mean risks (..., fold), summing to one over the folds.

    The fold of largest risk has exponent -n_fold/100, one without errors exponent 0: the more validation samples there
    are, the more their risks count.
    """
    worst = risk.max(axis=-1, keepdims=True)
    temperature = fold_weight.mean(axis=-1, keepdims=True) / 100.0
    relative = (risk - risk.min(axis=-1, keepdims=True)) / np.where(worst > 0, worst, 1.0)
    weight = np.exp(-temperature * relative)
    normalized: FloatArray = weight / weight.sum(axis=-1, keepdims=True)
    return normalized


# ----------------------------------------------------------------------------------------- retrain


class Retrain(_AtChosenPoint):
    """The solution on all samples."""

    def finish(self) -> Refitted:
        """Solve once more."""
        best = self.selection.best
        return _retrain_at(self.search, best.outputs, self.selection.choice(), best.values)


def retrain_in_the_middle(search: GridSearch, outputs: Outputs) -> Refitted:
    """Solve at the middle of the grid, where there are no folds to select a point."""
    n_problems, n_widths, n_lams = search.record.mean_risk.shape
    choice = Choice(np.full(n_problems, n_widths // 2), np.full(n_problems, n_lams // 2))
    return _retrain_at(search, outputs, choice, outputs.constant_values())


def _retrain_at(search: GridSearch, outputs: Outputs, choice: Choice, values: FloatArray) -> Refitted:
    """Solve on all samples at one grid point per problem."""
    weights = np.zeros(search.record.mean_risk.shape)
    weights[np.arange(len(choice.width)), choice.width, choice.lam] = 1.0
    return _retrain(search, outputs, choice, weights, values)


def _retrain(search: GridSearch, outputs: Outputs, choice: Choice, weights: FloatArray, values: FloatArray) -> Refitted:
    """Solve on all samples at the grid points that have a weight (problem, width, lam)."""
    terms, n_unconverged, gap, status = [], 0, -np.inf, 0
    for w in np.flatnonzero(weights.any(axis=(0, 2))).tolist():
        lengths = path_lengths(weights[:, w] > 0)
        paths = search.solve_on_all_samples(w, lengths.tolist())
        by_column = weights[outputs.columns.problem, w, : paths.beta.shape[1]]
        beta = np.einsum("cl,lc->c", by_column, paths.beta[0]).astype(np.float32)
        terms.append(Term(float(search.widths[w]), np.flatnonzero(lengths), beta))
        number, lam = np.nonzero(weights[:, w])
        used = (number, 0, lam)
        gap, status = max(gap, float(paths.gap[used].max())), max(status, int(paths.status[used].max()))
        n_unconverged += count_unconverged(paths.status[used])
    return Refitted(choice, terms, values, n_unconverged, gap, status)


# ------------------------------------------------------------------------------------------- blend


@dataclass(frozen=True)
class Blend:
    """The weighted mean of the solutions on all samples at several points."""

    search: GridSearch
    outputs: Outputs
    values: Float32Array
    """Out-of-fold values of all points (width, lam, column)."""

    @classmethod
    def none(cls, search: GridSearch, outputs: Outputs) -> Blend:
        """Return the blend before the first width."""
        n_widths, n_lams = search.record.mean_risk.shape[1:]
        return cls(search, outputs, np.zeros((n_widths, n_lams, len(outputs.columns.row)), dtype=np.float32))

    def update(self, w: int, beta: Float32Array, values: Float32Array) -> None:
        """Keep the out-of-fold values."""
        self.values[w, : len(values)] = values

    def finish(self) -> Refitted:
        """Choose the points of the mean, and solve once more at each."""
        columns, record = self.outputs.columns, self.search.record
        with self.search.clock.phase("selection"):
            weights = blend_weights(columns, self.values, record.mean_risk, record.gap.shape[2])
            mean = np.zeros(len(columns.row), dtype=np.float32)
            for number, w, lam in zip(*np.nonzero(weights), strict=True):
                where = columns.of_problem(int(number))
                mean[where] += np.float32(weights[number, w, lam]) * self.values[w, lam, where]
            values = self.outputs.values_of_columns(mean)
        return _retrain(self.search, self.outputs, select(record.mean_risk, record.mean_loss), weights, values)


def blend_weights(columns: Columns, values: Float32Array, risk: FloatArray, n_folds: int) -> FloatArray:
    """Return the weights of the grid points (problem, width, lam); those of a problem sum to one.

    `values` are (width, lam, column), on samples of the first `n_folds` folds; `risk` is (problem, width, lam).
    """
    weights = np.zeros(risk.shape)
    for number, problem in enumerate(columns.problems):
        validated = slice(columns.of_problem(number).start, int(columns.ends[number, n_folds - 1]))
        weights[number] = _problem_weights(problem, values[..., validated], risk[number])
    return weights


def _problem_weights(problem: Problem, values: Float32Array, risk: FloatArray) -> FloatArray:
    n = values.shape[-1]
    # The worse half of the points never helps; points that racing dropped have no values.
    points = np.flatnonzero((risk <= np.median(risk)) & np.isfinite(risk))
    f, width = values.reshape(-1, n)[points], points // risk.shape[1]
    y: NDArray[Any] = problem.y[:n].astype(np.float32)
    weight: NDArray[Any] = problem.weight[:n].astype(np.float32)
    side = None if problem.side is None else problem.side[:n]
    total = np.zeros(n, dtype=np.float32)
    times, allowed = np.zeros(len(points)), np.ones(len(points), dtype=bool)
    for size in range(1, _BLEND_SIZE + 1):
        mean: NDArray[Any] = np.clip((total + f) / np.float32(size), -problem.clip, problem.clip)
        losses: NDArray[Any] = problem.loss.value(y, mean, side)
        loss = np.einsum("pn,n->p", losses, weight)
        best = int(np.where(allowed, loss, np.inf).argmin())
        times[best] += 1
        total += f[best]
        used = np.unique(width[times > 0])
        if len(used) == _BLEND_WIDTHS:
            allowed = np.isin(width, used)
    weights = np.zeros(risk.size)
    weights[points] = times / _BLEND_SIZE
    return weights.reshape(risk.shape)
