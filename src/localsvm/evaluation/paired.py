"""Comparison of losses on held-out rows: means with intervals, and paired differences.

Enters: losses of rows, in all cells or in a sample of them. Leaves: estimates. If only some cells were trained, the
variance between cells is part of the standard error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import FloatArray
from localsvm.evaluation.intervals import Estimate, Means, Z, proportion


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of held-out rows."""

    number: NDArray[np.intp]
    """Index of the row; unique."""
    loss: FloatArray
    weight: FloatArray
    cell: NDArray[np.intp]
    """Cell of the row in the first trial."""
    untried: float
    """Fraction of the cells that were not trained."""

    def mean(self, *, is_proportion: bool) -> Estimate:
        """Return the mean with its 95 % interval.

        >>> wrong = Losses(np.arange(10), np.repeat([0.0, 1.0], [8, 2]), np.ones(10), np.zeros(10, np.intp), 0.0)
        >>> found = wrong.mean(is_proportion=True)
        >>> round(found.low, 3), found.value, round(found.high, 3)
        (0.057, 0.2, 0.51)
        """
        if is_proportion:
            found = proportion(
                float(self.loss @ self.weight), float(self.weight.sum()), float(self.weight @ self.weight)
            )
        else:
            found = _means(self.loss, self.weight).mean(0)
        if self.untried == 0:
            return found
        reach = Z * self._error()
        low, high = max(0.0, found.value - reach), found.value + reach
        return Estimate(found.value, min(found.low, low), max(found.high, min(1.0, high) if is_proportion else high))

    def excess(self, other: Losses) -> tuple[float, float]:
        """Return the difference of the means and its standard error.

        If most rows are common to both, differences are paired, which removes the variance that both share.
        """
        _, here, there = np.intersect1d(self.number, other.number, assume_unique=True, return_indices=True)
        if 2 * len(here) < min(len(self.number), len(other.number)):
            means = [float(np.average(losses.loss, weights=losses.weight)) for losses in (self, other)]
            return means[0] - means[1], math.hypot(self._error(), other._error())
        fewer, rows = (self, here) if self.untried >= other.untried else (other, there)
        difference = self.loss[here] - other.loss[there]
        pairs = Losses(here, difference, self.weight[here], fewer.cell[rows], fewer.untried)
        return float(np.average(difference, weights=pairs.weight)), pairs._error()

    def _error(self) -> float:
        """Return the standard error of the mean: over rows, or over cells if some are untrained and it is larger."""
        by_cell = np.bincount(self.cell, weights=self.weight).astype(np.float64)
        some = by_cell > 0
        means = np.bincount(self.cell, weights=self.weight * self.loss)[some] / by_cell[some]
        over_cells = math.sqrt(self.untried) * _standard_error(means, by_cell[some])
        return max(_standard_error(self.loss, self.weight), over_cells)


def _means(values: FloatArray, weight: FloatArray) -> Means:
    means = Means(1)
    means.add(values[:, None], weight)
    return means


def _standard_error(values: FloatArray, weight: FloatArray) -> float:
    return _means(values, weight).estimate(0.0, np.ones(1)).high / Z
