"""Evaluation of regressors from streamed moments: errors of means, losses of quantiles and expectiles.

Enters: targets and predictions, block by block. Leaves: measures, pairs of true and predicted values, reliability bins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localsvm.data.types import FloatArray
from localsvm.errors import InvalidData
from localsvm.estimators.targets import check_targets
from localsvm.evaluation.intervals import Estimate, Means, proportion
from localsvm.evaluation.result import Measure, Pairs, ReliabilityBin
from localsvm.model.local_model import LocalModel
from localsvm.tasks.losses import Expectile, Pinball

_PAIR_BINS = 48


class MeanTally:
    """Sums over rows with one or several targets, predicted by a `LocalSVR`."""

    task = "means"
    n_classes = 0

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._n_targets = estimator.model_.reduction.n_targets
        # Per target: |r|, r^2, z, z^2, with residual r and z the target minus a shift that avoids cancellation.
        self._moments = [Means(4) for _ in range(self._n_targets)]
        self._shift: FloatArray | None = None
        self._pairs = [_PairCounts(estimator.model_, output) for output in range(self._n_targets)]

    def add(self, X: Any, y: ArrayLike, weight: FloatArray) -> tuple[FloatArray, None]:
        """Add a block of rows; return the loss of each row."""
        target = check_targets(y, len(weight), several=self._n_targets > 1).reshape(len(weight), -1)
        if target.shape[1] != self._n_targets:
            raise InvalidData(
                f"y has {target.shape[1]} columns, but the model was trained on {self._n_targets} targets. "
                "Pass the same targets in the same order."
            )
        predicted = self._estimator.predict(X).reshape(target.shape)
        if self._shift is None:
            self._shift = target.mean(axis=0)
        for j, (moments, pairs) in enumerate(zip(self._moments, self._pairs, strict=True)):
            r, z = target[:, j] - predicted[:, j], target[:, j] - self._shift[j]
            moments.add(np.column_stack([np.abs(r), r**2, z, z**2]), weight)
            pairs.add(target[:, j], predicted[:, j], weight)
        return self._estimator.model_.reduction.risk(target, predicted), None

    def _of(self, target: int) -> str | None:
        return f"target {target}" if self._n_targets > 1 else None

    def measures(self) -> tuple[Measure, ...]:
        """Return RMSE, MAE and R2 of every target."""
        found = []
        for j, moments in enumerate(self._moments):
            rmse = moments.mean(1).through(math.sqrt)
            named = {"rmse": rmse, "mae": moments.mean(0), "r2": _explained(moments)}
            found += [Measure(name, e.value, e.low, e.high, self._of(j)) for name, e in named.items() if e is not None]
        return tuple(found)

    def details(self) -> dict[str, Any]:
        """Return histograms of true and predicted values."""
        return {"pairs": tuple(pairs.result(self._of(j)) for j, pairs in enumerate(self._pairs))}


def _explained(moments: Means) -> Estimate | None:
    """Return R2 = 1 - E r^2 / Var y with its delta-method interval; None if all targets are equal."""
    _, residual, z, square = moments.values.tolist()
    variance = square - z * z
    if variance <= 1e-12 * square:
        return None
    ratio = residual / variance
    slopes = np.array([0.0, -1.0, -2.0 * z * ratio, ratio]) / variance
    return moments.estimate(1.0 - ratio, slopes)


class _PairCounts:
    """A histogram of true and predicted values over the range of possible predictions."""

    def __init__(self, model: LocalModel, output: int) -> None:
        ends = [_ends(cell.functions.bounds[output], cell.functions.constants[output]) for cell in model.cells]
        self._low, self._high = min(low for low, _ in ends), max(high for _, high in ends)
        if self._low == self._high:
            self._low, self._high = self._low - 0.5, self._high + 0.5
        self._counts = np.zeros((_PAIR_BINS, _PAIR_BINS))

    def add(self, target: FloatArray, predicted: FloatArray, weight: FloatArray) -> None:
        place = self._bin(target) * _PAIR_BINS + self._bin(predicted)
        self._counts += np.bincount(place, weight, self._counts.size).reshape(self._counts.shape)

    def _bin(self, values: FloatArray) -> NDArray[np.intp]:
        position = (np.clip(values, self._low, self._high) - self._low) / (self._high - self._low)
        return np.minimum((_PAIR_BINS * position).astype(np.intp), _PAIR_BINS - 1)

    def result(self, target: str | None) -> Pairs:
        return Pairs(target, self._low, self._high, tuple(tuple(row) for row in self._counts.tolist()))


def _ends(bounds: FloatArray, constant: float) -> tuple[float, float]:
    """Return the smallest and largest prediction of a cell; a constant cell has no bounds."""
    low, high = bounds.tolist()
    return (low, high) if math.isfinite(low) else (float(constant), float(constant))


class LevelTally:
    """Sums over rows with predicted quantiles or expectiles."""

    n_classes = 0

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._losses: tuple[Pinball | Expectile, ...] = estimator.model_.reduction.losses
        self._is_quantile = isinstance(self._losses[0], Pinball)
        self.task = "quantiles" if self._is_quantile else "expectiles"
        self._means = Means(len(self._losses))
        self._below = np.zeros(len(self._losses))
        self._squares = 0.0

    def add(self, X: Any, y: ArrayLike, weight: FloatArray) -> tuple[FloatArray, None]:
        """Add a block of rows; return the mean loss over levels of each row."""
        target = check_targets(y, len(weight), several=False)
        # Losses are in ascending order of level, and so are predictions once sorted, whatever the user's order.
        predicted = np.sort(self._estimator.predict(X).reshape(len(weight), -1), axis=1)
        losses = np.column_stack([loss.value(target, f) for loss, f in zip(self._losses, predicted.T, strict=True)])
        self._means.add(losses, weight)
        self._below += weight @ (target[:, None] <= predicted)
        self._squares += float(weight @ weight)
        return losses.mean(axis=1), None

    def _of(self, level: int) -> str | None:
        return f"{self.task[:-1]} {self._losses[level].tau:g}" if len(self._losses) > 1 else None

    def _share_below(self, level: int) -> Estimate:
        return proportion(min(float(self._below[level]), self._means.total), self._means.total, self._squares)

    def measures(self) -> tuple[Measure, ...]:
        """Return the loss of every level; for quantiles also the fraction of targets at or below the prediction."""
        count = len(self._losses)
        name = "pinball_loss" if self._is_quantile else "expectile_loss"
        mean = self._means.positive(float(self._means.values.mean()), np.full(count, 1 / count))
        found = [Measure(name, mean.value, mean.low, mean.high, "all levels")] if count > 1 else []
        for j in range(count):
            loss = self._means.mean(j)
            found.append(Measure(name, loss.value, loss.low, loss.high, self._of(j)))
            if self._is_quantile:
                below = self._share_below(j)
                found.append(Measure("share_below", below.value, below.low, below.high, self._of(j)))
        return tuple(found)

    def details(self) -> dict[str, Any]:
        """Return reliability bins of quantile levels."""
        if not self._is_quantile:
            return {}
        seen = [(loss.tau, self._share_below(j)) for j, loss in enumerate(self._losses)]
        return {"reliability": tuple(ReliabilityBin(tau, e.value, e.low, e.high, 1.0) for tau, e in seen)}
