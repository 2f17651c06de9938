"""Tables as arrays of NumPy: an npz file with a vector for each column.

Enters: a path, a schema, batches. Leaves: a file. How long the vectors are is known at the end only: until then
the rows wait in an Arrow file beside it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib import format as npy
from numpy.typing import NDArray
from pyarrow import ipc

from localsvm.data.files.numbers import column_numbers
from localsvm.data.files.schema import Column, Schema, is_number, is_text
from localsvm.data.files.write_arrow import ArrowWriter
from localsvm.data.files.write_types import simple_type
from localsvm.errors import InvalidData


@contextmanager
def write_npz(path: Path, schema: Schema) -> Iterator[ArrowWriter]:
    """Write an npz file."""
    types = pa.schema([pa.field(column.name, _waiting_type(column)) for column in schema.columns])
    waiting = path.with_name(f"{path.name}.rows")
    try:
        with pa.OSFile(str(waiting), "wb") as sink, ipc.new_file(sink, types) as writer:
            yield ArrowWriter(writer, types)
        with pa.memory_map(str(waiting)) as source:
            _write_vectors(path, ipc.open_file(source), types)
    finally:
        waiting.unlink(missing_ok=True)


def _waiting_type(column: Column) -> Any:
    if pa.types.is_float16(column.type):
        return column.type
    kind = simple_type(column, "npz")
    if is_text(kind) or is_number(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return kind
    raise InvalidData(f"column {column.name!r} has values of type {kind}, for which npz has no form. Leave it out.")


def _write_vectors(path: Path, rows: Any, types: Any) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for field in types:
            chunks = [rows.get_batch(number).column(field.name) for number in range(rows.num_record_batches)]
            dtype = _common_dtype(chunks, field)
            with archive.open(f"{field.name}.npy", "w", force_zip64=True) as entry:
                shape = (sum(map(len, chunks)),)
                header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
                npy.write_array_header_1_0(entry, header)
                for chunk in chunks:
                    entry.write(_vector(chunk, field.name, dtype).tobytes())


def _common_dtype(chunks: list[Any], field: Any) -> np.dtype[Any]:
    """Return the type that holds the values of all parts of a column."""
    if is_text(field.type):
        longest = max((pc.max(pc.utf8_length(chunk)).as_py() or 0 for chunk in chunks), default=0)
        return np.dtype(f"<U{max(longest, 1)}")
    # Where something is missing, integers become floats, with NaN.
    return np.result_type(*(_vector(chunk, field.name).dtype for chunk in [*chunks, pa.array([], field.type)]))


def _vector(chunk: Any, name: str, dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    if is_text(chunk.type):
        if chunk.null_count:
            raise InvalidData(f"column {name!r} has missing text, for which npz has no form. Write parquet, or csv.")
        return np.array(chunk.to_pylist(), dtype=dtype)
    if is_number(chunk.type) and not (pa.types.is_boolean(chunk.type) and chunk.null_count == 0):
        return np.asarray(column_numbers(chunk, name), dtype=dtype)
    return np.asarray(chunk.to_numpy(zero_copy_only=False), dtype=dtype)
