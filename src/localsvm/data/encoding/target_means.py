"""Target means of levels, regularized by empirical Bayes and cross-fitted.

Given units (distinct rows) with weights w_u, means x_u of their targets, and a level each. The mean of a level is
shrunk to a prior mean,

    value = n (mean - prior) / (n + m),    m = within / between,    n = (sum w)^2 / sum w^2, the number of its units,

where `within` is the variance of the units of a level and `between` that of the means of the levels, both estimated by
moments (the random-effects model of a one-way analysis of variance; Micci-Barreca, *A preprocessing scheme for
high-cardinality categorical attributes*, 2001). The prior is the mean of all targets or, if the category is nested in a
coarser one, the regularized mean of the coarser level. So the value is what the level adds.

A training row has the value of its level in the other folds, a new row that in all of them: six tables, each with
variances and a scale of its own, so that a row's target has no part in its own values. Duplicates share a fold, which
is why they are one unit: a level that occurs with a single other feature value has a mean in no other fold.

scikit-learn's `TargetEncoder` does the same for arrays in memory, with folds by position and without weights, nesting
and missing levels. Here folds depend on content, sums do not depend on the order of rows, rows are encoded a block at
a time, and a model file holds no pickles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.distinct import Units
from localsvm.data.encoding.folds import N_FOLDS
from localsvm.data.types import FloatArray, IndexArray

_LEAST_BETWEEN = 1e-6  # relative to `within`: a weaker effect is none
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FoldedTargets:
    """Units with their folds, and the moments of their targets outside of each fold; at the end those of all."""

    units: Units
    fold: NDArray[np.uint8]
    mean: FloatArray
    """Means (N_FOLDS + 1, n_targets)."""
    squares: FloatArray
    """Weighted sums of squared differences from the mean, (N_FOLDS + 1, n_targets)."""

    @classmethod
    def of(cls, units: Units, fold: NDArray[np.uint8]) -> FoldedTargets:
        """Compute the moments."""
        weight, targets = units.weight, units.targets

        def by_fold(values: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(fold, values, N_FOLDS))

        total = np.array(_outside(by_fold(weight)))
        sums = np.column_stack([_outside(by_fold(weight * target)) for target in targets.T])
        mean = np.divide(sums, total[:, None], out=np.zeros_like(sums), where=total[:, None] > 0)
        squares = np.empty_like(mean)
        for table, center in enumerate(mean):
            spread = [by_fold(weight * np.square(column - c)) for column, c in zip(targets.T, center, strict=True)]
            squares[table] = [_outside(part)[table] for part in spread]
        return cls(units, fold, mean, squares)

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return int(self.units.targets.shape[1])


def _outside(by_fold: NDArray[np.float64]) -> list[FloatArray]:
    """Return sums without each fold, and at the end those of all; what is left out is never added."""
    folds = range(N_FOLDS)
    return [sum((by_fold[g] for g in folds if g != f), np.zeros_like(by_fold[0])) for f in (*folds, None)]


@dataclass(frozen=True)
class Nesting:
    """The coarser category of a nested one."""

    column: int
    slots: IndexArray
    """For each slot of the finer category that of the coarser one."""
    means: FloatArray
    """Its regularized means (N_FOLDS + 1, n_slots, n_targets), by slot of the finer category."""


@dataclass(frozen=True)
class TargetMeans:
    """Tables of a category: for each fold the values outside of it, at the end those of all folds."""

    values: FloatArray
    """What levels add to their prior, (N_FOLDS + 1, n_slots, n_targets)."""
    means: FloatArray
    """Regularized means, as differences from the mean of the targets; the same shape."""
    has_effect: NDArray[np.bool_]
    """By target: whether the means of levels differ by more than their noise, in all folds together."""
    spread: FloatArray
    """Standard deviations of the values of the rows in a table, (N_FOLDS + 1, n_targets)."""


def learn_means(targets: FoldedTargets, slots: IndexArray, n_slots: int, nesting: Nesting | None) -> TargetMeans:
    """Return the regularized means of the levels of a category, whose slots the units have."""
    shape = (N_FOLDS + 1, n_slots, targets.n_targets)
    values, means, spread = np.zeros(shape), np.zeros(shape), np.zeros((N_FOLDS + 1, targets.n_targets))
    has_effect = np.zeros(targets.n_targets, dtype=bool)
    for table, sums in enumerate(_level_sums(targets, slots, n_slots)):
        differences = sums.differences_from(targets.mean[table])
        prior = np.zeros_like(differences) if nesting is None else nesting.means[table]
        within, between = _variances(sums, differences, targets.squares[table], nesting)
        has_effect = between > _LEAST_BETWEEN * within
        m = np.divide(within, between, out=np.full_like(within, np.inf), where=has_effect)
        n = sums.n_units[:, None]
        shrunk = np.divide(n, n + m, out=np.zeros_like(differences), where=n > 0)
        values[table] = shrunk * (differences - prior)
        means[table] = prior + values[table]
        spread[table] = _spread(sums.weight, values[table])
    return TargetMeans(values, means, has_effect, spread)


@dataclass(frozen=True)
class _LevelSums:
    """Sums over the units of each level: weights, their squares, weighted targets."""

    weight: FloatArray
    squared: FloatArray
    targets: FloatArray

    @property
    def n_units(self) -> FloatArray:
        """Effective numbers of units."""
        return _ratio(np.square(self.weight), self.squared)

    def differences_from(self, center: FloatArray) -> FloatArray:
        """Return the means of the levels relative to a center; 0 where there are no units."""
        weight = self.weight[:, None]
        means = np.divide(self.targets, weight, out=np.zeros_like(self.targets), where=weight > 0)
        return means - np.where(weight > 0, center, 0.0)


def _level_sums(targets: FoldedTargets, slots: IndexArray, n_slots: int) -> Iterator[_LevelSums]:
    """Yield the sums outside of each fold, at the end those of all."""
    weight = targets.units.weight
    bins = targets.fold.astype(np.intp) * n_slots + slots

    def by_fold(values: FloatArray) -> FloatArray:
        return np.bincount(bins, values, N_FOLDS * n_slots).astype(np.float64).reshape(N_FOLDS, n_slots)

    sums = np.stack([by_fold(weight * target) for target in targets.units.targets.T], axis=-1)
    parts = (_outside(by_fold(weight)), _outside(by_fold(np.square(weight))), _outside(sums))
    return (_LevelSums(*part) for part in zip(*parts, strict=True))


def _variances(
    sums: _LevelSums, differences: FloatArray, squares: FloatArray, nesting: Nesting | None
) -> tuple[FloatArray, FloatArray]:
    """Return the variances of units in levels, and of the means of levels around those of their coarser levels.

    With unit weights these are the estimates of an analysis of variance: n units, K levels, G coarser levels have
    n - K and K - G degrees of freedom.
    """
    weight = sums.weight
    group = np.zeros(len(weight), dtype=np.intp) if nesting is None else nesting.slots
    mass, squared, weight2 = (_sums(group, values) for values in (weight, sums.squared, np.square(weight)))
    totals = np.stack([_sums(group, weight * column) for column in differences.T], axis=-1)
    centers = np.divide(totals, mass[:, None], out=np.zeros_like(totals), where=mass[:, None] > 0)
    of_levels, of_groups = float(_ratio(sums.squared, weight).sum()), float(_ratio(squared, mass).sum())
    freedom = float(weight.sum()) - of_levels
    effective = float(weight.sum()) - float(_ratio(weight2, mass).sum())
    if min(freedom, effective) <= _ROUNDING * float(weight.sum()):  # one unit per level, or one level per group
        return np.ones_like(squares), np.zeros_like(squares)
    within = np.maximum(squares - _weighted_sum(weight, np.square(differences)), 0.0) / freedom
    spread = _weighted_sum(weight, np.square(differences - centers[group]))
    return within, (spread - (of_levels - of_groups) * within) / effective


def _sums(number: IndexArray, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(number, values), dtype=np.float64)


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a / b, 0 where b is."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a, dtype=np.float64), where=b > 0))


def _weighted_sum(n: FloatArray, values: FloatArray) -> FloatArray:
    return np.asarray((n[:, None] * values).sum(axis=0))


def _spread(n: FloatArray, values: FloatArray) -> FloatArray:
    """Return the standard deviations of the values of rows in levels of these weights."""
    total = float(n.sum())
    if total == 0:
        return np.zeros(values.shape[1])
    return np.asarray(np.sqrt(_weighted_sum(n, np.square(values - _weighted_sum(n, values) / total)) / total))


def class_indicators(classes: IndexArray, n_classes: int, weight: FloatArray, most: int = 10) -> FloatArray:
    """Return a 0/1 target per class for the `most` classes with the largest weight; for two classes a single one.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.data.encoding.target_means import class_indicators
    >>> class_indicators(np.array([0, 1, 1]), 2, np.ones(3)).tolist()
    [[0.0], [1.0], [1.0]]
    """
    if n_classes == 2:
        return np.asarray((classes == 1).astype(np.float64)[:, None])
    order = np.lexsort((weight, classes))
    mass = np.bincount(classes[order], weight[order], n_classes)
    used: Sequence[int] = np.sort(np.argsort(-mass, kind="stable")[:most]).tolist()
    return np.column_stack([(classes == number).astype(np.float64) for number in used])
