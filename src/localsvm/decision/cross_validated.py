"""What out-of-fold predictions are worth, in the measures that users know.

Enters: the out-of-fold scores of the cells, or of an ensemble. Leaves: measures by name, the first of which is that of
the estimator's method `score`: accuracy, R2, or D2 of levels. Rows that no fold validates do not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import OutOfFold
from localsvm.data.types import FloatArray
from localsvm.decision.blend import KeyedScores
from localsvm.decision.operating_point import OperatingPoint
from localsvm.tasks import Levels, Probabilities, Reduction

CvMeasures = dict[str, float]
Factors = Callable[[FloatArray], FloatArray]


def cross_validated(
    reduction: Reduction,
    parts: Iterable[OutOfFold | KeyedScores],
    point: OperatingPoint | None = None,
    factors: Factors | None = None,
) -> CvMeasures:
    """Return measures of out-of-fold scores; none if no row was validated.

    `factors` returns class weights by target, which the weights of the parts include and measures do not.
    """
    sums = _Classes(reduction, point) if reduction.is_classification else _Numbers(reduction)
    for part in parts:
        known = ~np.isnan(part.scores).any(axis=1)
        if known.any():
            y, weight = part.y[known], part.weight[known]
            weight = weight if factors is None else weight / factors(y)
            sums.add(part.scores[known].astype(np.float64), y, weight)
    return sums.measures()


@dataclass
class _Classes:
    reduction: Reduction
    point: OperatingPoint | None
    right: float = 0.0
    loss: float = 0.0
    total: float = 0.0

    def add(self, scores: FloatArray, y: FloatArray, weight: FloatArray) -> None:
        self.right += float(weight[self._is_right(scores, y)].sum())
        self.total += float(weight.sum())
        if isinstance(self.reduction, Probabilities):
            self.loss += float(self.reduction.risk(y, scores) @ weight)

    def _is_right(self, scores: FloatArray, y: FloatArray) -> NDArray[np.bool_]:
        if self.point is not None:
            return np.asarray((scores[:, self.point.machine] >= self.point.threshold) == (y > 0))
        if scores.shape[1] == 1:
            return np.asarray((scores[:, 0] >= 0) == (y > 0))
        return np.asarray(scores.argmax(axis=1) == y)

    def measures(self) -> CvMeasures:
        if self.total == 0:
            return {}
        found = {"accuracy": self.right / self.total}
        return found | ({"log_loss": self.loss / self.total} if isinstance(self.reduction, Probabilities) else {})


class _Numbers:
    def __init__(self, reduction: Reduction) -> None:
        self._levels = reduction if isinstance(reduction, Levels) else None
        self._y: list[FloatArray] = []
        self._weight: list[FloatArray] = []
        self._squares: FloatArray | float = 0.0
        self._losses: FloatArray | float = 0.0

    def add(self, scores: FloatArray, y: FloatArray, weight: FloatArray) -> None:
        self._y.append(y.reshape(len(y), -1))
        self._weight.append(weight)
        if self._levels is not None:
            columns = zip(self._levels.losses, scores.T, strict=True)
            self._losses = self._losses + np.array([loss.value(y, column) @ weight for loss, column in columns])
        else:
            self._squares = self._squares + weight @ np.square(self._y[-1] - scores)

    def measures(self) -> CvMeasures:
        if not self._y:
            return {}
        y, weight = np.concatenate(self._y), np.concatenate(self._weight)
        if self._levels is not None:
            return {"d2": self._explained(self._levels, y[:, 0], weight)}
        spread = weight @ np.square(y - np.average(y, axis=0, weights=weight))
        squares = np.asarray(self._squares)
        r2 = np.where(spread > 0, 1 - squares / np.where(spread > 0, spread, 1.0), squares == 0)
        return {"r2": float(r2.mean()), "rmse": math.sqrt(float(squares.mean()) / float(weight.sum()))}

    def _explained(self, levels: Levels, y: FloatArray, weight: FloatArray) -> float:
        found = []
        for loss, rest in zip(levels.losses, np.atleast_1d(self._losses).tolist(), strict=True):
            worst = float(loss.value(y, np.full(len(y), loss.best_constant(y, weight))) @ weight)
            found.append(1 - rest / worst if worst > 0 else float(rest == 0))
        return float(np.mean(found))
