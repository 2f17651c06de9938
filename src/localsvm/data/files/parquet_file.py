"""Parquet: one file, or a directory of files, with the columns that the names of its folders tell.

Enters: a path. Leaves: a `TableFile`. The files of a directory are read in the order of their paths; all must have the
columns of the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from localsvm.data.files.bytes import check_content
from localsvm.data.files.damage import explained
from localsvm.data.files.options import FileOptions
from localsvm.data.files.schema import Schema
from localsvm.data.files.table import TableFile
from localsvm.errors import InvalidData

# Pages come through a buffer of this size for each column; otherwise a whole row group would be held in memory.
_BUFFER_BYTES = 1 << 17


@dataclass(frozen=True)
class _Part:
    """A file, and the values that its folders give to all of its rows."""

    path: Path
    constants: Mapping[str, Any]


def open_parquet(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a parquet file or a directory of them."""
    if path.is_dir():
        parts, arrow = _parts(path, name)
    else:
        check_content(path, "parquet")
        parts, arrow = [_Part(path, {})], _open(path).schema_arrow
    schema = Schema.of(arrow, name, options.categories)
    n_rows = 0
    for part in parts:
        with explained(str(part.path)):
            n_rows += _checked_rows(part, schema)

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        types = pa.schema([schema.arrow.field(label) for label in names])
        for part in parts:
            with explained(str(part.path)):
                yield from _read(part, types, rows)

    return TableFile(name, schema, n_rows, read)


def _open(path: Path) -> Any:
    return pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _parts(directory: Path, name: str) -> tuple[list[_Part], Any]:
    paths = sorted(path for ending in ("parquet", "pq") for path in directory.rglob(f"*.{ending}") if path.is_file())
    if not paths:
        raise InvalidData(f"{name} is a directory without parquet files. Give a file, or a directory that has some.")
    for path in paths:
        check_content(path, "parquet")
    files = [str(path) for path in paths]
    dataset = ds.dataset(files, format="parquet", partitioning="hive", partition_base_dir=str(directory))
    parts = [
        _Part(Path(fragment.path), ds.get_partition_keys(fragment.partition_expression))
        for fragment in dataset.get_fragments()
    ]
    return sorted(parts, key=lambda part: part.path), dataset.schema


def _checked_rows(part: _Part, schema: Schema) -> int:
    """Return the number of rows of a file, and refuse one that lacks columns."""
    with _open(part.path) as file:
        found = {*file.schema_arrow.names, *part.constants}
        lacking = [name for name in schema.names if name not in found]
        if lacking:
            raise InvalidData(f"{part.path} lacks the column {lacking[0]!r}, which other files of the directory have.")
        return int(file.metadata.num_rows)


def _read(part: _Part, types: Any, rows: int) -> Iterator[Any]:
    """Yield rows with the columns of a schema."""
    stored = [name for name in types.names if name not in part.constants]
    with _open(part.path) as file:
        if file.metadata.num_rows == 0:  # not all versions of pyarrow read no row groups
            return
        # Without a column of its own a file has rows all the same: the first column counts them.
        for batch in file.iter_batches(rows, columns=stored or file.schema_arrow.names[:1]):
            columns = [
                pa.repeat(pa.scalar(part.constants[field.name], field.type), batch.num_rows)
                if field.name in part.constants
                else batch.column(field.name).cast(field.type)
                for field in types
            ]
            checked = pa.record_batch(columns, schema=types)
            checked.validate(full=True)
            yield checked
