"""Columns of dates in files as days since 1970.

Enters: a column of an Arrow type for dates or times, or of text, as csv files have them. Leaves: float64, NaN where a
value is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from localsvm.data.dates import days_of, days_of_objects
from localsvm.data.files.csv_layout import DATE, MISSING
from localsvm.data.files.reading import shown
from localsvm.data.types import FloatArray
from localsvm.errors import InvalidData


def is_date_type(kind: Any) -> bool:
    """Return whether an Arrow type has dates, times, or both."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind))


def column_days(column: Any, label: str) -> FloatArray:
    """Return the days of a column; a time of the day is a fraction of a day.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files.dates import column_days
    >>> column_days(pa.array(["1970-01-02", "1970-01-03 18:00", None]), "when").tolist()
    [1.0, 2.75, nan]
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not is_date_type(column.type):
        column = _parse(column, label)
    if pa.types.is_time(column.type):
        return days_of_objects(column.to_pylist(), label)
    if getattr(column.type, "tz", None) is not None:
        column = pc.local_timestamp(column)
    return days_of(column.to_numpy(zero_copy_only=False), label)


def _parse(column: Any, label: str) -> Any:
    """Return text as timestamps, as the clock of its time zone shows them; times are those of the first of 1970."""
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    text = pc.if_else(pc.is_in(text, pa.array(MISSING)), pa.scalar(None, pa.string()), text)
    _refuse(text, pc.match_substring_regex(text, DATE), label)
    plain = pc.replace_substring_regex(text, r"(:\d\d(?:\.\d+)?)(Z|[+-]\d\d(?::?\d\d)?)$", r"\1")
    plain = pc.replace_substring_regex(plain, r"(\.\d{6})\d+$", r"\1")
    plain = pc.replace_substring_regex(plain, r"^(\d\d:)", r"1970-01-01 \1")
    try:
        return plain.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # like the 31st of June
        _refuse(text, pa.array([_is_timestamp(value) for value in plain.to_pylist()]), label)
        raise


def _is_timestamp(value: str | None) -> bool | None:
    try:
        return None if value is None else pa.scalar(value).cast(pa.timestamp("us")).is_valid
    except pa.ArrowInvalid:
        return False


def _refuse(text: Any, fits: Any, label: str) -> None:
    """Raise `InvalidData` for the first value that does not fit."""
    place = pc.index(fits, False).as_py()
    if place >= 0:
        raise InvalidData(
            f"column {label!r} has dates, but also {shown(text[place].as_py())}, which is none. Write dates like "
            "2024-01-31 or 2024-01-31 12:30, or declare the column a category."
        )
