"""Probabilities from decision values (the sign and the argmax stay what they are).

Enters: out-of-fold decision values of all training rows, their labels, weights and cells. Leaves: a `Calibration`,
flat arrays from which `probability` (two classes) and `probabilities` (many) follow.

Every pair (cell, predicted class) has a curve: see `curves`. The curve of a cell is shrunk towards that of all cells
with the same prediction, the more so the fewer rows it has. Two classes are the special case of scores (-f, f).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.source import row_blocks
from localsvm.data.types import FloatArray
from localsvm.decision.absent import absent_rates
from localsvm.decision.curves import KNOTS, Evidence, filled_intervals, fit_curves

IntArray = NDArray[np.intp]
Floats = NDArray[np.floating]
Integers = NDArray[np.integer]

# The prior: a decision value of 1 is right four times out of five.
_FIRST_GUESS = 2.0 * np.diff(np.log1p(KNOTS))
_FIRST_STRENGTH = 1.0
_CELL_STRENGTH = 5.0

_BINS_PER_UNIT = 4
"""Bins of |f| to which two-class curves are fitted; knots are edges of bins, so the basis is linear in each."""

_MOST_SCORES = 1_000_000
"""Scores (rows x classes) to which curves of many classes are fitted; of more rows every r-th is taken."""

_BLOCK_ROWS = 1 << 18
"""Samples of two classes that are gathered into bins at a time."""

# Factors exp(-E) of classes other than the predicted one: less than 1 so clearly that no rounding makes them equal.
LEAST_FACTOR, LARGEST_FACTOR = 2.0**-50, 1.0 - 2.0**-50


@dataclass(frozen=True)
class Calibration:
    """Curves of every cell and predicted class, and the rates of absent classes."""

    increments: FloatArray
    """Increments of the curves between the knots, (n_cells, n_classes, n_increments)."""
    present: NDArray[np.bool_]
    """Whether a cell has samples of a class, (n_cells, n_classes)."""
    absent: FloatArray
    """Probability of a class in a cell that has none of its samples, (n_cells, n_classes)."""

    def probability(self, values: FloatArray, cell: Integers) -> FloatArray:
        """Return P(y = +1) of two classes; above 1/2 exactly where the decision value is not negative."""
        values = np.asarray(values, dtype=np.float64)
        positive = values >= 0
        predicted = positive.astype(np.intp)
        factor = _factors(np.abs(values), self.increments[cell, predicted])
        other = 1 - predicted
        right = np.where(self.present[cell, other], 1.0 / (1.0 + factor), 1.0 - self.absent[cell, other])
        return np.where(positive, right, 1.0 - right)

    def probabilities(self, scores: FloatArray, cell: Integers) -> FloatArray:
        """Return the probabilities of all classes; the largest score has the largest, the first of equal ones."""
        distance, predicted = _distances(scores)
        factor = _factors(distance, self.increments[cell, predicted][:, None, :])
        np.put_along_axis(factor, predicted[:, None], 1.0, axis=1)
        scored = ~np.isnan(scores)
        absent = np.where(scored, 0.0, self.absent[cell])
        factor *= scored
        # One factor of a row for all its classes: products keep the order of what they scale.
        factor *= (1.0 - absent.sum(axis=1, keepdims=True)) / factor.sum(axis=1, keepdims=True)
        return factor + absent


def fit_binary(values: Floats, y: Floats, weight: FloatArray, cell: Integers, n_cells: int) -> Calibration:
    """Fit the calibration of two classes, labels -1 and +1.

    Decision values are out of fold, and NaN where a sample was in no validation fold.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.decision.calibration import fit_binary
    >>> f = np.linspace(-2, 2, 400)
    >>> y = np.where(f + np.sin(100 * f) >= 0, 1.0, -1.0)
    >>> cell = np.zeros(400, dtype=np.intp)
    >>> calibration = fit_binary(f, y, np.ones(400), cell, n_cells=1)
    >>> calibration.probability(np.array([-1.5, -0.1, 0.1, 1.5]), np.zeros(4, dtype=np.intp)).round(1)
    array([0. , 0.4, 0.6, 1. ])
    """
    shape = (n_cells, 2)
    blocks = list(row_blocks(0, len(y), _BLOCK_ROWS))
    label = (y > 0).astype(np.int8)
    class_weight = np.zeros(shape)
    for block in blocks:
        class_weight += _class_weight(label[block], weight[block], cell[block], shape)
    mixed = _mixed(class_weight)
    bins, extent = _Bins(n_cells), _Extent(shape)
    for block in blocks:
        scored = block.start + np.flatnonzero(~np.isnan(values[block]) & (weight[block] > 0) & mixed[cell[block]])
        part = values[scored].astype(np.float64), label[scored], weight[scored], cell[scored]
        extent.add(part[0], part[1], part[3])
        bins.add(*part)
    return _calibration(bins.evidence(), class_weight, extent.single)


def fit_multiclass(scores: Floats, label: IntArray, weight: FloatArray, cell: Integers, n_cells: int) -> Calibration:
    """Fit the calibration of several classes.

    Scores are out of fold: NaN for classes that a cell has no samples of, and for samples in no validation fold. Of
    many samples every r-th is used, so they have to be grouped by cell.
    """
    shape = (n_cells, scores.shape[1])
    class_weight = _class_weight(label, weight, cell, shape)
    own_score = scores[np.arange(len(label)), label].astype(np.float64)
    scored = np.flatnonzero(~np.isnan(own_score) & (weight > 0) & _mixed(class_weight)[cell])
    extent = _Extent(shape)
    extent.add(own_score[scored], label[scored], cell[scored])
    some = scored[:: max(1, -(-scored.size * shape[1] // _MOST_SCORES))]
    evidence = _rows(scores[some].astype(np.float64), label[some], weight[some], cell[some])
    return _calibration(evidence, class_weight, extent.single)


def _calibration(evidence: Evidence, class_weight: FloatArray, single: NDArray[np.bool_]) -> Calibration:
    """Fit one curve for every predicted class, then one for every cell and predicted class."""
    n_cells, n_classes = class_weight.shape
    first = np.tile(_FIRST_GUESS, (n_classes, 1))
    predicted = Evidence(evidence.basis, evidence.weight, evidence.possible, evidence.group % n_classes)
    of_all = fit_curves(predicted, first, _FIRST_STRENGTH)
    of_cells = fit_curves(evidence, np.tile(of_all, (n_cells, 1)), _CELL_STRENGTH)
    return Calibration(
        increments=of_cells.reshape(n_cells, n_classes, -1),
        present=class_weight > 0,
        absent=absent_rates(class_weight, single),
    )


class _Bins:
    """The samples of a cell with the same prediction, outcome and about the same |f|, gathered into one row each."""

    def __init__(self, n_cells: int) -> None:
        self._n_bins = int(KNOTS[-1]) * _BINS_PER_UNIT + 1
        self._total = np.zeros(4 * n_cells * self._n_bins)
        self._distance = np.zeros_like(self._total)

    def add(self, values: FloatArray, label: NDArray[np.int8], weight: FloatArray, cell: Integers) -> None:
        distance = np.abs(values)
        predicted = (values >= 0).astype(np.intp)
        in_bin = np.minimum(distance * _BINS_PER_UNIT, self._n_bins - 1).astype(np.intp)
        key = ((2 * cell + predicted) * self._n_bins + in_bin) * 2 + (label != predicted)
        self._total += np.bincount(key, weight, len(self._total))
        self._distance += np.bincount(key, weight * np.minimum(distance, KNOTS[-1]), len(self._total))

    def evidence(self) -> Evidence:
        key = np.flatnonzero(self._total)
        total = self._total[key]
        mean = self._distance[key] / total
        basis = filled_intervals(np.stack([np.zeros_like(mean), mean], axis=1))
        counts = np.where(key[:, None] % 2 == [0, 1], total[:, None], 0.0)
        return Evidence(basis, counts, np.ones(counts.shape, dtype=bool), key // (2 * self._n_bins))


def _rows(scores: FloatArray, label: IntArray, weight: FloatArray, cell: Integers) -> Evidence:
    """Return every row as evidence of its own."""
    distance, predicted = _distances(scores)
    counts = np.zeros(scores.shape)
    counts[np.arange(len(label)), label] = weight
    return Evidence(filled_intervals(distance), counts, ~np.isnan(scores), cell * scores.shape[1] + predicted)


def _distances(scores: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return half the distance of every score from the largest, so that (-f, f) has |f|, and the predicted class."""
    known = np.where(np.isnan(scores), -np.inf, scores)
    predicted = known.argmax(axis=1)
    largest = np.take_along_axis(known, predicted[:, None], axis=1)
    return np.where(np.isnan(scores), 0.0, largest / 2 - scores / 2), predicted


def _factors(distance: FloatArray, increments: FloatArray) -> FloatArray:
    """Return exp(-E(distance)), less than one."""
    energy = np.zeros_like(distance)
    for k, filled in enumerate(filled_intervals(distance)):
        energy += increments[..., k] * filled
    return np.clip(np.exp(-energy), LEAST_FACTOR, LARGEST_FACTOR)


def _class_weight(label: Integers, weight: FloatArray, cell: Integers, shape: tuple[int, int]) -> FloatArray:
    """Return the weight of every class in every cell."""
    weights = np.bincount(cell * shape[1] + label, weight, shape[0] * shape[1])
    return np.asarray(weights, dtype=np.float64).reshape(shape)


def _mixed(class_weight: FloatArray) -> NDArray[np.bool_]:
    """Return which cells have samples of several classes; the values of others are a constant, not out-of-fold."""
    return np.asarray((class_weight > 0).sum(axis=1) > 1)


class _Extent:
    """The least and the largest value of every class in every cell."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        self._lowest, self._highest = np.full(shape[0] * shape[1], np.inf), np.full(shape[0] * shape[1], -np.inf)

    def add(self, value: FloatArray, label: Integers, cell: Integers) -> None:
        slot = cell * self._shape[1] + label
        np.fmin.at(self._lowest, slot, value)
        np.fmax.at(self._highest, slot, value)

    @property
    def single(self) -> NDArray[np.bool_]:
        """Which classes have a single sample in a cell; rows of equal value count as one that is repeated."""
        return np.asarray(self._lowest == self._highest).reshape(self._shape)
