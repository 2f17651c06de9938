"""Writers of the formats: each takes a destination and a schema, and yields an object that writes batches.

Numbers are written to text with as few digits as give the same number of their type when they are read.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.lib import format as npy
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from pyarrow import ipc

from localsvm.data.files.formats import FileOptions
from localsvm.data.files.numbers import column_numbers
from localsvm.data.files.table import Column, Schema, is_number, is_text
from localsvm.errors import InvalidData

# A row group of parquet is written when it has this many rows or bytes.
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 1 << 26

_INDEX = re.compile("0|[1-9][0-9]{0,5}")


# ---------------------------------------------------------------------------------- types of columns


def _plain_type(column: Column) -> Any:
    """Return the type in which a column is written: dictionaries and string views are text."""
    is_plain = not (pa.types.is_dictionary(column.type) or pa.types.is_string_view(column.type))
    return column.type if is_plain else pa.string()


def _simple_type(column: Column, format: str) -> Any:
    """Return the same for a format that stores only numbers, text and dates; raise `InvalidData` for other types."""
    kind = _plain_type(column)
    if is_text(kind) or is_number(kind) or pa.types.is_temporal(kind):
        return pa.float32() if pa.types.is_float16(kind) else kind
    raise InvalidData(
        f"column {column.name!r} has values of type {kind}, which {format} cannot store. Drop it, or write parquet."
    )


def _cast_columns(batch: Any, types: Any) -> Any:
    """Return a batch with the columns of a `pyarrow.Schema`, found by name."""
    return pa.record_batch([_cast(batch.column(field.name), field.type) for field in types], schema=types)


def _cast(column: Any, kind: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(kind)


@dataclass(frozen=True)
class BatchWriter:
    """Writes batches to a writer of pyarrow, cast to the types of a schema."""

    writer: Any
    types: Any

    def write(self, batch: Any) -> None:
        """Write rows."""
        self.writer.write_batch(_cast_columns(batch, self.types))


# --------------------------------------------------------------------------------- parquet and Arrow


@dataclass
class ParquetWriter:
    """Collects batches and writes them as row groups."""

    writer: Any
    types: Any
    held: list[Any] = field(default_factory=list)
    n_rows: int = 0
    n_bytes: int = 0

    def write(self, batch: Any) -> None:
        """Add rows, and write a row group if they are enough."""
        self.held.append(_cast_columns(batch, self.types))
        self.n_rows += batch.num_rows
        self.n_bytes += self.held[-1].nbytes
        if self.n_rows >= _GROUP_ROWS or self.n_bytes >= _GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are held."""
        if self.held:
            self.writer.write_table(pa.Table.from_batches(self.held), row_group_size=_GROUP_ROWS)
        self.held, self.n_rows, self.n_bytes = [], 0, 0


@contextmanager
def write_parquet(path: Path, schema: Schema) -> Iterator[ParquetWriter]:
    """Write parquet."""
    types = _plain_types(schema)
    with pq.ParquetWriter(path, types) as file:
        writer = ParquetWriter(file, types)
        yield writer
        writer.flush()


@contextmanager
def write_arrow(path: Path, schema: Schema, *, stream: bool) -> Iterator[BatchWriter]:
    """Write an Arrow file, or a stream."""
    types = _plain_types(schema)
    new = ipc.new_stream if stream else ipc.new_file
    with pa.OSFile(str(path), "wb") as sink, new(sink, types) as writer:
        yield BatchWriter(writer, types)


def _plain_types(schema: Schema) -> Any:
    return pa.schema([pa.field(column.name, _plain_type(column)) for column in schema.columns])


# --------------------------------------------------------------------------------------------- NumPy


@contextmanager
def write_npz(path: Path, schema: Schema) -> Iterator[BatchWriter]:
    """Write an npz file with a vector for each column.

    The length of the vectors comes before their values, so the rows are collected in an Arrow file first.
    """
    types = pa.schema([pa.field(column.name, _npz_type(column)) for column in schema.columns])
    collected = path.with_name(f"{path.name}.rows")
    try:
        with pa.OSFile(str(collected), "wb") as sink, ipc.new_file(sink, types) as writer:
            yield BatchWriter(writer, types)
        with pa.memory_map(str(collected)) as source:
            _write_vectors(path, ipc.open_file(source), types)
    finally:
        collected.unlink(missing_ok=True)


def _npz_type(column: Column) -> Any:
    if pa.types.is_float16(column.type):
        return column.type
    kind = _simple_type(column, "npz")
    if is_text(kind) or is_number(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return kind
    raise InvalidData(f"column {column.name!r} has values of type {kind}, which npz cannot store. Drop it.")


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
    """Return the NumPy type for the values of all chunks of a column."""
    if is_text(field.type):
        longest = max((pc.max(pc.utf8_length(chunk)).as_py() or 0 for chunk in chunks), default=0)
        return np.dtype(f"<U{max(longest, 1)}")
    # Integers with missing values become floats, with NaN.
    return np.result_type(*(_vector(chunk, field.name).dtype for chunk in [*chunks, pa.array([], field.type)]))


def _vector(chunk: Any, name: str, dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    if is_text(chunk.type):
        if chunk.null_count:
            raise InvalidData(f"column {name!r} has missing text, which npz cannot store. Write parquet or csv.")
        return np.array(chunk.to_pylist(), dtype=dtype)
    if is_number(chunk.type) and not (pa.types.is_boolean(chunk.type) and chunk.null_count == 0):
        return np.asarray(column_numbers(chunk, name), dtype=dtype)
    return np.asarray(chunk.to_numpy(zero_copy_only=False), dtype=dtype)


# ----------------------------------------------------------------------------------- csv and LIBSVM


@contextmanager
def write_csv(sink: Any, schema: Schema, options: FileOptions) -> Iterator[BatchWriter]:
    """Write csv: a header unless `header=False`, text in quotes, an empty value where one is missing."""
    types = pa.schema([pa.field(column.name, _simple_type(column, "csv")) for column in schema.columns])
    settings = arrow_csv.WriteOptions(include_header=options.header is not False, delimiter=options.delimiter or ",")
    with arrow_csv.CSVWriter(sink, types, write_options=settings) as writer:
        yield BatchWriter(writer, types)


@dataclass
class LibsvmWriter:
    """Writes rows as lines of a label and the non-zero values with their indices."""

    sink: Any
    target: str
    indices: dict[str, int]
    is_first: bool = True

    def write(self, batch: Any) -> None:
        """Write rows."""
        labels = column_numbers(batch.column(self.target), self.target)
        parts = [_digits(labels), *(self._entries(batch, name) for name in self.indices)]
        self.sink.write("".join(pc.binary_join_element_wise(*parts, "\n", "").to_pylist()).encode())
        self.is_first = False

    def _entries(self, batch: Any, name: str) -> Any:
        """Return " index:value" for every row, an empty string where the value is zero."""
        values = column_numbers(batch.column(name), name)
        is_zero = values == 0
        if self.is_first and name == next(reversed(self.indices)):
            is_zero[:1] = False  # write the largest index at least once, so that readers know the number of columns
        entries = pc.binary_join_element_wise(f" {self.indices[name]}:", _digits(values), "")
        return pc.if_else(pa.array(is_zero), "", entries)


def _digits(values: Any) -> Any:
    return pa.array(values.astype(np.float32) if values.dtype == np.float16 else values).cast(pa.string())


@contextmanager
def write_libsvm(sink: Any, schema: Schema, options: FileOptions) -> Iterator[LibsvmWriter]:
    """Write LIBSVM format; column names are the indices if they are ascending integers, otherwise 1, 2, ..."""
    if options.target not in schema:
        raise InvalidData(
            f"LIBSVM format needs labels, and there is no column {options.target!r}. Give target=, one "
            f"of {', '.join(map(repr, schema.names[:12]))}."
        )
    for column in schema.columns:
        if column.kind != "number":
            raise InvalidData(f"column {column.name!r} is a {column.kind}, but LIBSVM format stores only numbers.")
    features = [name for name in schema.names if name != options.target]
    yield LibsvmWriter(sink, options.target, dict(zip(features, _indices(features), strict=True)))


def _indices(names: list[str]) -> list[int]:
    numbers = [int(name) for name in names if _INDEX.fullmatch(name)]
    ascend = all(low < high for low, high in pairwise(numbers))
    return numbers if len(numbers) == len(names) and ascend else list(range(1, len(names) + 1))
