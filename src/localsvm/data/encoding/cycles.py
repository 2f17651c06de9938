"""Cyclic parts of dates: hour of the day, day of the week, day of the year, each as sine and cosine.

Enters: columns of days since 1970, with the time as a fraction. Leaves: `Cycles`, which turn them into columns of the
model. The trend of a date is its number of days, a column of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.scale import rounded
from localsvm.data.table import Table, each_column
from localsvm.data.types import FloatArray, IndexArray


def _hour(days: FloatArray) -> FloatArray:
    return days - np.floor(days)


def _weekday(days: FloatArray) -> FloatArray:
    return np.asarray((np.floor(days) + 3) % 7 / 7)  # 1970 began on a Thursday


def _day_of_year(days: FloatArray) -> FloatArray:
    whole = np.floor(days).astype(np.int64).astype("datetime64[D]")
    return np.asarray((whole - whole.astype("datetime64[Y]")).astype(np.float64) / 366)


PARTS: dict[str, tuple[Callable[[FloatArray], FloatArray], float]] = {
    "hour": (_hour, 0.0),
    "weekday": (_weekday, 7.0),
    "day of year": (_day_of_year, 365.0),
}
"""Phase in [0, 1) of each part, and how many days the training rows have to span: less is part of the trend."""


@dataclass(frozen=True)
class Cycle:
    """A cyclic part of a column of dates."""

    column: int
    part: str
    factors: tuple[float, float]
    """Inverse standard deviations of sine and cosine."""

    def waves(self, X: NDArray[np.floating]) -> FloatArray:
        """Return sine and cosine of rows of a table, 0 where the date is missing."""
        return np.asarray(phase_waves(X[:, self.column].astype(np.float64), self.part) * np.array(self.factors))


def phase_waves(days: FloatArray, part: str) -> FloatArray:
    """Return sine and cosine of a part of dates; 0 where they are missing."""
    known = ~np.isnan(days)
    waves = np.zeros((len(days), 2))
    angle = 2 * np.pi * PARTS[part][0](days[known])
    waves[known] = np.column_stack([np.sin(angle), np.cos(angle)])
    return waves


def learn_cycles(
    table: Table, rows: IndexArray, weight: FloatArray, signatures: Mapping[int, int]
) -> tuple[Cycle, ...]:
    """Learn which parts vary, from rows in ascending order of weight."""
    wanted = sorted(table.dates, key=signatures.__getitem__)
    found = []
    for j, column in zip(wanted, each_column(table.X, wanted), strict=True):
        known = ~np.isnan(column[rows])
        days, mass = column[rows][known].astype(np.float64), weight[known]
        for part, (phase, span) in PARTS.items():
            if len(days) and np.ptp(days) >= span and np.ptp(phase(days)) > 0:
                found.append(Cycle(j, part, _factors(phase_waves(days, part), mass)))
    return tuple(found)


def _factors(waves: FloatArray, weight: FloatArray) -> tuple[float, float]:
    total = weight.sum()
    mean = weight @ waves / total
    sine, cosine = np.sqrt(weight @ np.square(waves - mean) / total)
    # Rounded: how sums of the rows round must not matter. A part that hardly varies stays small.
    return (1 / rounded(max(float(sine), 0.1)), 1 / rounded(max(float(cosine), 0.1)))
