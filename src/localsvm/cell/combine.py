"""The end of Algorithm 1: the k fold solutions merged into one coefficient vector, and this into kernel sums.

Enters: coefficients and validation risks of the folds at the chosen grid points. Leaves: `KernelSum`s, so that
prediction costs one kernel row per support vector.
"""

from __future__ import annotations

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


def kernel_sums(
    columns: Columns, beta: NDArray[np.float32], width: NDArray[np.float64], X: NDArray[np.float32]
) -> tuple[KernelSum, ...]:
    """Turn coefficients of columns into kernel sums: one for all problems of a width that are on the same rows.

    Of one-vs-one problems that is one sum per class, whose support vectors have a coefficient against each other class.
    """
    scale = np.array([problem.scale for problem in columns.problems])
    scaled = (beta * scale[columns.problem]).astype(np.float32)
    sums = []
    for value in np.unique(width)[::-1]:
        numbers = np.flatnonzero(width == value)
        sums += _sums_of_width(columns, scaled, numbers, float(value), X)
    return tuple(sums)


def _sums_of_width(
    columns: Columns, beta: NDArray[np.float32], numbers: NDArray[np.intp], width: float, X: NDArray[np.float32]
) -> list[KernelSum]:
    coefficients = np.zeros((len(numbers), len(X)), dtype=np.float32)
    takes_part = np.zeros((len(numbers), len(X)), dtype=bool)
    for place, number in enumerate(numbers):
        where = columns.of_problem(number)
        coefficients[place, columns.row[where]] = beta[where]
        takes_part[place, columns.row[where]] = True
    outputs = np.array([columns.problems[number].output for number in numbers])
    sums = []
    for pattern, rows in _rows_by_pattern(takes_part):
        support = rows[coefficients[:, rows].any(axis=0)]
        if len(support):
            chosen = np.ascontiguousarray(coefficients[np.ix_(pattern, support)])
            sums.append(KernelSum(outputs[pattern], width, X[support], chosen))
    return sums


def _rows_by_pattern(takes_part: NDArray[np.bool_]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Group rows by the problems that they take part in: (problems, rows) of every group."""
    if takes_part.all():
        return [(np.arange(len(takes_part)), np.arange(takes_part.shape[1]))]
    patterns, group = np.unique(np.packbits(takes_part, axis=0).T, axis=0, return_inverse=True)
    group = group.ravel()
    rows = (np.flatnonzero(group == number) for number in range(len(patterns)))
    return [(np.flatnonzero(takes_part[:, members[0]]), members) for members in rows]
