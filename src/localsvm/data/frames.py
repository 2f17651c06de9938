"""Data frames of pandas, polars and pyarrow as tables of numbers and categories.

Enters: a frame. Leaves: a `Table`. None of the three libraries is imported: only methods of
the frame's columns are used.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.columns import Encoding, Table
from localsvm.errors import InvalidData

_LIBRARIES = {"pandas", "polars", "pyarrow"}

# How the names of types begin, in lower case, in any of the libraries.
_CATEGORIES = ("category", "categorical", "enum", "dictionary")
_TEXT = ("object", "str", "string", "large_string", "utf8", "large_utf8")


def is_frame(X: object) -> bool:
    """Return whether X is a table of pandas, polars or pyarrow, or a subclass of one."""
    libraries = {kind.__module__.partition(".")[0] for kind in type(X).__mro__}
    return bool(libraries & _LIBRARIES) and len(getattr(X, "shape", ())) == 2


def has_categories(frame: Any) -> bool:
    """Return whether a frame has columns of categories, text or objects."""
    return any(_type_name(column).startswith(_CATEGORIES + _TEXT) for column in _columns(frame))


def read_frame(frame: Any, labels: Sequence[str] | range, known: Encoding | None = None) -> Table:
    """Read a frame: columns of categories and of text become categories, all others numbers."""
    X = np.full(frame.shape, np.nan)
    names = {}
    columns = _columns(frame)
    if known is None:
        categories = [j for j, column in enumerate(columns) if _is_category(column, labels[j])]
        numbers = [j for j in range(len(columns)) if j not in categories]
    else:
        categories, numbers = [category.column for category in known.categories], list(known.numbers)
    for j in categories:
        X[:, j], names[j] = _categories(_values(columns[j]))
    for j in numbers:
        X[:, j] = _numbers(columns[j], labels[j])
    return Table(X, names)


def _columns(frame: Any) -> Sequence[Any]:
    if hasattr(frame, "iloc"):  # pandas; names need not be unique
        return [frame.iloc[:, j] for j in range(frame.shape[1])]
    return list(frame.get_columns() if hasattr(frame, "get_columns") else frame.columns)


def _type_name(column: Any) -> str:
    return str(column.dtype if hasattr(column, "dtype") else column.type).lower()


def _values(column: Any) -> list[Any]:
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())


def _is_category(column: Any, label: str | int) -> bool:
    """Return whether a column is one of categories by its type, or of text by its values."""
    if not _type_name(column).startswith(_TEXT):
        return _type_name(column).startswith(_CATEGORIES)
    values = _values(column)
    is_text = [isinstance(value, str) for value in values]
    if not any(is_text):
        return False
    for row, (value, text) in enumerate(zip(values, is_text, strict=True)):
        if not text and not is_missing(value):
            raise InvalidData(
                f"column {label!r} has text, but at row {row} it has {value!r}: make all of it text, with astype(str), "
                "or all of it numbers."
            )
    return True


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN or another library's word for that."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither equal to itself nor different
        return True


def _categories(values: list[Any]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the sorted names of the values, and for every value the place of its name; NaN if it is missing."""
    distinct: dict[Hashable, int] = {}
    codes = np.fromiter((distinct.setdefault(value, len(distinct)) for value in values), np.intp, len(values))
    names_found = [None if is_missing(value) else category_name(value) for value in distinct]
    names = tuple(sorted({name for name in names_found if name is not None}))
    place = {name: number for number, name in enumerate(names)}
    return np.array([np.nan if name is None else place[name] for name in names_found])[codes], names


def category_name(value: object) -> str:
    """Return the name of a category that need not be text."""
    # 1 and 1.0 are the same: gaps turn a column of integers into one of floats.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _numbers(column: Any, label: str | int) -> NDArray[np.float64]:
    try:
        if hasattr(column, "iloc") and column.dtype.kind != "c":
            column = column.astype(np.float64)  # the missing value of pandas becomes NaN
        values = column.to_numpy()
        if values.dtype.kind not in "mMc":
            return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    row, value = _first_non_number(_values(column))
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
