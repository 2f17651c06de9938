"""What predictions on the test rows are worth, the same for all programs.

Two classes: ROC-AUC and log-loss; more classes: log-loss; numbers: root mean squared error. These are also given for
ten parts of the test rows, so that the noise of a paired difference can be estimated from one split.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.csv_store import Figures

Values = NDArray[Any]
BINS = 15
PARTS = 10
_LEAST = 1e-15  # no log-loss is infinite
MEASURES = {"binary": ("auc", "log_loss"), "multiclass": ("log_loss",), "regression": ("rmse",)}
"""Measures of a kind, the primary one first."""
HIGHER_IS_BETTER = ("auc",)


def measured(kind: str, y: Values, predicted: Values) -> Figures:
    """Return all measures of predictions: a column of numbers, or one of probabilities for each class."""
    part = _parts(kind, y)
    rows = [np.flatnonzero(part == number) for number in range(PARTS)]
    figures = {name: _MEASURE[name](y, predicted) for name in MEASURES[kind]}
    figures |= {
        f"{name}_{number}": _MEASURE[name](y[some], predicted[some])
        for name in MEASURES[kind]
        for number, some in enumerate(rows)
    }
    if kind != "regression":
        figures["error"] = float(np.mean(predicted.argmax(axis=1) != y))
        figures["calibration_error"] = calibration_error(y, predicted)
    return {name: value for name, value in figures.items() if np.isfinite(value)}


def calibration_error(y: Values, probabilities: Values) -> float:
    """Return the expected calibration error of class 1 of two, or of the most probable class of several.

    It is the mean distance between the relative frequency and the mean probability in bins of equally many rows.
    """
    if probabilities.shape[1] == 2:
        claimed, happened = probabilities[:, 1], y == 1
    else:
        claimed, happened = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    bins = np.array_split(np.argsort(claimed, kind="stable"), BINS)
    return float(sum(abs(claimed[rows].sum() - happened[rows].sum()) for rows in bins) / len(y))


def _auc(y: Values, probabilities: Values) -> float:
    return float(roc_auc_score(y, probabilities[:, 1])) if len(np.unique(y)) == 2 else float("nan")


def _log_loss(y: Values, probabilities: Values) -> float:
    of_class = probabilities[np.arange(len(y)), y] / probabilities.sum(axis=1)
    return float(-np.log(np.clip(of_class, _LEAST, 1)).mean())


def _rmse(y: Values, predicted: Values) -> float:
    return float(np.sqrt(np.mean(np.square(predicted[:, 0] - y))))


_MEASURE: dict[str, Callable[[Values, Values], float]] = {"auc": _auc, "log_loss": _log_loss, "rmse": _rmse}


def _parts(kind: str, y: Values) -> NDArray[np.intp]:
    """Return the part of each row: every tenth row, of each class if there are classes."""
    if kind == "regression":
        return np.arange(len(y)) % PARTS
    part = np.empty(len(y), dtype=np.intp)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        part[rows] = np.arange(len(rows)) % PARTS
    return part
