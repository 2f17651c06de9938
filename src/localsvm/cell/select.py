"""Selection (Alg. 1, line 18): the (width, lam) of every problem that minimizes the combined validation risk.

Enters: validation risks by problem, width and lam, and the solutions of one width after the other. Leaves: a `Choice`,
and the solutions at the chosen points, which are all that is kept of the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localsvm.cell.outputs import Outputs
from localsvm.cell.search import SearchRecord
from localsvm.data.types import Float32Array, FloatArray, IndexArray

EQUAL_RISK = 1e-6
"""Risks are compared in steps of this size: solutions are exact to a gap of 1e-3, no finer."""


@dataclass(frozen=True)
class Choice:
    """The chosen grid points: indices by problem."""

    width: IndexArray
    lam: IndexArray


def select(risk: FloatArray, tie_breaker: FloatArray) -> Choice:
    """Choose the grid point of lowest risk for every problem; risks are (problem, width, lam).

    Ties go to the lower `tie_breaker`, then to the smoother function: widths and lams descend along
    the axes, so that is the first of equal points.
    """
    n_lams = risk.shape[2]
    best = _best(risk.reshape(len(risk), -1), tie_breaker.reshape(len(risk), -1))
    return Choice(best // n_lams, best % n_lams)


def select_lams(risk: FloatArray, tie_breaker: FloatArray) -> IndexArray:
    """Choose the lam of lowest risk for every problem at one width; risks are (problem, lam)."""
    return _best(risk, tie_breaker)


def select_width(risk: FloatArray, tie_breaker: FloatArray) -> int:
    """Choose the width of lowest risk for all problems together."""
    return int(_best(risk, tie_breaker))


def _best(risk: FloatArray, tie_breaker: FloatArray) -> IndexArray:
    """Return the first of the best points along the last axis."""
    # Steps, not distances: then equality is transitive, and the best of some widths is the best of
    # all if none of the others beats it. The offset keeps fractions like 3/128 off the edges.
    step = np.floor(risk / EQUAL_RISK + 1 / np.pi)
    tied = np.where(step == step.min(axis=-1, keepdims=True), tie_breaker, np.inf)
    best: IndexArray = tied.argmin(axis=-1)
    return best


@dataclass(frozen=True)
class Best:
    """The solutions at the best grid points so far, each fold at its own lam or all at that of the choice."""

    record: SearchRecord
    outputs: Outputs
    own_lams: bool
    beta: Float32Array
    """Coefficients (fold, column)."""
    risk: FloatArray
    """Their summed validation risk (problem, fold)."""
    values: FloatArray
    """Out-of-fold values (row, output), at the lam of the choice: each fold's own lam was chosen on these rows."""

    @classmethod
    def none(cls, record: SearchRecord, outputs: Outputs, own_lams: bool) -> Best:
        """Return the best of no grid points."""
        n_problems, n_folds = record.weights.validation.shape
        beta = np.zeros((n_folds, len(outputs.columns.row)), dtype=np.float32)
        return cls(record, outputs, own_lams, beta, np.zeros((n_problems, n_folds)), outputs.constant_values())

    def keep(self, number: int, w: int, lam: int, beta: Float32Array) -> None:
        """Keep the solutions of one problem at this width; `beta` is (fold, lam, column)."""
        where, lams = self.outputs.columns.of_problem(number), self._fold_lams(number, w, lam)
        for fold, of_fold in enumerate(lams):
            self.beta[fold, where] = beta[fold, of_fold, where]
            self.risk[number, fold] = self.record.risk[number, w, of_fold, fold]

    def _fold_lams(self, number: int, w: int, lam: int) -> IndexArray:
        """Return the lam of each fold: its own best one; `lam` where it has no samples, or all folds share it."""
        weight = self.record.weights.validation[number]
        if not self.own_lams:
            return np.full(len(weight), lam)
        divisor = np.where(weight > 0, weight, 1.0)[:, None]
        own = select_lams(self.record.risk[number, w].T / divisor, self.record.loss[number, w].T / divisor)
        return np.where(weight > 0, own, lam)


@dataclass(frozen=True)
class PointPerProblem:
    """Selection of a width and a lam for every problem by itself."""

    best: Best

    def choice(self) -> Choice:
        """Return the best points so far."""
        return select(self.best.record.mean_risk, self.best.record.mean_loss)

    def update(self, w: int, beta: Float32Array, values: Float32Array) -> None:
        """Keep the solutions (fold, lam, column) and out-of-fold values (lam, column) that are the best so far."""
        best, choice = self.best, self.choice()
        for number in np.flatnonzero(choice.width == w).tolist():
            lam = int(choice.lam[number])
            best.keep(number, w, lam, beta)
            best.outputs.set_values(best.values, number, values[lam, best.outputs.columns.of_problem(number)])


@dataclass(frozen=True)
class CommonWidth:
    """Selection of one width for all problems, by the risk of their outputs together, and of a lam for each."""

    best: Best
    widths: FloatArray
    lam: IndexArray
    """Of lowest risk (width, problem)."""
    risk: FloatArray
    """Of all outputs together (width), at these lams."""
    mean_risk: FloatArray
    """Of the problems (width), at these lams; it breaks ties."""

    @classmethod
    def none(cls, best: Best, widths: FloatArray) -> CommonWidth:
        """Return the selection before the first width."""
        lam = np.zeros((len(widths), len(best.outputs.columns.problems)), dtype=np.intp)
        return cls(best, widths, lam, np.full(len(widths), np.inf), np.full(len(widths), np.inf))

    def choice(self) -> Choice:
        """Return the best width so far and its lams."""
        w = select_width(self.risk, self.mean_risk)
        return Choice(np.full(len(self.lam[w]), w), self.lam[w])

    def update(self, w: int, beta: Float32Array, values: Float32Array) -> None:
        """Keep solutions (fold, lam, column) and out-of-fold values (lam, column) if the width is the best so far."""
        record, outputs = self.best.record, self.best.outputs
        risk = record.mean_risk[:, w]
        self.lam[w] = lams = select_lams(risk, record.mean_loss[:, w])
        self.mean_risk[w] = record.weights.total @ risk[np.arange(len(lams)), lams]
        joint = self.best.values
        if np.isfinite(self.mean_risk[w]):  # else racing has dropped all lams of a problem
            joint = self._values(w, beta, values)
            self.risk[w], _ = outputs.risk(outputs.scores(joint))
        if self.choice().width[0] == w:
            self.best.values[: len(joint)] = joint
            for number, lam in enumerate(lams.tolist()):
                self.best.keep(number, w, lam, beta)

    def _values(self, w: int, beta: Float32Array, values: Float32Array) -> FloatArray:
        """Return the out-of-fold values of all outputs, each problem at its lam."""
        outputs = self.best.outputs
        columns = outputs.columns
        of_column = self.lam[w][columns.problem], np.arange(len(columns.row))
        if all(problem.rows is None for problem in columns.problems):
            return outputs.values_of_columns(values[of_column])
        return outputs.values_of_folds(beta[:, *of_column], float(self.widths[w]))
