"""Confidence intervals of 95 %: of shares, of means, and of what is made of them.

Enters: sums over rows. Leaves: an `Estimate`. Rows are taken as independent; weighted rows count as many as equally
weighted ones of the same variance, (sum w)^2 / sum w^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: an interval reaches as many standard errors."""

_LARGEST_LOG = 50.0  # an outlier of hardly any weight says nothing, but in finite numbers


@dataclass(frozen=True)
class Estimate:
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float

    def through(self, function: Callable[[float], float]) -> Estimate:
        """Return the estimate of an increasing function of the value.

        Examples
        --------
        >>> import math
        >>> from localsvm.evaluation.intervals import Estimate
        >>> Estimate(4.0, 1.0, 9.0).through(math.sqrt)
        Estimate(value=2.0, low=1.0, high=3.0)
        """
        return Estimate(function(self.value), function(self.low), function(self.high))


def share(part: float, whole: float, squares: float) -> Estimate:
    """Return the share of a part of the rows, with Wilson's interval.

    Parameters
    ----------
    part, whole : float
        Weight of the part, and of all rows.
    squares : float
        Sum of the squared weights of all rows.

    Returns
    -------
    Estimate
        The interval is never empty and stays within 0 and 1.

    Examples
    --------
    >>> from localsvm.evaluation.intervals import share
    >>> found = share(2.0, 10.0, 10.0)
    >>> round(found.low, 3), found.value, round(found.high, 3)
    (0.057, 0.2, 0.51)
    """
    p, n = part / whole, whole * whole / squares
    shrink = 1.0 / (1.0 + Z * Z / n)
    middle = shrink * (p + Z * Z / (2 * n))
    half = shrink * Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return Estimate(p, min(p, max(0.0, middle - half)), max(p, min(1.0, middle + half)))


def combined(value: float, parts: Sequence[Estimate], slopes: Sequence[float]) -> Estimate:
    """Return a function of independent shares, itself a share, with the square-and-add interval (Zou and Donner, 2008).

    The distances of the ends of the parts are added as standard errors would be, each times the slope of the function,
    so that the interval keeps the asymmetry of its parts.

    Examples
    --------
    >>> from localsvm.evaluation.intervals import Estimate, combined
    >>> half = Estimate(0.5, 0.4, 0.8)
    >>> combined(0.5, [half], [1.0]) == half
    True
    """
    below = math.hypot(*(slope * (part.value - part.low) for part, slope in zip(parts, slopes, strict=True)))
    above = math.hypot(*(slope * (part.high - part.value) for part, slope in zip(parts, slopes, strict=True)))
    return Estimate(value, max(0.0, value - below), min(1.0, value + above))


class Means:
    """Streamed means of some quantities, and their covariance: sums of products with a column of ones before them."""

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
        """Weight of all rows."""
        return float(self._products[0, 0])

    @property
    def values(self) -> FloatArray:
        """The means."""
        return np.asarray(self._products[0, 1:] / self.total)

    def estimate(self, value: float, slopes: FloatArray) -> Estimate:
        """Return a function of the means, by its value and slopes there, with its normal interval."""
        covariance = self._products[1:, 1:] / self.total - np.outer(self.values, self.values)
        variance = max(float(slopes @ covariance @ slopes), 0.0) * self._squares / self.total**2
        half = Z * math.sqrt(variance)
        return Estimate(value, value - half, value + half)

    def mean(self, number: int) -> Estimate:
        """Return one of the means, of a quantity that is never negative."""
        return self.positive(float(self.values[number]), np.eye(len(self.values))[number])

    def positive(self, value: float, slopes: FloatArray) -> Estimate:
        """Return a function of the means that is never negative; the interval is normal in its logarithm.

        Losses have long tails: an interval that reaches as far up as down would miss large means too often.
        """
        if value == 0:
            return Estimate(0.0, 0.0, 0.0)
        half = min((self.estimate(value, slopes).high - value) / value, _LARGEST_LOG)
        return Estimate(value, value * math.exp(-half), value * math.exp(half))
