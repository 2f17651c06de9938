"""The grid of widths and lams of a cell: endpoints that scale with fold size, radius and dimension (App.).

Enters: size of a training fold, number of features, and the radius of the cell or the median distance of its samples,
both computed here. Leaves: descending widths and lams.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from localsvm import _native
from localsvm.data.content import Samples
from localsvm.data.rows import mean_ball
from localsvm.data.types import Float32Array, FloatArray
from localsvm.errors import InvalidParameter

_RULES = ("default", "liquidsvm", "paper")

# Ends of the default rule, by the smallest number of steps that they apply to; docs/decisions.md has the figures.
# Added steps mostly make the grid finer, not wider: beyond these ends points cost much time and gain little accuracy.
_DEFAULT_WIDTH = {0: (0.05, 16.0), 15: (0.035, 24.0), 20: (0.025, 32.0)}
_DEFAULT_LAM = {0: (3e-3, 0.01), 15: (1e-3, 0.01), 20: (3e-4, 0.01)}

# Smallest and largest multiple, by number of steps, as liquidSVM widens its grids with their size.
_SMALLEST_WIDTH = {10: 0.2, 15: 0.1, 20: 0.05}
_LARGEST_WIDTH = {10: 5.0, 15: 10.0, 20: 20.0}
_SMALLEST_LAM = {10: 1e-3, 15: 1e-4, 20: 1e-5}


Factors = tuple[float, float]
"""Factors on the smallest and on the largest candidate."""

KERNEL_WIDTH = {"gauss": 1.0, "laplace": 4.0, "manhattan": 2.0}
"""A factor on the default widths: exp(-distance/width) needs larger ones than the Gaussian."""

KERNELS = tuple(KERNEL_WIDTH)
"""All kernels, the simplest first."""


@dataclass(frozen=True)
class Grid:
    """Geometrically spaced candidates for the width and for lam.

    Parameters
    ----------
    n_widths, n_lams : int, default=10
        Number of candidates.
    width : (float, float), optional
        Smallest and largest width as multiples of the rule's unit. The default depends on the rule.
    lam : (float, float), optional
        Smallest and largest lam; the smallest (with rule "paper": both) is divided by the number of training
        samples of a fold.
    widths, lams : sequence of float, optional
        The candidates themselves; they replace the rule.
    rule : {"default", "liquidsvm", "paper"}, default="default"
        With r the radius of the cell, d the number of features, n the training samples of a fold:

        - "default": widths from ``width[0] * u`` to ``width[1] * u``, u the median distance of two samples of the
          cell; lams from ``lam[0] / n`` to ``lam[1]``;
        - "liquidsvm": widths from ``width[0] * n**(-1/d) * r / sqrt(d)`` to ``width[1] * r / sqrt(d)``; lams as above;
        - "paper": widths from ``width[0] * n**(-1/d) * r`` to ``width[1] * r``; lams from ``lam[0] / n`` to
          ``lam[1] / n``.

    Examples
    --------
    >>> from localsvm import Grid
    >>> Grid(n_widths=3, width=(0.5, 2.0)).candidates(n_train=1600, radius=1.0, unit=2.0, n_features=4)[0]
    array([4., 2., 1.])
    >>> Grid(widths=[1, 2], lams=[0.1]).candidates(n_train=10, radius=1.0, unit=1.0, n_features=4)
    (array([2., 1.]), array([0.1]))
    """

    n_widths: int = 10
    n_lams: int = 10
    width: tuple[float, float] | None = None
    lam: tuple[float, float] | None = None
    widths: tuple[float, ...] | None = None
    lams: tuple[float, ...] | None = None
    rule: str = "default"

    def __post_init__(self) -> None:
        """Refuse invalid parameters."""
        if self.rule not in _RULES:
            raise InvalidParameter(f"Grid(rule={self.rule!r}) is unknown; use one of {', '.join(map(repr, _RULES))}.")
        for name in ("n_widths", "n_lams"):
            steps = getattr(self, name)
            if not isinstance(steps, numbers.Integral) or isinstance(steps, bool) or steps < 1:
                raise InvalidParameter(f"Grid({name}={steps!r}): an integer of at least 1 is needed.")
        for name in ("width", "lam"):
            ends = _numbers(getattr(self, name))
            if getattr(self, name) is not None and not (ends is not None and len(ends) == 2 and ends[0] <= ends[1]):
                raise InvalidParameter(
                    f"Grid({name}={getattr(self, name)!r}): give a positive smallest and largest value, like (0.2, 20)."
                )
        for name in ("widths", "lams"):
            if getattr(self, name) is None:
                continue
            values = _numbers(getattr(self, name))
            if not values:
                raise InvalidParameter(f"Grid({name}={getattr(self, name)!r}): all values must be positive numbers.")
            object.__setattr__(self, name, values)

    @classmethod
    def of(cls, grid: int | Grid) -> Grid:
        """Return the grid that an estimator's `grid` parameter names."""
        if isinstance(grid, Grid):
            return grid
        if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool) and grid >= 1:
            return cls(n_widths=int(grid), n_lams=int(grid))
        raise InvalidParameter(f"grid={grid!r}: give the number of steps (10, 15, 20) or a Grid.")

    @classmethod
    def paper(cls, steps: int = 10) -> Self:
        """Return the grid of the paper's appendix."""
        return cls(n_widths=steps, n_lams=steps, rule="paper")

    @classmethod
    def liquidsvm(cls, steps: int = 10) -> Self:
        """Return the grid that liquidSVM's code uses, which differs from the paper's text."""
        return cls(n_widths=steps, n_lams=steps, rule="liquidsvm")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of widths and of lams."""
        return (
            self.n_widths if self.widths is None else len(self.widths),
            self.n_lams if self.lams is None else len(self.lams),
        )

    def with_factors(self, width: Factors = (1.0, 1.0), lam: Factors = (1.0, 1.0)) -> Grid:
        """Return the grid with the ends of its default widths and lams multiplied; those given by the user stay."""
        if self.rule != "default":
            return self
        (narrowest, widest), (smallest, largest) = self._width_ends(), self._lam_ends()
        return replace(
            self,
            width=self.width or (width[0] * narrowest, width[1] * widest),
            lam=self.lam or (lam[0] * smallest, lam[1] * largest),
        )

    @property
    def measures_distances(self) -> bool:
        """Whether `candidates` needs `unit`, the median distance of the cell's samples."""
        return self.widths is None and self.rule == "default"

    def candidates(
        self, *, n_train: float, radius: float, unit: float, n_features: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return descending widths and lams for training folds of total weight `n_train`."""
        n = max(n_train, 1.0)
        low, high = self._width_ends()
        if self.rule == "default":
            low, high = low * unit, high * unit
        else:
            r = radius if radius > 0 else 1.0  # all samples are equal: any width will do
            r /= np.sqrt(n_features) if self.rule == "liquidsvm" else 1.0
            low, high = low * n ** (-1.0 / n_features) * r, high * r
        smallest, largest = self._lam_ends()
        lam_ends = (smallest / n, largest / n if self.rule == "paper" else largest)
        widths = _descending(self.widths, low, high, self.n_widths)
        return widths, _descending(self.lams, *lam_ends, self.n_lams)

    def _width_ends(self) -> tuple[float, float]:
        if self.width is not None:
            return self.width
        if self.rule == "default":
            return _ends(_DEFAULT_WIDTH, self.n_widths)
        return _SMALLEST_WIDTH.get(self.n_widths, 0.2), _LARGEST_WIDTH.get(self.n_widths, 5.0)

    def _lam_ends(self) -> tuple[float, float]:
        if self.lam is not None:
            return self.lam
        if self.rule == "default":
            return _ends(_DEFAULT_LAM, self.n_lams)
        return _SMALLEST_LAM.get(self.n_lams, 1e-3), 0.01


def _ends(by_steps: dict[int, tuple[float, float]], steps: int) -> tuple[float, float]:
    return by_steps[max(fewest for fewest in by_steps if fewest <= steps)]


def _numbers(values: Any) -> tuple[float, ...] | None:
    """Return the values as a tuple, or None unless all are positive finite numbers."""
    try:
        found = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        return None
    return found if all(0 < value < np.inf for value in found) else None


def _descending(values: tuple[float, ...] | None, low: float, high: float, steps: int) -> FloatArray:
    if values is not None:
        return np.sort(np.asarray(values, dtype=np.float64))[::-1]
    high = max(high, low)
    if steps == 1:
        return np.array([np.sqrt(low * high)])
    spaced: FloatArray = high * (low / high) ** (np.arange(steps) / (steps - 1))
    return spaced


def cell_radius(rows: Samples) -> float:
    """Return the largest distance of a sample from the mean of the distinct samples."""
    _, radius = mean_ball(rows.X)
    return radius if radius > 0 else 1.0


def median_distance(X: Float32Array, kernel: str) -> float:
    """Return the median distance of the cell's samples to at most 32 of them, the unit of the default grid."""
    some = range(0, len(X), max(1, len(X) // 32))[:32]
    distances = _native.distances(X, some, kernel)
    median = _median(distances[distances > 0])
    return median if kernel == "manhattan" else float(np.sqrt(median))


def _median(values: Float32Array) -> float:
    """Return the median, or the mean of the two middle values, in double precision; 1 without values."""
    if len(values) == 0:
        return 1.0
    middle = [(len(values) - 1) // 2, len(values) // 2]
    return float(np.partition(values, middle)[middle].mean(dtype=np.float64))
