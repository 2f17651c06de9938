"""The types in which columns are written.

Enters: a column of a schema. Leaves: a type that every format knows: dictionaries are their values, views are text.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from localsvm.data.files.schema import Column, is_number, is_text
from localsvm.errors import InvalidData


def plain_type(column: Column) -> Any:
    """Return the type in which a column is written."""
    if not pa.types.is_dictionary(column.type):
        return pa.string() if pa.types.is_string_view(column.type) else column.type
    # A category stays one: text, whatever its values were.
    return pa.string()


def simple_type(column: Column, format: str) -> Any:
    """Return the same, but refuse what is neither number nor text nor a date, for a format that has nothing else."""
    kind = plain_type(column)
    if is_text(kind) or is_number(kind) or pa.types.is_temporal(kind):
        return pa.float32() if pa.types.is_float16(kind) else kind
    raise InvalidData(
        f"column {column.name!r} has values of type {kind}, for which {format} has no form. Leave it out, or write "
        "parquet."
    )


def cast_columns(batch: Any, types: Any) -> Any:
    """Return a batch with the columns of a schema of Arrow, found by name."""
    return pa.record_batch([_cast(batch.column(field.name), field.type) for field in types], schema=types)


def _cast(column: Any, kind: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(kind)
