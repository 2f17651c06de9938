"""Classification: two classes, each pair of classes, or each class against the rest.

Enters: the classes of a cell's samples. Leaves: problems, and the scores of which the largest decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from localsvm.data.types import FloatArray, IndexArray
from localsvm.tasks.losses import Hinge, Loss
from localsvm.tasks.problem import Problem, unbounded

# One against the rest: where all classes are rare their values are close to -1, and small differences decide. The lower
# bound of classes in the cell keeps these differences; a class absent from the cell scores less than all others.
_LEAST_PRESENT = -2.0
_ABSENT = -3.0


def _sign(positive: float, negative: float) -> float:
    """Return the side of larger weight; a tie is positive, as f = 0 is."""
    return 1.0 if positive >= negative else -1.0


class _Classes:
    """Classes 0, 1, ...; the largest score decides, the first of equal ones."""

    n_classes: int
    is_classification = True
    one_width = True
    repeats = 1

    @property
    def n_scores(self) -> int:
        """One score per class."""
        return self.n_classes

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return 1 where another class has the largest score."""
        return np.where(scores.argmax(axis=1) != y, 1.0, 0.0)


@dataclass(frozen=True)
class Binary:
    """Two classes, y = -1 and +1; one function for each weight of the positive class."""

    loss: Loss = field(default_factory=Hinge)
    factors: tuple[float, ...] = (1.0,)
    """Factors on the weights of positive samples, one function each."""
    machine: int | None = None
    """Index of the function that decides; None until it is chosen: then all have scores."""
    threshold: float = 0.0
    """Values of at least the threshold predict the positive class."""
    is_classification: bool = True
    one_width: bool = False
    repeats: int = 1
    has_parts: bool = False

    @property
    def n_outputs(self) -> int:
        """One function per factor."""
        return len(self.factors)

    @property
    def n_scores(self) -> int:
        """One score per function, or that of the function that decides."""
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
        """Return the side of larger weight, by factor."""
        positive, negative = float(weight[y > 0].sum()), float(weight[y < 0].sum())
        return np.array([_sign(factor * positive, negative) for factor in self.factors])

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return infinite bounds: only the sign of a decision value counts."""
        return unbounded(self.n_outputs)

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the decision values; the positive class has values >= 0."""
        if self.machine is None:
            return values
        return values[:, self.machine : self.machine + 1] - self.threshold

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives of the functions that have scores."""
        return gradients if self.machine is None else gradients[:, self.machine : self.machine + 1]

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the fraction of functions whose sign is wrong."""
        fraction: FloatArray = (np.where(scores >= 0, 1.0, -1.0) != y[:, None]).mean(axis=1)
        return fraction


@dataclass(frozen=True)
class OneVsOne(_Classes):
    """Each pair of classes is a problem on their samples.

    The score of a class is its value against its strongest rival, plus a small part of its mean over all pairs. The
    mean alone is worse: the functions of two classes are arbitrary at a sample of a third, and the more classes there
    are, the more of these enter it.
    """

    n_classes: int
    loss: Loss = field(default_factory=Hinge)
    mean_share: float = 0.1
    """Share of the mean in a score: enough to break ties; docs/decisions.md has the figures."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs (a, b), a < b, in the order of the outputs; positive values predict a."""
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
        """Return a problem for every pair of classes in the cell."""
        members = [np.flatnonzero(y == c) for c in range(self.n_classes)]
        found = []
        for output, (a, b) in enumerate(self.pairs):
            if len(members[a]) and len(members[b]):
                rows = np.sort(np.concatenate([members[a], members[b]]))
                signs = np.where(y[rows] == a, 1.0, -1.0)
                found.append(Problem(output, self.loss, signs, weight[rows], rows if len(rows) < len(y) else None))
        return found

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the class of larger weight of each pair; 0 where the cell has neither."""
        mass = _class_masses(y, weight, self.n_classes)
        return np.array([_sign(mass[a], mass[b]) if mass[a] or mass[b] else 0.0 for a, b in self.pairs])

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return -1 and 1, the clipping bounds of the hinge loss."""
        return np.tile([-1.0, 1.0], (self.n_outputs, 1))

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the value of each class against its strongest rival, mixed with its mean over all pairs."""
        least = np.full((self.n_classes, len(values)), np.inf)
        for (a, b), value in zip(self.pairs, np.ascontiguousarray(values.T), strict=True):
            np.minimum(least[a], value, out=least[a])
            np.minimum(least[b], -value, out=least[b])
        return self._mixed(least.T, self._class_means(values))

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives of the values that make the scores."""
        own = self.side_of_class * values[:, self.pair_of_class]  # against each other class
        rival = own.argmin(axis=2)
        of_class = np.arange(self.n_classes)
        pair, side = self.pair_of_class[of_class, rival], self.side_of_class[of_class, rival]
        least = side[:, :, None] * np.take_along_axis(gradients, pair[:, :, None], axis=1)
        return self._mixed(least, self._class_means(gradients))

    def _mixed(self, least: FloatArray, mean: FloatArray) -> FloatArray:
        return (1 - self.mean_share) * least + self.mean_share * mean

    @cached_property
    def pair_of_class(self) -> IndexArray:
        """The pairs of each class, (n_classes, n_classes - 1)."""
        own = [[number for number, pair in enumerate(self.pairs) if c in pair] for c in range(self.n_classes)]
        return np.array(own, dtype=np.intp)

    @cached_property
    def side_of_class(self) -> FloatArray:
        """1 where the class is the first of the pair, else -1."""
        first = np.array([a for a, _ in self.pairs])
        return np.where(first[self.pair_of_class] == np.arange(self.n_classes)[:, None], 1.0, -1.0)

    def _class_means(self, of_pairs: FloatArray) -> FloatArray:
        """Return the mean over its pairs for each class; pairs and classes are the second axis."""
        by_pair = np.ascontiguousarray(np.moveaxis(of_pairs, 1, 0))
        total = np.zeros((self.n_classes, *by_pair.shape[1:]))
        for (a, b), value in zip(self.pairs, by_pair, strict=True):
            total[a] += value
            total[b] -= value
        return np.moveaxis(total, 0, 1) / (self.n_classes - 1)


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
        """Return a problem for every class in the cell, if there are several."""
        present = np.unique(y)
        if len(present) < 2:
            return []
        return [Problem(int(c), self.loss, np.where(y == c, 1.0, -1.0), weight) for c in present]

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return 1 for the class of largest weight, -1 for the others, and less for classes absent from the cell."""
        mass = _class_masses(y, weight, self.n_classes)
        return np.where(np.arange(self.n_classes) == mass.argmax(), 1.0, np.where(mass > 0, -1.0, _ABSENT))

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return lower bounds only: they keep classes in the cell above absent ones."""
        has = np.isin(np.arange(self.n_classes), y)
        return np.column_stack([np.where(has, _LEAST_PRESENT, _ABSENT), np.full(self.n_classes, np.inf)])

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the values."""
        return values

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives of the values."""
        return gradients


def _class_masses(y: FloatArray, weight: FloatArray, n_classes: int) -> FloatArray:
    # Integers where y is empty, whatever the weights.
    return np.bincount(y.astype(np.intp), weights=weight, minlength=n_classes).astype(np.float64)
