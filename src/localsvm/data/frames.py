"""Data frames of pandas, polars and pyarrow as tables of numbers, categories and dates.

Enters: a frame. Leaves: a `Table`. None of the three libraries is imported unless the frame is its own: only methods of
the frame's columns are used.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from importlib import import_module
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.dates import days_of, days_of_objects, is_date, is_duration, seconds_of, seconds_of_objects
from localsvm.data.encoding.encoding import Kind
from localsvm.data.table import Table
from localsvm.data.types import FloatArray
from localsvm.errors import InvalidData

_LIBRARIES = {"pandas", "polars", "pyarrow"}

# How the names of types begin, in lower case, in any of the libraries.
_CATEGORIES = ("category", "categorical", "enum", "dictionary")
_TEXT = ("object", "str", "string", "large_string", "utf8", "large_utf8")
_DURATIONS = ("timedelta", "duration")
_DATES = ("datetime", "timestamp", "date", "time", "period")


def is_frame(X: object) -> bool:
    """Return whether X is a table of pandas, polars or pyarrow, or a subclass of one."""
    libraries = {kind.__module__.partition(".")[0] for kind in type(X).__mro__}
    return bool(libraries & _LIBRARIES) and len(getattr(X, "shape", ())) == 2


def has_only_numbers(frame: Any) -> bool:
    """Return whether the types of all columns are numbers; objects may be anything."""
    return not any(
        _type_name(column).startswith(_CATEGORIES + _TEXT + _DURATIONS + _DATES) for column in _columns(frame)
    )


def has_durations(frame: Any) -> bool:
    """Return whether columns are durations, which are numbers of seconds."""
    return any(_type_name(column).startswith(_DURATIONS) for column in _columns(frame))


def frame_numbers(frame: Any, labels: NDArray[Any]) -> NDArray[Any] | None:
    """Return the numbers of a frame of pandas whose columns have these labels, None if they are not all numbers."""
    if not (hasattr(frame, "to_numpy") and is_frame(frame)):
        return None
    columns: Any = getattr(frame, "columns", ())
    if len(columns) != len(labels) or list(columns) != labels.tolist():
        return None
    if not {getattr(kind, "kind", "O") for kind in frame.dtypes} <= set("fiu"):
        return None
    values = np.ascontiguousarray(frame.to_numpy())
    return values.astype(np.float64) if values.dtype.kind in "iu" else values


def read_frame(
    frame: Any, labels: Sequence[str] | range, kinds: Sequence[Kind] | None = None, declared: Collection[int] = ()
) -> Table:
    """Read a frame: numbers, truth values and durations are numbers; text is a category; dates are days.

    Declared columns are categories, whatever their type. With kinds, columns are read as these.
    """
    X = np.full(frame.shape, np.nan)
    names: dict[int, tuple[str, ...]] = {}
    dates = set()
    for j, column in enumerate(_columns(frame)):
        kind = kinds[j] if kinds is not None else "category" if j in declared else _kind(column, labels[j])
        if kind == "category":
            X[:, j], names[j] = category_codes(_values(column), labels[j])
        elif kind == "date":
            X[:, j] = _days(column, labels[j])
            dates.add(j)
        elif kind == "number":
            X[:, j] = _numbers(column, labels[j])
    return Table(X, names, frozenset(dates))


def _columns(frame: Any) -> Sequence[Any]:
    if hasattr(frame, "iloc"):  # pandas; names need not be unique
        return [frame.iloc[:, j] for j in range(frame.shape[1])]
    return list(frame.get_columns() if hasattr(frame, "get_columns") else frame.columns)


def _type_name(column: Any) -> str:
    return str(column.dtype if hasattr(column, "dtype") else column.type).lower()


def _values(column: Any) -> list[Any]:
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN or another library's word for that."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither equal to itself nor different
        return True


# ------------------------------------------------------------------------------------------- kinds of columns


def _kind(column: Any, label: str | int) -> Kind:
    """Return the kind of a column by its type; that of objects by their values."""
    name = _type_name(column)
    if name.startswith(_CATEGORIES):
        return "category"
    if name.startswith(_TEXT):
        return _kind_of_values(_values(column), label)
    return "date" if name.startswith(_DATES) and not name.startswith(_DURATIONS) else "number"


def _kind_of_values(values: list[Any], label: str | int) -> Kind:
    for kind, what, test, advice in (
        ("category", "text", lambda value: isinstance(value, str), "all of it text, with astype(str)"),
        ("date", "dates", is_date, "all of it dates, with to_datetime"),
    ):
        fits = [test(value) for value in values]
        if any(fits):
            for row, (value, fit) in enumerate(zip(values, fits, strict=True)):
                if not fit and not is_missing(value):
                    raise InvalidData(
                        f"column {label!r} has {what}, but at row {row} it has {value!r}: make {advice}, or all of it "
                        "numbers."
                    )
            return kind  # type: ignore[return-value]
    return "number"


# -------------------------------------------------------------------------------------------------- categories


def category_codes(values: list[Any], label: str | int) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the place of every value in the sorted list of names, NaN if it is missing, and that list."""
    distinct: dict[Hashable, int] = {}
    try:
        codes = np.fromiter((distinct.setdefault(value, len(distinct)) for value in values), np.intp, len(values))
    except TypeError:  # a list or a dict has no hash
        row = next(row for row, value in enumerate(values) if not isinstance(value, Hashable))
        raise _not_a_level(label, row, values[row]) from None
    for value in distinct:
        if not is_missing(value) and not _is_level(value):
            raise _not_a_level(label, values.index(value), value)
    names_found = [None if is_missing(value) else category_name(value) for value in distinct]
    names = tuple(sorted({name for name in names_found if name is not None}))
    place = {name: number for number, name in enumerate(names)}
    return np.array([np.nan if name is None else place[name] for name in names_found])[codes], names


def _is_level(value: object) -> bool:
    """Return whether a value can be a level: intervals are those of pandas."""
    plain = isinstance(value, str | Number | bool | np.generic) or is_date(value) or is_duration(value)
    return plain or type(value).__name__ in ("Interval", "Period")


def _not_a_level(label: str | int, row: int, value: object) -> InvalidData:
    return InvalidData(
        f"column {label!r} has levels that are neither text nor numbers (first at row {row}: {value!r}). Make them "
        "text, with astype(str), or drop the column."
    )


def category_name(value: object) -> str:
    """Return the name of a level that need not be text."""
    # 1 and 1.0 are the same: missing values turn a column of integers into one of floats.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# ------------------------------------------------------------------------------------------- dates and numbers


def _days(column: Any, label: str | int) -> FloatArray:
    values = _local(column).to_numpy()
    if values.dtype.kind == "M":
        return days_of(values, label)
    objects = [None if is_missing(value) else value for value in values.tolist()]
    for row, value in enumerate(objects):
        if value is not None and not is_date(value):
            raise InvalidData(
                f"column {label!r} had dates in training, but at row {row} it has {value!r}: make all of it dates."
            )
    return days_of_objects(objects, label)


def _local(column: Any) -> Any:
    """Return a column of dates without a time zone, as the clock there shows them."""
    name = _type_name(column)
    if name.startswith("period"):
        return column.dt.to_timestamp()
    if getattr(getattr(column, "dtype", None), "time_zone", None) is not None:  # polars
        return column.dt.replace_time_zone(None)
    if getattr(getattr(column, "type", None), "tz", None) is not None:  # pyarrow
        return import_module("pyarrow.compute").local_timestamp(column)
    if hasattr(column, "iloc") and name.startswith(("datetime", "timestamp")):
        return column.dt.tz_localize(None)
    return column


def _numbers(column: Any, label: str | int) -> FloatArray:
    if _type_name(column).startswith(_DURATIONS):
        return seconds_of(column.to_numpy())
    try:
        if hasattr(column, "iloc") and column.dtype.kind not in "cmM":
            column = column.astype(np.float64)  # the missing value of pandas becomes NaN
        values = column.to_numpy()
        if values.dtype.kind not in "mMc":
            return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    return _numbers_of(_values(column), label)


def _numbers_of(values: list[Any], label: str | int) -> NDArray[np.float64]:
    """Return objects as numbers: durations, or else an error for the first that is none."""
    known = [None if is_missing(value) else value for value in values]
    if any(map(is_duration, known)) and all(value is None or is_duration(value) for value in known):
        return seconds_of_objects(known)
    row, value = _first_non_number(values)
    raise InvalidData(
        f"column {label!r} has values that are not numbers (first at row {row}: {value!r}). Make it numbers, or "
        "drop it."
    )


def _first_non_number(values: list[Any]) -> tuple[int, Any]:
    for row, value in enumerate(values):
        try:
            if not is_missing(value):
                float(value)
        except (TypeError, ValueError):
            return row, value
    raise AssertionError("all values are numbers")
