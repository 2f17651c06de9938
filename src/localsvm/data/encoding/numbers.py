"""Columns of numbers: transformed, missing values filled, with indicators of missing values and of spikes.

Enters: the columns of numbers (dates are days) and the weights of their rows. Leaves: `NumberColumns`, which turn
blocks of rows into columns of the model. Transforms of a column are

    plain   v
    log     sign(v) log(1 + |v| / s) where the tails are heavy, else v; s is a small quantile of the nonzero |v|
    rank    the rank of v in [0, 1], linear between at most 512 quantiles

All of them are monotone. Quantiles are those of repeated values: a weight of 2 is a value given twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.scale import indicator_factor
from localsvm.data.scaling import QuantileScaling
from localsvm.data.table import Table, each_column
from localsvm.data.types import BoolArray, FloatArray, IndexArray

TRANSFORMS = ("plain", "log", "rank")

_SPIKE_SHARE = 0.2
_SPIKE_RATIO = 2.0  # of its weight to the mean weight of the different numbers of a column
_MOST_KNOTS = 512
_LOG_QUANTILE = 0.1
_HEAVY_TAILS, _HEAVY_RANGE = 6.0, 10.0  # central 98 % and the whole range, in interquartile ranges


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """What is known of columns of numbers; every array has an item per column."""

    column: IndexArray
    """Position in the table."""
    fill: FloatArray
    """Median, which replaces missing values."""
    varies: BoolArray
    """Whether the numbers differ; where they do not, only the indicator of missing values is used."""
    missing: FloatArray
    """Fraction of missing values in training, if it is known."""
    missing_factor: FloatArray
    """Value of the indicator of a missing value; 0 where there is no indicator."""
    spike: FloatArray
    """A frequent value that has an indicator."""
    spike_share: FloatArray
    spike_factor: FloatArray
    """Value of this indicator; 0 where there is none."""
    log_scale: FloatArray
    """s of the log transform; 0 where it is the plain one."""
    knots: tuple[FloatArray, ...]
    """Quantiles of the rank transform; none if it was not learned."""

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.column)

    @cached_property
    def used(self) -> IndexArray:
        """Which of the columns have a number in the model."""
        return np.flatnonzero(self.varies)

    @cached_property
    def with_missing(self) -> IndexArray:
        """Which have an indicator of missing values."""
        return np.flatnonzero(self.missing_factor)

    @cached_property
    def with_spike(self) -> IndexArray:
        """Which have an indicator of a frequent value."""
        return np.flatnonzero(self.spike_factor)

    def transformed(self, X: NDArray[np.floating], transform: str) -> FloatArray:
        """Return the numbers of rows of a table."""
        values = self._filled(X)
        if transform == "log":
            logs = self._logs
            values[:, logs] = _signed_log(values[:, logs], self.log_scale[self.used[logs]])
        elif transform == "rank":
            values = self._to_ranks.ranks_of(values)
        return values

    def given(self, values: FloatArray, transform: str) -> FloatArray:
        """Return transformed numbers as they were given: the inverse of `transformed`, but for missing values."""
        values = values.copy()
        if transform == "log":
            logs, scale = self._logs, self.log_scale[self.used[self._logs]]
            values[:, logs] = np.sign(values[:, logs]) * scale * np.expm1(np.abs(values[:, logs]))
        elif transform == "rank":
            for place, number in enumerate(self.used):
                values[:, place] = np.interp(values[:, place], _ranks(self.knots[number]), self.knots[number])
        return values

    def slopes(self, X: NDArray[np.floating], transform: str) -> FloatArray:
        """Return the derivatives of the transformed numbers by the given ones; 0 where they are missing."""
        values, slopes = self._filled(X), np.ones((len(X), len(self.used)))
        if transform == "log":
            logs = self._logs
            slopes[:, logs] = 1 / (self.log_scale[self.used[logs]] + np.abs(values[:, logs]))
        elif transform == "rank":
            slopes = self._to_ranks.slopes(values)
        slopes[np.isnan(X[:, self.column[self.used]])] = 0.0
        return slopes

    def indicators(self, X: NDArray[np.floating]) -> FloatArray:
        """Return the indicators of missing values, then those of frequent ones."""
        if not len(self.with_missing) and not len(self.with_spike):
            return np.empty((len(X), 0))
        is_missing = np.isnan(X[:, self.column[self.with_missing]])
        spike = self.with_spike
        is_spike = X[:, self.column[spike]] == self.spike[spike].astype(X.dtype)
        factors = [self.missing_factor[self.with_missing], self.spike_factor[spike]]
        return np.concatenate([is_missing * factors[0], is_spike * factors[1]], axis=1)

    def _filled(self, X: NDArray[np.floating]) -> FloatArray:
        values = X[:, self.column[self.used]].astype(np.float64)
        return np.where(np.isnan(values), self.fill[self.used], values)

    @cached_property
    def _to_ranks(self) -> QuantileScaling:
        knots = tuple(self.knots[number] for number in self.used)
        return QuantileScaling(knots, tuple(map(_ranks, knots)))

    @cached_property
    def _logs(self) -> IndexArray:
        return np.flatnonzero(self.log_scale[self.used])


def _signed_log(values: FloatArray, scale: FloatArray) -> FloatArray:
    size = np.abs(values)
    with np.errstate(over="ignore"):
        ratio = size / scale
    # A ratio that overflows is the difference of logarithms.
    logs = np.where(np.isinf(ratio), np.log(np.maximum(size, 1.0)) - np.log(scale), np.log1p(ratio))
    return np.asarray(np.sign(values) * logs)


def _ranks(knots: FloatArray) -> FloatArray:
    return np.linspace(0.0, 1.0, len(knots))


# ------------------------------------------------------------------------------------------------ learning


def learn_numbers(
    table: Table,
    rows: IndexArray,
    weight: FloatArray,
    signatures: Mapping[int, int],
    transforms: Collection[str] = TRANSFORMS,
) -> NumberColumns:
    """Learn from rows in ascending order of weight; the columns of the model are in the order of their signatures."""
    wanted = sorted((j for j in range(table.n_columns) if j not in table.names), key=signatures.__getitem__)
    total = float(np.cumsum(weight)[-1])
    learned = []
    for j, column in zip(wanted, each_column(table.X, wanted), strict=True):
        found = _learn_column(j, column[rows].astype(np.float64), weight, total, transforms, is_date=j in table.dates)
        learned += [found] if found is not None else []
    return _gather(learned)


def numbers_as_given(table: Table, weight: FloatArray) -> NumberColumns:
    """Return all columns, in their order, with medians for values that are missing later."""
    present = np.flatnonzero(weight)
    order = present[np.argsort(weight[present], kind="stable")]
    columns = each_column(table.X, range(table.n_columns))
    medians = [Distribution.of(column[order].astype(np.float64), weight[order]).median for column in columns]
    return plain_numbers(np.arange(table.n_columns), np.array(medians))


def plain_numbers(column: IndexArray, fill: FloatArray, missing_factor: FloatArray | None = None) -> NumberColumns:
    """Return columns that are used as they are, with or without indicators of missing values."""
    none = np.zeros(len(column))
    factor = none if missing_factor is None else missing_factor
    return NumberColumns(column, fill, np.ones(len(column), dtype=bool), none, factor, none, none, none, none, ())


@dataclass(frozen=True)
class _Learned:
    """One column."""

    column: int
    fill: float
    varies: bool
    missing: float
    spike: float
    spike_share: float
    log_scale: float
    knots: FloatArray


def _gather(learned: list[_Learned]) -> NumberColumns:
    def each(name: str) -> FloatArray:
        return np.array([getattr(found, name) for found in learned], dtype=np.float64)

    missing, spike_share = each("missing"), each("spike_share")
    has_knots = any(len(found.knots) for found in learned)
    return NumberColumns(
        column=np.array([found.column for found in learned], dtype=np.intp),
        fill=each("fill"),
        varies=np.array([found.varies for found in learned], dtype=bool),
        missing=missing,
        missing_factor=indicator_factor(missing),
        spike=each("spike"),
        spike_share=spike_share,
        spike_factor=indicator_factor(spike_share),
        log_scale=each("log_scale"),
        knots=tuple(found.knots for found in learned) if has_knots else (),
    )


def _learn_column(
    number: int, column: FloatArray, weight: FloatArray, total: float, transforms: Collection[str], *, is_date: bool
) -> _Learned | None:
    """Return what is known of a column; None if it has no numbers, or a single one and none is missing."""
    known = ~np.isnan(column)
    if not known.any():
        return None
    values = Distribution.of(column[known], weight[known])
    # Summed in ascending order, as the weights are.
    missing = 0.0 if known.all() else float(np.cumsum(weight[~known])[-1]) / total
    varies = values.least < values.largest
    if not varies and missing == 0:
        return None
    spike, share = values.heaviest()
    has_spike = share > max(_SPIKE_SHARE, _SPIKE_RATIO / values.n_distinct) * total
    learns_log = not is_date and "log" in transforms and values.n_distinct > 2 and values.has_heavy_tails()
    return _Learned(
        column=number,
        fill=values.median,
        varies=varies,
        missing=missing,
        spike=spike if has_spike else 0.0,
        spike_share=share / total if has_spike else 0.0,
        log_scale=_log_scale(column[known], weight[known]) if learns_log else 0.0,
        knots=np.unique(values.quantiles(np.linspace(0, 1, _MOST_KNOTS))) if "rank" in transforms else np.zeros(0),
    )


def _log_scale(column: FloatArray, weight: FloatArray) -> float:
    nonzero = column != 0
    return float(Distribution.of(np.abs(column[nonzero]), weight[nonzero]).quantiles(np.array([_LOG_QUANTILE]))[0])


@dataclass(frozen=True)
class Distribution:
    """Sorted numbers with the weight up to each."""

    values: FloatArray
    below: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weight: FloatArray) -> Distribution:
        """Sort numbers whose weights ascend, so that their sums do not depend on the order of the rows."""
        if weight[0] == weight[-1]:
            return cls(np.sort(values) + 0.0, weight[0] * np.arange(1.0, len(values) + 1))
        order = np.argsort(values, kind="stable")
        return cls(values[order] + 0.0, np.cumsum(weight[order]))

    @property
    def least(self) -> float:
        """The least number."""
        return float(self.values[0])

    @property
    def largest(self) -> float:
        """The largest number."""
        return float(self.values[-1])

    @property
    def n_distinct(self) -> int:
        """Number of different numbers."""
        return 1 + int(np.count_nonzero(np.diff(self.values)))

    @property
    def median(self) -> float:
        """The median, between two numbers their mean."""
        half = self.below[-1] / 2
        first, last = (int(np.searchsorted(self.below, half, side)) for side in ("left", "right"))
        low, high = self.values[first], self.values[min(last, len(self.values) - 1)]
        # The sum of two finite numbers may overflow, that of their halves cannot.
        return float(low) if low == high else float(low / 2 + high / 2)

    def quantiles(self, levels: FloatArray) -> FloatArray:
        """Return the least number for each level that has at least this fraction of the weight up to it."""
        places = np.searchsorted(self.below, levels * self.below[-1], "left")
        return np.asarray(self.values[np.minimum(places, len(self.values) - 1)])

    def heaviest(self) -> tuple[float, float]:
        """Return the number with the largest weight, of several the least, and its weight."""
        ends = np.append(np.flatnonzero(np.diff(self.values)), len(self.values) - 1)
        mass = np.diff(self.below[ends], prepend=0.0)
        best = int(mass.argmax())
        return float(self.values[ends[best]]), float(mass[best])

    def has_heavy_tails(self) -> bool:
        """Return whether the numbers spread much farther than their central half."""
        low, first, third, high = self.quantiles(np.array([0.01, 0.25, 0.75, 0.99])) / 2  # halves cannot overflow
        middle = third - first
        return bool(high - low > _HEAVY_TAILS * middle or self.largest / 2 - self.least / 2 > _HEAVY_RANGE * middle)
