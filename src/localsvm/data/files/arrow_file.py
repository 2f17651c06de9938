"""Arrow's own formats: files (feather too) and streams.

Enters: a path. Leaves: a `TableFile`. The file is mapped into memory and its batches are checked, because damaged ones
would be read beyond their ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import ipc

from localsvm.data.files.options import FileOptions
from localsvm.data.files.schema import Schema
from localsvm.data.files.table import TableFile

_MAGIC = b"ARROW1"


def open_arrow(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a file or a stream of Arrow."""
    with path.open("rb") as file:
        is_file = file.read(len(_MAGIC)) == _MAGIC
    schema = Schema.of(_open(path, is_file).schema, name, options.categories)
    n_rows = ds.dataset(str(path), format="ipc").count_rows() if is_file else None

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        used = ipc.IpcReadOptions(included_fields=sorted(schema.names.index(label) for label in names))
        for batch in _batches(_open(path, is_file, used), is_file):
            batch.validate(full=True)
            yield batch.select(list(names))

    return TableFile(name, schema, n_rows, read)


def _open(path: Path, is_file: bool, options: Any = None) -> Any:
    mapped = pa.memory_map(str(path))
    return ipc.open_file(mapped, options=options) if is_file else ipc.open_stream(mapped, options=options)


def _batches(reader: Any, is_file: bool) -> Iterator[Any]:
    return (reader.get_batch(number) for number in range(reader.num_record_batches)) if is_file else iter(reader)
