"""Batches of columns as rows of numbers: missing values are NaN, categories are codes, dates are days.

The numbers are float32 or float64 by the rule that estimators apply to arrays and data frames, so that the same values
from any source give the same model: float32 if that is NumPy's common type of the columns, else float64.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localsvm.data.dates import seconds_of
from localsvm.data.files.dates import column_days, is_date_type
from localsvm.data.files.table import Schema, is_number, is_text
from localsvm.data.frames import category_name, is_missing
from localsvm.errors import InvalidData

MAX_CATEGORIES = 1_000_000
"""A column with more distinct values identifies rows rather than kinds of rows, and its names would fill the memory."""

# Columns are copied into rows in blocks of rows that stay in the cache of a core.
_BLOCK_BYTES = 1 << 18
_MIN_BLOCK_ROWS = 16


@dataclass
class CategoryCodes:
    """The categories of one column, numbered in the order of their first occurrence.

    Parameters
    ----------
    label : str
        Name of the column, for errors.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files import CategoryCodes
    >>> colours = CategoryCodes("colour")
    >>> colours.encode(pa.array(["red", None, "blue"])).tolist(), colours.encode(pa.array(["blue", "green"])).tolist()
    ([0.0, nan, 1.0], [1.0, 2.0])
    >>> colours.names, colours.sorted_names, colours.places.tolist()
    (('red', 'blue', 'green'), ('blue', 'green', 'red'), [2, 0, 1])
    """

    label: str
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of their codes."""
        return tuple(self._numbers)

    @property
    def sorted_names(self) -> tuple[str, ...]:
        """Names in alphabetical order."""
        return tuple(sorted(self._numbers))

    @property
    def places(self) -> NDArray[np.intp]:
        """For every code the position of its name among the sorted names."""
        place = {name: number for number, name in enumerate(self.sorted_names)}
        return np.array([place[name] for name in self._numbers], dtype=np.intp)

    def encode(self, column: Any) -> NDArray[np.float64]:
        """Return the codes of the values of a `pyarrow.Array`, NaN where a value is missing."""
        encoded = _as_dictionary(column)
        codes = [self._code(value) for value in encoded.dictionary.to_pylist()]
        missing = len(codes)
        places = encoded.indices.fill_null(missing).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*codes, np.nan])[places])

    def _code(self, value: object) -> float:
        if is_missing(value):
            return np.nan
        code = self._numbers.setdefault(category_name(value), len(self._numbers))
        if code >= MAX_CATEGORIES:
            raise InvalidData(
                f"column {self.label!r} has more than {MAX_CATEGORIES} different values, too many for categories. "
                "Drop it, or convert it to numbers."
            )
        return float(code)


def _as_dictionary(column: Any) -> Any:
    """Return a column as a `pyarrow.DictionaryArray` with 64-bit indices."""
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        elif not _has_plain_values(column.type):
            column = column.cast(pa.string())
        column = column.dictionary_encode()
    # Indices may be 8-bit integers, which may be too small for the index of "missing".
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int64()), column.dictionary)


def _has_plain_values(kind: Any) -> bool:
    """Return whether values of an Arrow type are str, int, float or bool in Python."""
    is_view = pa.types.is_string_view(kind)
    tests = (is_text, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    return not is_view and any(test(kind) for test in tests)


def number_type(schema: Schema, columns: Iterable[str]) -> np.dtype[Any]:
    """Return the type of the numbers that columns of a file are converted to.

    Parameters
    ----------
    schema : Schema
        The columns of a file.
    columns : iterable of str
        Names of the columns that are used.

    Returns
    -------
    dtype
        float32 if NumPy's common type of the columns is float32: some are float32, and the others are float16, boolean
        or integers of at most 16 bits. Otherwise float64, also if there is a category or a date.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files import number_type, open_file
    >>> single, small, large = pa.array([0.5], pa.float32()), pa.array([1], pa.int8()), pa.array([1], pa.int64())
    >>> schema = open_file(pa.table({"single": single, "small": small, "large": large})).schema
    >>> number_type(schema, ["single", "small"]), number_type(schema, ["single", "large"])
    (dtype('float32'), dtype('float64'))
    """
    used = [schema[name] for name in columns if name in schema]
    return _common_type(pa.float64() if column.kind == "category" else column.type for column in used)


def _common_type(types: Iterable[Any]) -> np.dtype[Any]:
    common = np.result_type(*{_numpy_type(kind) for kind in types} or {np.dtype(np.float64)})
    return np.dtype(np.float32 if common == np.float32 else np.float64)


def _numpy_type(kind: Any) -> np.dtype[Any]:
    has_one = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    return np.asarray(pa.array([], kind if has_one else pa.float64())).dtype


def to_numbers(
    batch: Any,
    columns: Sequence[str] | None = None,
    *,
    codes: Mapping[str, CategoryCodes] | None = None,
    dates: Collection[str] = (),
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return columns of a batch as rows of numbers.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        Rows of a file.
    columns : sequence of str, optional
        Names of the columns, in the order of the result. Default: all.
    codes : mapping from str to CategoryCodes, optional
        The categorical columns; new categories are added to their codes.
    dates : collection of str
        The columns of dates, which become days since 1970. All other columns have to be numeric; durations are
        seconds.
    out : ndarray, optional
        Array for the result: at least as many rows, contiguous, of any float type.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        Of the type that `number_type` gives for the file; the first rows of `out` if it is given.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files import CategoryCodes, to_numbers
    >>> batch = pa.record_batch({"size": [1, None], "colour": ["red", "blue"]})
    >>> to_numbers(batch, codes={"colour": CategoryCodes("colour")})
    array([[ 1.,  0.],
           [nan,  1.]])
    """
    names = batch.schema.names if columns is None else columns
    codes = codes or {}

    def numbers_of(name: str) -> NDArray[Any]:
        column = batch.column(name)
        if name in codes:
            return codes[name].encode(column)
        return column_days(column, name) if name in dates else column_numbers(column, name)

    values = [numbers_of(name) for name in names]
    if out is None:
        types = (pa.float64() if name in codes else batch.schema.field(name).type for name in names)
        out = np.empty((batch.num_rows, len(names)), dtype=_common_type(types))
    rows = out[: batch.num_rows]
    _interleave(values, rows)
    return rows


def column_numbers(column: Any, label: str) -> NDArray[Any]:
    """Return a column as a vector, NaN where a value is missing; it may share the column's memory."""
    kind = column.type
    if pa.types.is_duration(kind):
        return seconds_of(column.to_numpy(zero_copy_only=False))
    if not is_number(kind):
        raise InvalidData(_refusal(kind, label))
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string()).cast(pa.float64())  # via text, so that values are rounded only once
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def check_target(column: Any, label: str, file: str, first_row: int) -> None:
    """Raise `InvalidData` if a target is missing or infinite; the first value is that of row `first_row`."""
    missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    wrong = missing | np.isinf(column.fill_null(0)) if pa.types.is_floating(column.type) else missing
    if wrong.any():
        place = int(wrong.argmax())
        what = "missing" if missing[place] else "infinite"
        raise InvalidData(f"the target {label!r} of {file} is {what} at row {first_row + place}. Drop such rows.")


def check_weight(weight: NDArray[Any], label: str, file: str, first_row: int) -> None:
    """Raise `InvalidData` if a weight is missing, infinite or negative; the first one is that of row `first_row`."""
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        place = int(wrong.argmax())
        raise InvalidData(
            f"the weight {label!r} of {file} is {weight[place]:g} at row {first_row + place}. Weights are finite "
            "numbers of at least 0; rows of weight 0 are ignored."
        )


def _refusal(kind: Any, label: str) -> str:
    if is_text(kind) or pa.types.is_dictionary(kind):
        return f"column {label!r} has text where numbers are needed. Declare it a category, or drop it."
    if is_date_type(kind):
        return f"column {label!r} has dates or times ({kind}) where numbers are needed. Drop it, or convert it."
    return f"column {label!r} has values of type {kind}, which are not numbers. Drop it, or convert it to numbers."


def _interleave(columns: Sequence[NDArray[Any]], rows: NDArray[Any]) -> None:
    """Copy columns into rows, one block of rows at a time."""
    n_rows, n_columns = rows.shape
    step = max(_MIN_BLOCK_ROWS, _BLOCK_BYTES // (max(n_columns, 1) * rows.itemsize))
    for begin in range(0, n_rows, step):
        block = rows[begin : begin + step]
        for number, column in enumerate(columns):
            block[:, number] = column[begin : begin + step]
