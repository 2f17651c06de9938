"""Data frames in memory, read as if they were files.

Enters: a frame of pandas, polars or pyarrow. Leaves: a `TableFile`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from localsvm.data.files.options import FileOptions
from localsvm.data.files.schema import Schema
from localsvm.data.files.table import TableFile

FRAME = "the data frame"


def open_frame(frame: Any, options: FileOptions) -> TableFile:
    """Open a frame; columns of pandas that NumPy has numbers for are not copied."""
    table = _as_arrow(frame)
    named = all(isinstance(label, str) for label in getattr(frame, "columns", ())) or isinstance(frame, pa.Table)
    schema = Schema.of(table.schema, FRAME, options.categories, named=named)

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        return iter(table.select(list(names)).to_batches(max_chunksize=rows))

    return TableFile(FRAME, schema, table.num_rows, read)


def _as_arrow(frame: Any) -> Any:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    return pa.Table.from_pandas(frame, preserve_index=False)
