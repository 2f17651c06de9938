"""The end of Algorithm 1: the k fold solutions merged into one coefficient vector, and this into kernel sums.

Enters: coefficients and validation risks of the folds at the chosen grid points. Leaves: `KernelSum`s, so that
prediction costs one kernel row per support vector.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.columns import Columns
from localsvm.cell.trained import KernelSum


def fold_shares(risk: NDArray[np.float64], fold_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights exponential in the folds' risks (problem, fold), summing to one over the folds.

    A fold whose risk is the largest has exponent -n_fold/100, one without errors exponent 0: the more validation
    samples speak, the more their verdict counts.
    """
    worst = risk.max(axis=-1, keepdims=True)
    temperature = fold_weight.mean(axis=-1, keepdims=True) / 100.0
    relative = (risk - risk.min(axis=-1, keepdims=True)) / np.where(worst > 0, worst, 1.0)
    share = np.exp(-temperature * relative)
    return np.asarray(share / share.sum(axis=-1, keepdims=True))


def combine(columns: Columns, beta: NDArray[np.float32], shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the average of the fold solutions (fold, column) by the shares (problem, fold)."""
    by_column = shares[columns.problem].T
    return np.asarray((by_column * beta).sum(axis=0), dtype=np.float32)


@dataclass(frozen=True)
class Term:
    """Coefficients of the problems that have machines of this width; of other columns they do not count."""

    width: float
    problems: NDArray[np.intp]
    beta: NDArray[np.float32]


def terms_by_width(beta: NDArray[np.float32], width: NDArray[np.float64]) -> list[Term]:
    """Return the terms of machines that have one width each, by problem."""
    return [Term(float(value), np.flatnonzero(width == value), beta) for value in np.unique(width)[::-1]]


def kernel_sums(columns: Columns, terms: Iterable[Term], X: NDArray[np.float32]) -> tuple[KernelSum, ...]:
    """Turn coefficients of columns into kernel sums: one for all problems of a width that are on the same rows.

    Of one-vs-one problems that is one sum per class, whose support vectors have a coefficient against each other class.
    """
    scale = np.array([problem.scale for problem in columns.problems])[columns.problem]
    sums = []
    for term in terms:
        sums += _sums_of_width(columns, (term.beta * scale).astype(np.float32), term.problems, term.width, X)
    return tuple(sums)


def _sums_of_width(
    columns: Columns, beta: NDArray[np.float32], numbers: NDArray[np.intp], width: float, X: NDArray[np.float32]
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
