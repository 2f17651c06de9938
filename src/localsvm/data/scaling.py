"""Scaling of features: fitted once on the training rows, applied to every block of rows.

Enters: float rows. Leaves: float32 rows on comparable scales, as the width of a Gaussian kernel needs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localsvm import _native
from localsvm.data.source import RowSource, column_ends
from localsvm.errors import InvalidData, InvalidParameter

METHODS = ("minmax", "standard", "quantile")
"""Ways to scale, the simplest first."""

_MAX_KNOTS = 1000


@dataclass(frozen=True)
class AffineScaling:
    """Maps x to (x - shift) * factor, column by column; a constant column becomes 0."""

    shift: NDArray[np.float64]
    factor: NDArray[np.float64]
    method: str = ""
    """How it was found: "minmax", "standard", or "none"; empty where that was not kept."""

    def apply(self, X: NDArray[np.floating]) -> NDArray[np.float32]:
        """Scale rows."""
        return _native.scale_affine(np.ascontiguousarray(X), self.shift, self.factor)

    def slopes(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the derivatives of the scaled columns by the given ones, at rows."""
        return np.broadcast_to(self.factor, X.shape)

    def undo(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return what scaled rows were before; a constant column is what it was."""
        scaled = np.asarray(X, dtype=np.float64)
        moved = self.factor != 0
        return self.shift + np.divide(scaled, self.factor, out=np.zeros_like(scaled), where=moved)

    def widened(self, count: int) -> AffineScaling:
        """Return a scaling of `count` columns more, which stay as they are."""
        return AffineScaling(
            np.append(self.shift, np.zeros(count)), np.append(self.factor, np.ones(count)), self.method
        )

    def weighted(self, weights: NDArray[np.float64]) -> AffineScaling:
        """Return a scaling whose columns are multiplied with weights."""
        return AffineScaling(self.shift, self.factor * weights, self.method)


@dataclass(frozen=True)
class QuantileScaling:
    """Maps every column to its weighted ranks in [0, 1], linear between at most 1000 knots."""

    knots: tuple[NDArray[np.float64], ...]
    ranks: tuple[NDArray[np.float64], ...]
    method: ClassVar[str] = "quantile"

    def apply(self, X: NDArray[np.floating]) -> NDArray[np.float32]:
        """Scale rows."""
        return self.ranks_of(X).astype(np.float32)

    def ranks_of(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the ranks of rows."""
        return _native.scale_to_ranks(np.ascontiguousarray(X), *self._joined)

    @cached_property
    def _joined(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Knots and ranks of all columns, and where each column ends."""
        ends = np.cumsum([len(knots) for knots in self.knots], dtype=np.int64)
        none = np.empty(0)
        return np.concatenate([*self.knots, none]), np.concatenate([*self.ranks, none]), ends

    def slopes(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the derivatives of the scaled columns by the given ones, at rows.

        At a knot it is the mean of both sides, at an end that of the inside; beyond the ends it is 0.
        """
        out = np.empty(X.shape)
        for j, (knots, ranks) in enumerate(zip(self.knots, self.ranks, strict=True)):
            column = X[:, j]
            # slopes[i] is that between knots i - 1 and i; of halves, whose difference cannot overflow.
            slopes = np.pad(np.diff(ranks) * (_inverse(np.diff(knots / 2)) / 2), 1)
            before = slopes[np.maximum(np.searchsorted(knots, column, "left"), 1)]
            behind = slopes[np.minimum(np.searchsorted(knots, column, "right"), len(knots) - 1)]
            inside = (column >= knots[0]) & (column <= knots[-1])
            out[:, j] = np.where(inside, before / 2 + behind / 2, 0.0)
        return out

    def undo(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return what scaled rows were before, within the ends of the columns."""
        columns = zip(X.T, self.knots, self.ranks, strict=True)
        return np.column_stack([np.interp(column, ranks, knots) for column, knots, ranks in columns])

    def widened(self, count: int) -> QuantileScaling:
        """Return a scaling of `count` columns more, which stay as they are within [-65536, 65536]."""
        ends = (np.array([-65536.0, 0.0, 65536.0]),) * count
        return QuantileScaling(self.knots + ends, self.ranks + ends)

    def weighted(self, weights: NDArray[np.float64]) -> QuantileScaling:
        """Return a scaling whose columns are multiplied with weights."""
        return QuantileScaling(self.knots, tuple(r * weight for r, weight in zip(self.ranks, weights, strict=True)))


Scaling = AffineScaling | QuantileScaling


def fit_scaling(
    method: str | None, X: NDArray[np.floating], weight: NDArray[np.float64], n_scaled: int | None = None
) -> Scaling:
    """Fit one of `METHODS`, or the identity for None, to rows of positive weight.

    Columns from `n_scaled` on are on their scale already: they stay as they are.
    """
    if method in ("minmax", None):
        return fit_to_ends(method, X, n_scaled)
    scaled = X[:, :n_scaled]
    if method == "standard":
        return _standard(scaled, weight).widened(X.shape[1] - scaled.shape[1])
    if method == "quantile":
        return _quantile(scaled, weight).widened(X.shape[1] - scaled.shape[1])
    raise InvalidParameter(
        f"scaling={method!r} is unknown; use one of {', '.join(map(repr, METHODS))}, 'auto' or None."
    )


def fit_to_ends(method: str | None, X: RowSource, n_scaled: int | None = None) -> AffineScaling:
    """Fit the min-max scaling, or the identity for None, which take all rows but only the ends of the columns."""
    low, high = (end.astype(np.float64) for end in column_ends(X))
    if method is None:
        return _identity(low, high)
    low, high = low[:n_scaled], high[:n_scaled]
    return AffineScaling(low, _inverse(high / 2 - low / 2) / 2, "minmax").widened(X.shape[1] - len(low))


def no_scaling(n_features: int) -> AffineScaling:
    """Return the scaling that leaves rows in single precision as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.data.scaling import no_scaling
    >>> no_scaling(2).apply(np.array([[0.1, 7.0]], dtype=np.float32)).tolist()
    [[0.10000000149011612, 7.0]]
    """
    return AffineScaling(np.zeros(n_features), np.ones(n_features), "none")


def _inverse(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1 / spread
    return np.where(np.isfinite(inverse), inverse, 0.0)


def _identity(low: NDArray[np.float64], high: NDArray[np.float64]) -> AffineScaling:
    n_features = len(low)
    largest = np.maximum(high, -low)
    worst = int(largest.argmax())
    if 4.0 * n_features * np.square(min(largest[worst], 1e100)) > 1e37:
        raise InvalidData(
            f"column {worst} has values up to {largest[worst]:.3g}: their squared distances overflow single "
            "precision. Pass scaling='minmax'."
        )
    return no_scaling(n_features)


def _standard(X: NDArray[np.floating], weight: NDArray[np.float64]) -> AffineScaling:
    fraction = weight / weight.sum()
    largest = np.abs(X).max(axis=0).astype(np.float64)
    unit = np.where(largest > 0, largest, 1.0)  # squares of values near 1e308 would overflow
    relative = X.astype(np.float64) / unit
    mean = np.clip(fraction @ relative, -1, 1)  # rounding may pass the ends
    spread = np.minimum(np.sqrt(fraction @ np.square(relative - mean)), 1)
    spread[spread < 1e-12] = 0.0
    return AffineScaling(mean * unit, _inverse(spread * unit), "standard")


def _quantile(X: NDArray[np.floating], weight: NDArray[np.float64]) -> QuantileScaling:
    knots, ranks = [], []
    for column in X.T:
        values, inverse = np.unique(column.astype(np.float64), return_inverse=True)
        mass = np.bincount(inverse, weights=weight)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        if len(values) > _MAX_KNOTS:
            kept = np.unique(np.linspace(0, len(values) - 1, _MAX_KNOTS).astype(np.int64))
            values, middle = values[kept], middle[kept]
        knots.append(values)
        ranks.append(middle)
    return QuantileScaling(tuple(knots), tuple(ranks))
