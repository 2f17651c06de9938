"""How well probabilities rank the rows of two classes: the areas under the ROC and the precision-recall curve.

Enters: probabilities of the positive class, block by block. Leaves: an `Estimate` of each area. Rows are counted in
narrow bins of the log-odds, so that memory does not depend on their number; rows of one bin are ties.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import FloatArray
from localsvm.evaluation.intervals import Estimate, Z, proportion

_BINS = 1 << 17
_LARGEST_LOG_ODDS = 37.0  # of what is less than one in double precision


class RankTally:
    """Weights of positive and negative rows by their probability."""

    def __init__(self) -> None:
        self._mass = np.zeros((2, _BINS))
        self._squares = np.zeros(2)

    def add(self, probability: FloatArray, positive: NDArray[np.bool_], weight: FloatArray) -> None:
        """Add rows."""
        with np.errstate(divide="ignore"):
            log_odds = np.log(probability) - np.log1p(-probability)
        place = (np.clip(log_odds / _LARGEST_LOG_ODDS, -1, 1) + 1) / 2 * (_BINS - 1)
        number = np.rint(place).astype(np.intp)
        for side, rows in enumerate((~positive, positive)):
            self._mass[side] += np.bincount(number[rows], weight[rows], _BINS)
            self._squares[side] += float(np.square(weight[rows]).sum())

    @property
    def has_both(self) -> bool:
        """Whether there are rows of both classes, without which nothing is ranked."""
        return bool((self._mass.sum(axis=1) > 0).all())

    def roc_auc(self) -> Estimate:
        """Return the probability that a positive row has the higher value; interval of DeLong (1988), on the logits."""
        negative, positive = self._mass / self._mass.sum(axis=1, keepdims=True)
        below = np.cumsum(negative) - negative / 2
        above = 1 - np.cumsum(positive) + positive / 2
        area = float(positive @ below)
        variance = 0.0
        for share, values, n in zip((negative, positive), (above, below), self._effective, strict=True):
            variance += float(share @ np.square(values - area)) / n
        return _on_logits(area, math.sqrt(variance), float(self._effective.min()))

    def average_precision(self) -> Estimate:
        """Return the mean precision over the recalls, with the interval of Boyd, Eng and Page (2013)."""
        negative, positive = self._mass[:, ::-1]
        found = np.cumsum(positive)
        taken = found + np.cumsum(negative)
        precision = np.divide(found, taken, out=np.zeros_like(taken), where=taken > 0)
        area = min(float(positive @ precision / found[-1]), 1.0)
        n = float(self._effective[1])
        return _on_logits(area, math.sqrt(area * (1 - area) / n), n)

    @property
    def _effective(self) -> FloatArray:
        return np.asarray(np.square(self._mass.sum(axis=1)) / self._squares)


def _on_logits(value: float, error: float, n: float) -> Estimate:
    """Return the interval that is symmetric for log(value / (1 - value)); at an end that of a proportion."""
    spread = value * (1 - value)
    if spread < 1e-12 or error == 0:
        return proportion(value * n, n, n)
    middle, half = math.log(value / (1 - value)), min(Z * error / spread, 30.0)
    low, high = (1 / (1 + math.exp(-(middle + sign * half))) for sign in (-1, 1))
    return Estimate(value, low, high)
