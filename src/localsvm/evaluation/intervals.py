"""95 % confidence intervals of proportions, means, and functions of them.

Enters: sums over rows. Leaves: an `Estimate`. Rows are assumed to be independent; the effective number of weighted
rows is (sum w)^2 / sum w^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from localsvm.data.types import FloatArray

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

_LARGEST_LOG = 50.0  # bounds the exponent, so that ends of intervals stay finite


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its confidence interval."""

    value: float
    low: float
    high: float

    def through(self, function: Callable[[float], float]) -> Estimate:
        """Return the estimate of an increasing function of the value.

        >>> Estimate(4.0, 1.0, 9.0).through(math.sqrt)
        Estimate(value=2.0, low=1.0, high=3.0)
        """
        return Estimate(function(self.value), function(self.low), function(self.high))


def proportion(part: float, whole: float, squares: float) -> Estimate:
    """Return the proportion part/whole of the rows with Wilson's interval; squares is the sum of all w^2.

    >>> found = proportion(2.0, 10.0, 10.0)
    >>> round(found.low, 3), found.value, round(found.high, 3)
    (0.057, 0.2, 0.51)
    """
    p, n = part / whole, whole * whole / squares
    shrink = 1.0 / (1.0 + Z * Z / n)
    middle = shrink * (p + Z * Z / (2 * n))
    half = shrink * Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return Estimate(p, min(p, max(0.0, middle - half)), max(p, min(1.0, middle + half)))


def combined(value: float, parts: Sequence[Estimate], slopes: Sequence[float]) -> Estimate:
    """Return a function of independent proportions, itself in [0, 1], with its MOVER interval (Zou and Donner, 2008).

    Distances from the values to the ends are combined like standard errors, times the slopes of the function, so that
    the interval keeps the asymmetry of its parts.

    >>> half = Estimate(0.5, 0.4, 0.8)
    >>> combined(0.5, [half], [1.0]) == half
    True
    """
    below = math.hypot(*(slope * (part.value - part.low) for part, slope in zip(parts, slopes, strict=True)))
    above = math.hypot(*(slope * (part.high - part.value) for part, slope in zip(parts, slopes, strict=True)))
    return Estimate(value, max(0.0, value - below), min(1.0, value + above))


class Means:
    """Streamed means and covariance of several quantities: sums of products, with a leading column of ones."""

    def __init__(self, count: int) -> None:
        self._products = np.zeros((count + 1, count + 1))
        self._squares = 0.0

    def add(self, columns: FloatArray, weight: FloatArray) -> None:
        """Add rows of the quantities, (n_rows, count)."""
        rows = np.column_stack([np.ones(len(columns)), columns])
        self._products += (rows * weight[:, None]).T @ rows
        self._squares += float(weight @ weight)

    @property
    def total(self) -> float:
        """Total weight of the rows."""
        return float(self._products[0, 0])

    @property
    def values(self) -> FloatArray:
        """The means."""
        return np.asarray(self._products[0, 1:] / self.total)

    def estimate(self, value: float, slopes: FloatArray) -> Estimate:
        """Return a function of the means, given its value and gradient, with its normal interval (delta method)."""
        covariance = self._products[1:, 1:] / self.total - np.outer(self.values, self.values)
        variance = max(float(slopes @ covariance @ slopes), 0.0) * self._squares / self.total**2
        half = Z * math.sqrt(variance)
        return Estimate(value, value - half, value + half)

    def mean(self, number: int) -> Estimate:
        """Return the mean of a non-negative quantity."""
        return self.positive(float(self.values[number]), np.eye(len(self.values))[number])

    def positive(self, value: float, slopes: FloatArray) -> Estimate:
        """Return a non-negative function of the means; its interval is normal on the log scale.

        Losses have long right tails, for which a symmetric interval has too little coverage.
        """
        if value == 0:
            return Estimate(0.0, 0.0, 0.0)
        half = min((self.estimate(value, slopes).high - value) / value, _LARGEST_LOG)
        return Estimate(value, value * math.exp(-half), value * math.exp(half))
