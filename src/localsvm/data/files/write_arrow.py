"""Tables as parquet and in Arrow's own formats.

Enters: a path, a schema, batches. Leaves: a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from localsvm.data.files.schema import Schema
from localsvm.data.files.write_types import cast_columns, plain_type

# A row group of parquet is written when it has so many rows or bytes.
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 1 << 26


@dataclass
class ParquetWriter:
    """Collects batches and writes them as row groups."""

    writer: Any
    types: Any
    held: list[Any] = field(default_factory=list)
    n_rows: int = 0
    n_bytes: int = 0

    def write(self, batch: Any) -> None:
        """Take rows, and write them if they are enough."""
        self.held.append(cast_columns(batch, self.types))
        self.n_rows += batch.num_rows
        self.n_bytes += self.held[-1].nbytes
        if self.n_rows >= _GROUP_ROWS or self.n_bytes >= _GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if self.held:
            self.writer.write_table(pa.Table.from_batches(self.held), row_group_size=_GROUP_ROWS)
        self.held, self.n_rows, self.n_bytes = [], 0, 0


@contextmanager
def write_parquet(path: Path, schema: Schema) -> Iterator[ParquetWriter]:
    """Write parquet."""
    types = _types(schema)
    with pq.ParquetWriter(path, types) as file:
        writer = ParquetWriter(file, types)
        yield writer
        writer.flush()


@dataclass(frozen=True)
class ArrowWriter:
    """Writes batches as they are."""

    writer: Any
    types: Any

    def write(self, batch: Any) -> None:
        """Write rows."""
        self.writer.write_batch(cast_columns(batch, self.types))


@contextmanager
def write_arrow(path: Path, schema: Schema, *, stream: bool) -> Iterator[ArrowWriter]:
    """Write an Arrow file, or a stream."""
    types = _types(schema)
    new = ipc.new_stream if stream else ipc.new_file
    with pa.OSFile(str(path), "wb") as sink, new(sink, types) as writer:
        yield ArrowWriter(writer, types)


def _types(schema: Schema) -> Any:
    return pa.schema([pa.field(column.name, plain_type(column)) for column in schema.columns])
