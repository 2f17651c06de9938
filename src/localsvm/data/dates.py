"""Dates and durations as numbers: days since 1970, with the time as a fraction, and seconds.

Enters: arrays of `datetime64` and `timedelta64`, or objects of the standard library. Leaves: float64, NaN where a
value is missing. A date with a time zone counts as the clock there shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import FloatArray
from localsvm.errors import InvalidData

_DAY = 86_400_000_000  # microseconds
_FIRST, _LAST = (np.datetime64(day, "D").astype(np.int64) for day in ("0001-01-01", "9999-12-31"))


def days_of(dates: NDArray[np.datetime64], label: str | int, first_row: int = 0) -> FloatArray:
    """Return dates of any unit as days; refuse years that a calendar does not have.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.data.dates import days_of
    >>> days_of(np.array(["1970-01-02T06:00", "NaT"], dtype="datetime64[s]"), "when").tolist()
    [1.25, nan]
    """
    missing = np.isnat(dates)
    day = dates.astype("datetime64[D]")
    whole = day.astype(np.int64)
    wrong = ~missing & ((whole < _FIRST) | (whole > _LAST))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidData(
            f"column {label!r} has dates outside of the years 1 to 9999 (first at row {first_row + row}: day "
            f"{whole[row]} since 1970). Make them missing, or drop the column."
        )
    rest = (dates.astype("datetime64[us]") - day).astype(np.int64)
    return np.where(missing, np.nan, whole + rest / _DAY)


def seconds_of(durations: NDArray[np.timedelta64]) -> FloatArray:
    """Return durations as seconds."""
    return np.asarray(durations / np.timedelta64(1, "s"), dtype=np.float64)


def is_date(value: object) -> bool:
    """Return whether a value is a date, a time of the day, or both."""
    return isinstance(value, date | time | np.datetime64)


def is_duration(value: object) -> bool:
    """Return whether a value is a duration."""
    return isinstance(value, timedelta | np.timedelta64)


def days_of_objects(values: Sequence[Any], label: str | int) -> FloatArray:
    """Return dates and times as days; None is missing, and a time is a fraction of the day."""
    if any(isinstance(value, time) for value in values):
        return np.array([np.nan if value is None else _time_of(value) for value in values])
    plain = [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in values]
    return days_of(np.array(plain, dtype="datetime64[us]"), label)


def _time_of(value: Any) -> float:
    # Among times the date of a moment does not count.
    found: time = value if isinstance(value, time) else value.time() if isinstance(value, datetime) else time()
    seconds = 3600 * found.hour + 60 * found.minute + found.second
    return (seconds * 1_000_000 + found.microsecond) / _DAY


def seconds_of_objects(values: Sequence[Any]) -> FloatArray:
    """Return durations as seconds; None is missing."""
    return seconds_of(np.array(values, dtype="timedelta64[us]"))
