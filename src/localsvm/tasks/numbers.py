"""Regression: means, quantiles and expectiles of one target or several.

Enters: the targets of a cell's samples. Leaves: problems on standardized targets, whose values are the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from localsvm.data.types import FloatArray
from localsvm.tasks.losses import Loss, RegressionLoss, Tube
from localsvm.tasks.problem import Problem


@dataclass(frozen=True)
class Regression:
    """Real targets (n,) or (n, n_targets), standardized in each cell: a problem for every target and loss."""

    losses: tuple[RegressionLoss, ...]
    n_targets: int = 1
    is_classification: bool = False
    one_width: bool = False
    repeats: int = 1
    has_parts: bool = False

    @property
    def loss(self) -> Loss:
        """The first of the losses."""
        return self.losses[0]

    @property
    def n_outputs(self) -> int:
        """One function per target and loss."""
        return self.n_targets * len(self.losses)

    @property
    def n_scores(self) -> int:
        """One score per function."""
        return self.n_outputs

    @property
    def columns_per_row(self) -> int:
        """All problems are on all samples."""
        return self.n_outputs

    def _outputs(self, y: FloatArray) -> list[tuple[FloatArray, RegressionLoss]]:
        columns = y.reshape(len(y), self.n_targets).T
        return [(column, loss) for column in columns for loss in self.losses]

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return a problem for every output whose target is not constant."""
        found = []
        for output, (target, loss) in enumerate(self._outputs(y)):
            if len(target) == 0 or np.ptp(target) == 0:
                continue
            offset, scale = loss.best_constant(target, weight), _spread(target, weight)
            found.append(Problem(output, loss, (target - offset) / scale, weight, offset=offset, scale=scale))
        return found

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the constants of lowest loss."""
        return np.array([loss.best_constant(target, weight) for target, loss in self._outputs(y)])

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return the smallest and the largest target, at which predictions are clipped (Sec. 2)."""
        return np.array([(target.min(), target.max()) for target, _ in self._outputs(y)])

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the values."""
        return values

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives of the values."""
        return gradients

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the mean loss of the outputs."""
        losses = [loss.value(target, f) for (target, loss), f in zip(self._outputs(y), scores.T, strict=True)]
        mean: FloatArray = np.mean(losses, axis=0)
        return mean


@dataclass(frozen=True)
class TubeRegression(Regression):
    """Epsilon-insensitive regression of one or several targets; see `Tube`."""

    losses: tuple[RegressionLoss, ...] = (Tube(),)
    epsilon: float = 0.1
    repeats: int = 2
    """One row per edge of the tube."""

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return the problems with the first row of every sample at the lower edge, the second at the upper one."""
        side = np.tile([1.0, -1.0], len(y) // self.repeats)
        return [
            replace(problem, y=problem.y - side * self.epsilon / problem.scale, side=side)
            for problem in super().problems(y, weight)
        ]

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the mean loss of the targets."""
        distance = np.abs(y.reshape(scores.shape) - scores)
        mean: FloatArray = np.maximum(0.0, distance - self.epsilon).mean(axis=1)
        return mean


@dataclass(frozen=True)
class Levels(Regression):
    """Quantiles or expectiles of one target, ascending: predictions are sorted, so that they never cross."""

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the values in ascending order, the rearrangement of Chernozhukov, Fernandez-Val, Galichon (2010)."""
        return np.sort(values, axis=1)

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives in the order of the values."""
        return np.take_along_axis(gradients, values.argsort(axis=1, kind="stable")[:, :, None], axis=1)


def _spread(y: FloatArray, weight: FloatArray) -> float:
    """Return the weighted standard deviation without overflow in any unit; 1 where it rounds to 0."""
    mean, unit = y @ weight / weight.sum(), np.ptp(y)
    return float(unit * np.sqrt(np.square((y - mean) / unit) @ weight / weight.sum())) or 1.0
