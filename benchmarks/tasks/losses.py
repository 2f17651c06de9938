"""What predictions on the test rows are worth: the same for every program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.csv_store import Figures

Values = NDArray[Any]
QUANTILES = (0.1, 0.5, 0.9)
BINS = 15
_CERTAIN = 1e-15  # no log-loss is infinite


def error(y: Values, predicted: Values) -> Figures:
    return {"error": float(np.mean(predicted[:, 0] != y))}


def squared(y: Values, predicted: Values) -> Figures:
    return {"mse": float(np.mean(np.square(predicted[:, 0] - y)))}


def pinball(y: Values, predicted: Values) -> Figures:
    """Return the loss of each of the quantiles, in columns, and their mean."""
    rest = y[:, None] - predicted
    tau = np.array(QUANTILES)
    losses = np.maximum(tau * rest, (tau - 1) * rest).mean(axis=0)
    each = {f"pinball_{level}": float(loss) for level, loss in zip(QUANTILES, losses, strict=True)}
    return each | {"pinball": float(losses.mean())}


def calibration(y: Values, probabilities: Values) -> Figures:
    """Return the log-loss, and the expected calibration error of the probability of +1.

    The latter is the distance of the share of +1 from the mean probability, in bins of equal width, weighted
    by the rows in them.
    """
    positive = probabilities[:, 1]
    of_label = np.clip(np.where(y > 0, positive, 1 - positive), _CERTAIN, 1)
    number = np.minimum((positive * BINS).astype(int), BINS - 1)
    gaps = np.bincount(number, weights=(y > 0) - positive, minlength=BINS)
    return {"log_loss": float(-np.log(of_label).mean()), "calibration_error": float(np.abs(gaps).sum() / len(y))}


def rates(y: Values, predicted: Values) -> Figures:
    """Return the shares of +1 and of -1 that are found, and their product."""
    found = predicted[:, 0] == y
    tpr, tnr = float(found[y > 0].mean()), float(found[y < 0].mean())
    return {"tpr": tpr, "tnr": tnr, "tpr_tnr": tpr * tnr}


TASKS: dict[str, Callable[[Values, Values], Figures]] = {
    "classes": error,
    "mean": squared,
    "quantiles": pinball,
    "probabilities": calibration,
    "rates": rates,
}
