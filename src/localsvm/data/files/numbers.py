"""From batches of columns to rows of numbers.

Enters: a batch of Arrow. Leaves: an array with a row for each of its rows; what is missing is NaN, and categories are
codes. The numbers are float32 or float64 by the rule that estimators follow for arrays and frames, so that the same
values from any source are the same model: NumPy's common type of the columns, if that is float32, else float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localsvm.data.files.categories import CategoryCodes
from localsvm.data.files.schema import Schema, is_number, is_text
from localsvm.errors import InvalidData

# Columns are copied into rows a block of rows at a time: a block stays in the cache of a core until it is full.
_BLOCK_BYTES = 1 << 18
_LEAST_BLOCK = 16

_NO_CODES: Mapping[str, CategoryCodes] = {}


def number_type(schema: Schema, columns: Iterable[str]) -> np.dtype[Any]:
    """Return the type of the numbers that columns of a file become.

    Parameters
    ----------
    schema : Schema
        The columns of a file.
    columns : iterable of str
        Names of those that are used.

    Returns
    -------
    dtype
        float32 if NumPy's common type of the columns is float32: some are float32, and the others are float16, truth
        values or integers of at most 16 bits. Else float64, as with any category.

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
    codes: Mapping[str, CategoryCodes] = _NO_CODES,
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
        The columns that are categories, which learn their new names; all others have to be numbers.
    out : ndarray, optional
        Where to put the rows: at least as many, contiguous, of any float type.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        Of the type that `number_type` has for the file; the first rows of `out` if it is given.

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
    values = [
        codes[name].encode(batch.column(name)) if name in codes else column_numbers(batch.column(name), name)
        for name in names
    ]
    if out is None:
        types = (pa.float64() if name in codes else batch.schema.field(name).type for name in names)
        out = np.empty((batch.num_rows, len(names)), dtype=_common_type(types))
    rows = out[: batch.num_rows]
    _interleave(values, rows)
    return rows


def column_numbers(column: Any, label: str) -> NDArray[Any]:
    """Return a column as a vector with NaN where a value is missing; if none is, it may be the column's own memory."""
    kind = column.type
    if not is_number(kind):
        raise InvalidData(_refusal(kind, label))
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string()).cast(pa.float64())  # by way of text each is rounded once
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _refusal(kind: Any, label: str) -> str:
    if is_text(kind) or pa.types.is_dictionary(kind):
        return f"column {label!r} has text where numbers are needed. Declare it a category, or leave it out."
    if pa.types.is_temporal(kind):
        return (
            f"column {label!r} has dates or times ({kind}), which are not numbers. Leave it out, declare it a "
            "category, or make numbers of it, like the year, the day of the year or the seconds since a date."
        )
    return f"column {label!r} has values of type {kind}, which are not numbers. Leave it out, or make numbers of it."


def _interleave(columns: Sequence[NDArray[Any]], rows: NDArray[Any]) -> None:
    n_rows, n_columns = rows.shape
    step = max(_LEAST_BLOCK, _BLOCK_BYTES // (max(n_columns, 1) * rows.itemsize))
    for begin in range(0, n_rows, step):
        block = rows[begin : begin + step]
        for number, column in enumerate(columns):
            block[:, number] = column[begin : begin + step]
