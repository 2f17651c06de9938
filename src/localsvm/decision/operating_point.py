"""Operating points: the decision function and threshold that suit a purpose best.

Enters: out-of-fold decision values of one or several functions (trained with different weights of the positive class),
labels and weights. Leaves: an `OperatingPoint`, or the front of the ROC curves.

A point is the index of a function (`machine`) and a threshold: f >= threshold predicts the positive class. Weights are
sample weights, without the class weights used in training. All thresholds between distinct values are evaluated, so the
rates are exact, with weights and with ties; the cost is that of sorting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from localsvm.data.types import FloatArray
from localsvm.errors import InvalidData, InvalidParameter

Score = Callable[[FloatArray, FloatArray, float, float], FloatArray]

_EQUAL = 1e-12
"""Scores and rates closer than this count as equal: sums of weights are rounded."""


@dataclass(frozen=True)
class OperatingPoint:
    """A function and a threshold, with their rates on out-of-fold samples."""

    machine: int
    """Index of the function, in the order of the positive weights it was trained with."""
    threshold: float
    """f >= threshold predicts the positive class; -inf predicts it for all samples, inf for none."""
    false_alarm: float
    """False-positive rate: the fraction of negative samples predicted positive."""
    detection: float
    """True-positive rate: the fraction of positive samples predicted positive."""


@dataclass(frozen=True)
class RocPoints:
    """Many operating points, as arrays."""

    machine: NDArray[np.intp]
    threshold: FloatArray
    false_alarm: FloatArray
    detection: FloatArray

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.machine)

    def __getitem__(self, number: int) -> OperatingPoint:
        """Return one point."""
        return OperatingPoint(
            machine=int(self.machine[number]),
            threshold=float(self.threshold[number]),
            false_alarm=float(self.false_alarm[number]),
            detection=float(self.detection[number]),
        )

    def take(self, numbers: NDArray[np.intp]) -> RocPoints:
        """Return some of the points."""
        return RocPoints(
            self.machine[numbers], self.threshold[numbers], self.false_alarm[numbers], self.detection[numbers]
        )

    def front(self) -> RocPoints:
        """Return the points that no other dominates by a lower false-alarm rate, a higher detection rate, or both.

        Both rates ascend. Of equal points the first function's is kept.
        """
        order = np.lexsort((-self.detection, self.false_alarm))
        detection = self.detection[order]
        best_before = np.append(-np.inf, np.maximum.accumulate(detection)[:-1])
        return self.take(order[detection > best_before + _EQUAL])


@dataclass(frozen=True)
class ScoredSamples:
    """Samples of two classes with their out-of-fold decision values."""

    values: FloatArray
    """Shape (n_samples, n_functions)."""
    positive: NDArray[np.bool_]
    weight: FloatArray

    @classmethod
    def of(cls, values: NDArray[np.floating], y: NDArray[np.floating], weight: FloatArray) -> ScoredSamples:
        """Keep the samples with a value (not NaN) and a positive weight; labels are -1 and +1."""
        values = np.asarray(values, dtype=np.float64).reshape(len(y), -1)
        used = ~np.isnan(values).any(axis=1) & (weight > 0)
        positive = y[used] > 0
        if positive.all() or not positive.any():
            raise InvalidData(
                f"an operating point needs out-of-fold samples of both classes, but {int(positive.sum())} are positive "
                f"and {int((~positive).sum())} negative. Give more samples."
            )
        return cls(values[used], positive, np.asarray(weight, dtype=np.float64)[used])

    @property
    def n_functions(self) -> int:
        """Number of functions."""
        return int(self.values.shape[1])

    @property
    def class_weight(self) -> tuple[float, float]:
        """Weight of the negative and of the positive samples."""
        return float(self.weight[~self.positive].sum()), float(self.weight[self.positive].sum())

    def roc(self, machine: int) -> RocPoints:
        """Return all operating points of a function, from no positives to all.

        values, descending      v_0 = v_0 > v_1 > v_2 = v_2
        thresholds         inf  |         |     |         | -inf         half way between distinct values
        """
        order = np.argsort(-self.values[:, machine], kind="stable")
        values = self.values[order, machine]
        last = np.flatnonzero(np.append(values[1:] < values[:-1], True))  # of each run of equal values
        distinct = values[last]
        false_alarm, detection = (
            _cumulative_fraction(np.where(of_class, self.weight, 0.0)[order])[last]
            for of_class in (~self.positive, self.positive)
        )
        return RocPoints(
            machine=np.full(len(last) + 1, machine),
            threshold=np.concatenate([[np.inf], _middle(distinct[1:], distinct[:-1]), [-np.inf]]),
            false_alarm=np.append(0.0, false_alarm),
            detection=np.append(0.0, detection),
        )


def _cumulative_fraction(weight: FloatArray) -> FloatArray:
    total = np.cumsum(weight)
    return np.asarray(total / total[-1])


def _middle(below: FloatArray, above: FloatArray) -> FloatArray:
    """Return the middle, or the number above where none lies between."""
    middle = below / 2 + above / 2
    return np.where(middle > below, middle, above)


def roc_front(samples: ScoredSamples) -> RocPoints:
    """Return the ROC front of all functions, false-alarm rates ascending."""
    fronts = [samples.roc(machine).front() for machine in range(samples.n_functions)]
    return RocPoints(
        machine=np.concatenate([front.machine for front in fronts]),
        threshold=np.concatenate([front.threshold for front in fronts]),
        false_alarm=np.concatenate([front.false_alarm for front in fronts]),
        detection=np.concatenate([front.detection for front in fronts]),
    ).front()


def _accuracy(false_alarm: FloatArray, detection: FloatArray, negative: float, positive: float) -> FloatArray:
    return (detection * positive + (1 - false_alarm) * negative) / (positive + negative)


def _balanced_accuracy(false_alarm: FloatArray, detection: FloatArray, _n: float, _p: float) -> FloatArray:
    return (detection + 1 - false_alarm) / 2


def _tpr_tnr(false_alarm: FloatArray, detection: FloatArray, _n: float, _p: float) -> FloatArray:
    return detection * (1 - false_alarm)


def _f1(false_alarm: FloatArray, detection: FloatArray, negative: float, positive: float) -> FloatArray:
    return 2 * detection * positive / (detection * positive + false_alarm * negative + positive)


SCORES: dict[str, Score] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "tpr_tnr": _tpr_tnr,
    "f1": _f1,
}
"""Scores by false-alarm rate, detection rate and the weights of the negative and the positive samples."""


def choose(samples: ScoredSamples, score: str) -> OperatingPoint:
    """Choose the function and threshold with the best score.

    The maximum over all thresholds is optimistic. So each function proposes the middle one of its thresholds within one
    standard error of its maximum, and the best proposal is taken, the first of equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.decision.operating_point import ScoredSamples, choose
    >>> values = np.arange(200.0)
    >>> samples = ScoredSamples.of(values, np.where(values < 100, -1, 1), np.ones(200))
    >>> choose(samples, "balanced_accuracy")
    OperatingPoint(machine=0, threshold=99.5, false_alarm=0.0, detection=1.0)
    """
    if score not in SCORES:
        raise InvalidParameter(f"score={score!r} is not available; use one of {', '.join(map(repr, SCORES))}.")
    negative, positive = samples.class_weight
    best, best_score = None, -np.inf
    for machine in range(samples.n_functions):
        roc = samples.roc(machine)
        scores = SCORES[score](roc.false_alarm, roc.detection, negative, positive)
        error = _standard_error(SCORES[score], roc[int(scores.argmax())], negative, positive)
        good = np.flatnonzero(scores >= scores.max() - error - _EQUAL)
        middle = int(good[len(good) // 2])
        if scores[middle] > best_score + _EQUAL:
            best, best_score = roc[middle], scores[middle]
    assert best is not None
    return best


def _standard_error(score: Score, point: OperatingPoint, negative: float, positive: float) -> float:
    """Return the standard error of the score, from those of both rates, which are independent."""
    rates = np.array([point.false_alarm, point.detection])
    weight = np.array([negative, positive])
    rates = (rates * weight + 0.5) / (weight + 1.0)  # estimated rates of 0 and 1 have an error, too
    moved = rates + np.diag(np.sqrt(rates * (1 - rates) / weight))
    change = score(moved[:, 0], moved[:, 1], negative, positive) - score(rates[:1], rates[1:], negative, positive)
    return float(np.hypot(*change))


def choose_false_alarm(samples: ScoredSamples, false_alarm: float, confidence: float | None = None) -> OperatingPoint:
    """Choose the function and threshold of highest detection within a bound on false alarms (Neyman-Pearson).

    Without `confidence` the rate on out-of-fold samples is within the bound; the rate on new samples exceeds it about
    every other time. With `confidence` an upper confidence limit of the rate (Clopper-Pearson, with a Bonferroni
    correction for several functions) is within the bound, at the price of detection.
    """
    for name, value in (("false_alarm", false_alarm), ("confidence", confidence)):
        if value is not None and not 0 < value < 1:
            raise InvalidParameter(f"{name}={value!r}: a number between 0 and 1 is needed.")
    points = roc_front(samples)
    if confidence is None:
        kept = points.false_alarm <= false_alarm + _EQUAL
    else:
        kept = _limit_keeps(points, samples, false_alarm, 1 - (1 - confidence) / samples.n_functions)
    if not kept.any():
        return OperatingPoint(machine=0, threshold=np.inf, false_alarm=0.0, detection=0.0)
    return points[int(np.flatnonzero(kept)[-1])]


def _limit_keeps(points: RocPoints, samples: ScoredSamples, bound: float, confidence: float) -> NDArray[np.bool_]:
    """Return which points have an upper confidence limit of the false-alarm rate within the bound.

    These are the points at which, if the rate were equal to the bound, more false alarms than observed would occur with
    this confidence.
    """
    negative, _ = samples.class_weight
    alarms = points.false_alarm * negative
    return np.asarray(scipy.special.betainc(alarms + 1, np.maximum(negative - alarms, _EQUAL), bound) >= confidence)
