"""Outputs of a cell: functions, out-of-fold scores and risk, from the coefficients and values of its problems.

Enters: coefficients, or out-of-fold values, by column (see `Columns`). Leaves: functions as kernel sums, so that
prediction costs one kernel row per support vector; outputs clipped at their bounds (Sec. 2); out-of-fold scores and
their risk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from localsvm.cell.columns import Columns
from localsvm.cell.folds import FoldedRows
from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import CellFunctions, KernelSum, OutOfFold
from localsvm.data.types import Float32Array, FloatArray, IndexArray
from localsvm.tasks import Reduction


@dataclass(frozen=True)
class Term:
    """Coefficients of kernels of one width, by column; they count for the given problems only."""

    width: float
    problems: IndexArray
    beta: Float32Array


def terms_by_width(beta: Float32Array, width: FloatArray) -> list[Term]:
    """Return the terms of problems that have one width each."""
    return [Term(float(value), np.flatnonzero(width == value), beta) for value in np.unique(width)[::-1]]


def kernel_sums(columns: Columns, terms: Iterable[Term], X: Float32Array) -> tuple[KernelSum, ...]:
    """Turn coefficients of columns into kernel sums: one for all problems of a width that are on the same rows.

    With one-vs-one problems that is one sum per class: its support vectors have a coefficient against each other class.
    """
    scale = np.array([problem.scale for problem in columns.problems])[columns.problem]
    sums = []
    for term in terms:
        sums += _sums_of_width(columns, (term.beta * scale).astype(np.float32), term.problems, term.width, X)
    return tuple(sums)


def _sums_of_width(
    columns: Columns, beta: Float32Array, numbers: IndexArray, width: float, X: Float32Array
) -> list[KernelSum]:
    coefficients = np.zeros((len(columns.problems), len(X)), dtype=np.float32)
    coefficients[columns.problem, columns.row] = beta
    outputs = np.array([problem.output for problem in columns.problems])
    sums = []
    for members, rows in columns.row_groups:
        chosen = np.intersect1d(members, numbers, assume_unique=True)
        part = coefficients[np.ix_(chosen, rows)]
        support = np.flatnonzero(part.any(axis=0))
        if len(support):
            sums.append(KernelSum(outputs[chosen], width, X[rows[support]], np.ascontiguousarray(part[:, support])))
    return sums


@dataclass(frozen=True)
class Outputs:
    """Output o is constants[o] plus the scaled function of its problem, if it has one, clipped at bounds[o]."""

    reduction: Reduction
    kernel: str
    rows: FoldedRows
    columns: Columns
    constants: FloatArray
    bounds: FloatArray
    """(output, 2)"""
    n_folds: int
    """Folds that validate; they come first."""

    @classmethod
    def of(cls, settings: CellSettings, rows: FoldedRows, columns: Columns) -> Outputs:
        """Return the outputs of the problems of a cell."""
        reduction = settings.reduction
        constants = reduction.constants(rows.y, rows.weight)
        for problem in columns.problems:
            constants[problem.output] = problem.offset
        n_folds = min(settings.n_folds, rows.n_folds)
        return cls(reduction, settings.kernel, rows, columns, constants, reduction.bounds(rows.y), n_folds)

    @property
    def n_validated(self) -> int:
        """Rows in validation folds; none where there is a single fold."""
        return self.rows.ends[self.n_folds - 1] if self.rows.n_folds > 1 else 0

    def functions(self, terms: Iterable[Term]) -> CellFunctions:
        """Return the functions of these coefficients."""
        return CellFunctions(self.kernel, self.constants, self.bounds, kernel_sums(self.columns, terms, self.rows.X))

    def constant_values(self) -> FloatArray:
        """Return values (row, output) that are the constants."""
        return np.tile(np.clip(self.constants, *self.bounds.T), (len(self.rows.y), 1))

    def set_values(self, values: FloatArray, number: int, of_column: Float32Array) -> None:
        """Set the values (row, output) of one problem on all rows from those of its columns."""
        problem = self.columns.problems[number]
        bounds = self.bounds[problem.output]
        values[:, problem.output] = np.clip(self.constants[problem.output] + problem.scale * of_column, *bounds)

    def values_of_columns(self, of_column: Float32Array) -> FloatArray:
        """Return the values (row, output) where all problems are on all rows."""
        values = self.constant_values()
        for number in range(len(self.columns.problems)):
            self.set_values(values, number, of_column[self.columns.of_problem(number)])
        return values

    def values_of_folds(self, beta: Float32Array, width: float) -> FloatArray:
        """Evaluate the solution of each fold (fold, column) on its validation fold: (validated row, output).

        Needed where problems are on some of the rows: each of them has a value at every row.
        """
        widths = np.full(len(self.columns.problems), width)
        return np.concatenate(
            [
                self.functions(terms_by_width(of_fold, widths)).values(self.rows.X[self.rows.fold(fold)])
                for fold, of_fold in enumerate(beta)
            ]
        )

    def scores(self, values: FloatArray) -> OutOfFold:
        """Return the scores of out-of-fold values (row, output); NaN for rows that no fold validates."""
        scores = np.full((len(self.rows.y), self.reduction.n_scores), np.nan, dtype=np.float32)
        if self.n_validated:
            scores[: self.n_validated] = self.reduction.scores(values[: self.n_validated])
        return OutOfFold(scores, self.rows.y, self.rows.weight, self.rows.key)

    def risk(self, scored: OutOfFold) -> tuple[float, float]:
        """Return the cross-validated risk of all outputs together, and its standard error."""
        if not self.n_validated:
            return np.nan, 0.0
        validated = slice(0, self.n_validated)
        weight = scored.weight[validated]
        risk = self.reduction.risk(scored.y[validated], scored.scores[validated].astype(np.float64))
        mean = float(risk @ weight / weight.sum())
        return mean, float(np.sqrt(np.square(risk - mean) @ weight) / weight.sum())
