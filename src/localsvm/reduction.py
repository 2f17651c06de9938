"""How a learning task becomes scalar problems: one, a pair of classes, a class against the rest, a target, a level.

Enters: the targets of a cell. Leaves: `Problem`s for the cell trainer, the constants where there is nothing to train,
and the scores by which the outputs of all problems are judged together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localsvm.losses import Hinge, Loss, RegressionLoss, Tube

FloatArray = NDArray[np.float64]

# One against the rest: where all classes are rare their values settle at -1, and the differences there decide. This
# bound is far enough below to leave them alone; a class that a cell has not seen scores less than any that it has.
_LEAST_PRESENT = -2.0
_ABSENT = -3.0


@dataclass(frozen=True)
class Problem:
    """One scalar problem on samples of a cell; its function is offset + scale * (the kernel sum that is trained)."""

    output: int
    loss: Loss
    y: FloatArray
    weight: FloatArray
    rows: NDArray[np.intp] | None = None
    """The samples that take part, ascending; None is all."""
    offset: float = 0.0
    scale: float = 1.0

    @property
    def clip(self) -> float:
        """Where the function is clipped."""
        return self.loss.clip(self.y)

    @property
    def risk_unit(self) -> float:
        """What a risk of one is in units of the targets as given."""
        return float(self.scale ** getattr(self.loss, "degree", 0))


class Reduction(Protocol):
    """What fitting asks of a learning task."""

    @property
    def loss(self) -> Loss:
        """The loss of its problems; of several, which are of one kind, the first."""
        ...

    @property
    def n_outputs(self) -> int:
        """Functions of a cell."""
        ...

    @property
    def n_scores(self) -> int:
        """Columns that `scores` returns."""
        ...

    @property
    def columns_per_row(self) -> int:
        """Problems that a sample takes part in, at most."""
        ...

    @property
    def has_parts(self) -> bool:
        """Whether there are problems on some of the samples only."""
        ...

    @property
    def is_classification(self) -> bool:
        """Whether targets are classes."""
        ...

    @property
    def one_width(self) -> bool:
        """Whether all problems of a cell share their width."""
        ...

    @property
    def copies(self) -> int:
        """How often each sample of a cell is repeated before `problems` sees it."""
        ...

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return the problems of a cell; none where all targets agree."""
        ...

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the best constant of every output."""
        ...

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return the least and the largest value of every output (n_outputs, 2)."""
        ...

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the scores (n, n_scores) of outputs (n, n_outputs)."""
        ...

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives (n, n_scores, d) of the scores, from those of the outputs (n, n_outputs, d)."""
        ...

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the loss of every sample that its scores make."""
        ...


def _sign(positive: float, negative: float) -> float:
    """Return which of two masses is larger; equal ones speak for the positive side, as f = 0 does."""
    return 1.0 if positive >= negative else -1.0


class _Classes:
    """Classes are 0, 1, ...; the largest score wins, the first of equal ones."""

    n_classes: int
    is_classification = True
    one_width = True
    copies = 1

    @property
    def n_scores(self) -> int:
        """One score per class."""
        return self.n_classes

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return 1 where another class has the largest score."""
        return np.asarray(scores.argmax(axis=1) != y, dtype=np.float64)


@dataclass(frozen=True)
class Binary:
    """Two classes, y = -1 and +1; several machines when the positive class is weighted in several ways."""

    loss: Loss = field(default_factory=Hinge)
    factors: tuple[float, ...] = (1.0,)
    """Factors on the weights of positive samples, one machine each."""
    machine: int | None = None
    """The machine that decides; until one is chosen all have their scores."""
    threshold: float = 0.0
    """The value from which on it decides for the positive class."""
    is_classification: bool = True
    one_width: bool = False
    copies: int = 1
    has_parts: bool = False

    @property
    def n_outputs(self) -> int:
        """One function per factor."""
        return len(self.factors)

    @property
    def n_scores(self) -> int:
        """One score per function, or that of the machine that decides."""
        return self.n_outputs if self.machine is None else 1

    @property
    def columns_per_row(self) -> int:
        """All problems are on all samples."""
        return self.n_outputs

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return one problem per factor."""
        if len(y) == 0 or np.ptp(y) == 0:
            return []
        return [
            Problem(output, self.loss, y, weight * np.where(y > 0, factor, 1.0))
            for output, factor in enumerate(self.factors)
        ]

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the heavier side, by factor."""
        positive, negative = float(weight[y > 0].sum()), float(weight[y < 0].sum())
        return np.array([_sign(factor * positive, negative) for factor in self.factors])

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return no bounds: only the sign of a decision value counts."""
        return unbounded(self.n_outputs)

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the decision values; not negative ones speak for the positive class."""
        if self.machine is None:
            return values
        return values[:, self.machine : self.machine + 1] - self.threshold

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives of the functions that have scores."""
        return gradients if self.machine is None else gradients[:, self.machine : self.machine + 1]

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return how many of the machines err."""
        return np.asarray((np.where(scores >= 0, 1.0, -1.0) != y[:, None]).mean(axis=1))


@dataclass(frozen=True)
class OneVsOne(_Classes):
    """Each pair of classes is a problem on their samples.

    A class scores what it has against its strongest rival, with a little of the mean against all: machines of two
    classes know nothing of a sample of a third, and the more classes there are, the more of them have a say in a mean.
    """

    n_classes: int
    loss: Loss = field(default_factory=Hinge)
    mean_share: float = 0.1
    """Of the mean in a score: enough to break ties; docs/decisions.md has the figures."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs (a, b), a < b, in the order of the outputs; positive values speak for a."""
        return list(combinations(range(self.n_classes), 2))

    @property
    def n_outputs(self) -> int:
        """One function per pair."""
        return self.n_classes * (self.n_classes - 1) // 2

    @property
    def columns_per_row(self) -> int:
        """Every other class makes a pair."""
        return self.n_classes - 1

    @property
    def has_parts(self) -> bool:
        """A pair has the samples of two classes."""
        return self.n_classes > 2

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return a problem for every pair of classes that the cell has."""
        members = [np.flatnonzero(y == c) for c in range(self.n_classes)]
        found = []
        for output, (a, b) in enumerate(self.pairs):
            if len(members[a]) and len(members[b]):
                rows = np.sort(np.concatenate([members[a], members[b]]))
                signs = np.where(y[rows] == a, 1.0, -1.0)
                found.append(Problem(output, self.loss, signs, weight[rows], rows if len(rows) < len(y) else None))
        return found

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the heavier class of each pair; 0 where the cell has neither."""
        mass = _class_masses(y, weight, self.n_classes)
        return np.array([_sign(mass[a], mass[b]) if mass[a] or mass[b] else 0.0 for a, b in self.pairs])

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return -1 and 1: beyond them a value says no more."""
        return np.tile([-1.0, 1.0], (self.n_outputs, 1))

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the value of each class against its strongest rival, with a share of the mean against all."""
        least = self._own(values).min(axis=2)
        return self._mixed(least, self._class_means(values))

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives of the values that make the scores."""
        rival = self._own(values).argmin(axis=2)
        of_class = np.arange(self.n_classes)
        pair, side = self._pair_of_class[of_class, rival], self._side_of_class[of_class, rival]
        least = side[:, :, None] * np.take_along_axis(gradients, pair[:, :, None], axis=1)
        return self._mixed(least, self._class_means(gradients))

    def _mixed(self, least: FloatArray, mean: FloatArray) -> FloatArray:
        return np.asarray((1 - self.mean_share) * least + self.mean_share * mean)

    @cached_property
    def _pair_of_class(self) -> NDArray[np.intp]:
        """The pairs of each class, (n_classes, n_classes - 1)."""
        own = [[number for number, pair in enumerate(self.pairs) if c in pair] for c in range(self.n_classes)]
        return np.array(own, dtype=np.intp)

    @cached_property
    def _side_of_class(self) -> FloatArray:
        """1 where the class is the first of the pair, else -1."""
        first = np.array([a for a, _ in self.pairs])
        return np.where(first[self._pair_of_class] == np.arange(self.n_classes)[:, None], 1.0, -1.0)

    def _own(self, values: FloatArray) -> FloatArray:
        """Return what each class has against each other one, (n, n_classes, n_classes - 1)."""
        return np.asarray(self._side_of_class * values[:, self._pair_of_class])

    def _class_means(self, of_pairs: FloatArray) -> FloatArray:
        n_points, _, *rest = of_pairs.shape
        out = np.zeros((n_points, self.n_classes, *rest))
        for pair, (a, b) in enumerate(self.pairs):
            out[:, a] += of_pairs[:, pair]
            out[:, b] -= of_pairs[:, pair]
        return out / (self.n_classes - 1)


@dataclass(frozen=True)
class OneVsRest(_Classes):
    """Each class against all others, on all samples of the cell; its value is its score."""

    n_classes: int
    loss: Loss = field(default_factory=Hinge)
    has_parts: bool = False

    @property
    def n_outputs(self) -> int:
        """One function per class."""
        return self.n_classes

    @property
    def columns_per_row(self) -> int:
        """All problems are on all samples."""
        return self.n_classes

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return a problem for every class that the cell has, if it has several."""
        present = np.unique(y)
        if len(present) < 2:
            return []
        return [Problem(int(c), self.loss, np.where(y == c, 1.0, -1.0), weight) for c in present]

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return 1 for the heaviest class, -1 for the others, and less for those that the cell has not."""
        mass = _class_masses(y, weight, self.n_classes)
        return np.where(np.arange(self.n_classes) == mass.argmax(), 1.0, np.where(mass > 0, -1.0, _ABSENT))

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return lower bounds only: the largest value wins, and a class that the cell has beats one that it has not."""
        has = np.isin(np.arange(self.n_classes), y)
        return np.column_stack([np.where(has, _LEAST_PRESENT, _ABSENT), np.full(self.n_classes, np.inf)])

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the values."""
        return values

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives of the values."""
        return gradients


@dataclass(frozen=True)
class Regression:
    """Real targets (n,) or (n, n_targets), standardised in each cell: a problem for every target and loss."""

    losses: tuple[RegressionLoss, ...]
    n_targets: int = 1
    is_classification: bool = False
    one_width: bool = False
    copies: int = 1
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
        """Return the constants of least loss."""
        return np.array([loss.best_constant(target, weight) for target, loss in self._outputs(y)])

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return the least and the largest target: a prediction beyond is cut (Sec. 2)."""
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
        return np.asarray(np.mean(losses, axis=0))


@dataclass(frozen=True)
class TubeRegression(Regression):
    """Epsilon-insensitive regression of one or several targets; see `Tube`."""

    losses: tuple[RegressionLoss, ...] = (Tube(),)
    epsilon: float = 0.1
    copies: int = 2

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return the problems with the targets of each pair moved by epsilon."""
        moved = np.where(np.arange(len(y)) % 2 == 0, -self.epsilon, self.epsilon)
        return [replace(problem, y=problem.y + moved / problem.scale) for problem in super().problems(y, weight)]

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the mean loss of the targets."""
        away = np.abs(y.reshape(scores.shape) - scores)
        return np.asarray(np.maximum(0.0, away - self.epsilon).mean(axis=1))


@dataclass(frozen=True)
class Levels(Regression):
    """Quantiles or expectiles of one target, ascending: predictions are put in order, so that they never cross."""

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the values in ascending order, the rearrangement of Chernozhukov, Fernandez-Val, Galichon (2010)."""
        return np.sort(values, axis=1)

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives in the order of the values."""
        return np.take_along_axis(gradients, values.argsort(axis=1, kind="stable")[:, :, None], axis=1)


def _spread(y: FloatArray, weight: FloatArray) -> float:
    """Return the weighted standard deviation of targets in any unit; 1 where it is lost to rounding."""
    mean, unit = y @ weight / weight.sum(), np.ptp(y)
    return float(unit * np.sqrt(np.square((y - mean) / unit) @ weight / weight.sum())) or 1.0


def _class_masses(y: FloatArray, weight: FloatArray, n_classes: int) -> FloatArray:
    return np.asarray(np.bincount(y.astype(np.intp), weights=weight, minlength=n_classes), dtype=np.float64)


def unbounded(n_outputs: int) -> FloatArray:
    """Return bounds that bound nothing."""
    return np.tile([-np.inf, np.inf], (n_outputs, 1))
