"""Readers of binary formats, which store the types of their columns: parquet, Arrow and NumPy.

Files are read in batches as they are stored, in memory that does not depend on their size; only a matrix that an npz
file stores by columns is read as a whole. Nothing is unpickled.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.lib import format as npy
from numpy.typing import NDArray
from pyarrow import ipc

from localsvm.data.files.formats import ARROW_MAGIC, FileOptions, check_content
from localsvm.data.files.reading import explained
from localsvm.data.files.snapshot import parquet_files
from localsvm.data.files.table import MAX_COLUMNS, Schema, TableFile, numbered
from localsvm.errors import InvalidData

# Pages of parquet are read through a buffer of this size per column; without it a whole row group is held in memory.
_BUFFER_BYTES = 1 << 17

# Larger batches of an Arrow file stay in the file until they are used.
_MAX_COPIED_BYTES = 1 << 26

_MATRIX = "X"  # the array of an npz file that may have several columns


# ------------------------------------------------------------------------------------------------ parquet


@dataclass(frozen=True)
class _Part:
    """A parquet file, and the columns that the names of its folders define, as in year=2024."""

    path: Path
    constants: Mapping[str, Any]


def open_parquet(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a parquet file, or a directory of them, read in the order of their paths.

    All files of a directory need the columns of the first one.
    """
    if path.is_dir():
        parts, arrow = _parts(path, name)
    else:
        check_content(path, "parquet", name)
        parts, arrow = [_Part(path, {})], _open_parquet(path).schema_arrow
    schema = Schema.of(arrow, name, options.categories)
    n_rows = 0
    for part in parts:
        with explained(str(part.path)):
            n_rows += _checked_rows(part, schema)

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        types = pa.schema([schema.arrow.field(label) for label in names])
        for part in parts:
            with explained(str(part.path)):
                yield from _read_part(part, types, rows)

    return TableFile(name, schema, n_rows, read)


def _open_parquet(path: Path) -> Any:
    return pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _parts(directory: Path, name: str) -> tuple[list[_Part], Any]:
    paths = parquet_files(directory)
    if not paths:
        raise InvalidData(f"{name} is a directory without parquet files. Give a file, or a directory that has some.")
    for path in paths:
        check_content(path, "parquet", str(path))
    files = [str(path) for path in paths]
    dataset = ds.dataset(files, format="parquet", partitioning="hive", partition_base_dir=str(directory))
    parts = [
        _Part(Path(fragment.path), ds.get_partition_keys(fragment.partition_expression))
        for fragment in dataset.get_fragments()
    ]
    return sorted(parts, key=lambda part: part.path), dataset.schema


def _checked_rows(part: _Part, schema: Schema) -> int:
    """Return the number of rows of a file; raise `InvalidData` if it lacks columns."""
    with _open_parquet(part.path) as file:
        found = {*file.schema_arrow.names, *part.constants}
        lacking = [name for name in schema.names if name not in found]
        if lacking:
            raise InvalidData(f"{part.path} lacks the column {lacking[0]!r}, which other files of the directory have.")
        return int(file.metadata.num_rows)


def _read_part(part: _Part, types: Any, rows: int) -> Iterator[Any]:
    """Yield batches of the columns of a `pyarrow.Schema`."""
    stored = [name for name in types.names if name not in part.constants]
    with _open_parquet(part.path) as file:
        if file.metadata.num_rows == 0:  # some versions of pyarrow cannot read a file without row groups
            return
        # If only folder columns are wanted, the first column of the file is read to count the rows.
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


# -------------------------------------------------------------------------------------------------- Arrow


def open_arrow(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open an Arrow file (feather too) or stream; only large batches are mapped into memory.

    Batches are validated: pyarrow would read beyond the end of damaged ones.
    """
    with path.open("rb") as file:
        is_file = file.read(len(ARROW_MAGIC)) == ARROW_MAGIC
    reader = _open_ipc(pa.memory_map(str(path)), is_file)
    schema = Schema.of(reader.schema, name, options.categories)
    first = next(_ipc_batches(reader, is_file), None)
    # A mapped file that another program shortens ends this one; a batch that is copied does not.
    open_bytes = pa.memory_map if first is not None and first.nbytes > _MAX_COPIED_BYTES else pa.OSFile
    n_rows = ds.dataset(str(path), format="ipc").count_rows() if is_file else None

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        used = ipc.IpcReadOptions(included_fields=sorted(schema.names.index(label) for label in names))
        for batch in _ipc_batches(_open_ipc(open_bytes(str(path)), is_file, used), is_file):
            batch.validate(full=True)
            yield batch.select(list(names))

    return TableFile(name, schema, n_rows, read)


def _open_ipc(source: Any, is_file: bool, options: Any = None) -> Any:
    return ipc.open_file(source, options=options) if is_file else ipc.open_stream(source, options=options)


def _ipc_batches(reader: Any, is_file: bool) -> Iterator[Any]:
    return (reader.get_batch(number) for number in range(reader.num_record_batches)) if is_file else iter(reader)


# -------------------------------------------------------------------------------------------------- NumPy


def open_npy(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a file of one array: a matrix, or a vector as its only column."""
    with path.open("rb") as file:
        array = _Array(*_header(file), file.tell())
    if len(array.shape) not in (1, 2):
        raise InvalidData(f"{name} has an array with {len(array.shape)} dimensions; rows and columns are needed.")
    kind = _arrow_type(array.dtype, name)
    if array.begin + array.n_rows * array.n_columns * array.dtype.itemsize > path.stat().st_size:
        raise EOFError("its array is shorter than its header says")
    schema = Schema.of(
        pa.schema([pa.field(label, kind) for label in numbered(array.n_columns)]), name, options.categories, named=False
    )

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        used = [int(label) - 1 for label in names]
        with path.open("rb") as file:
            for begin in range(0, array.n_rows, rows):
                block = array.read(file, begin, min(rows, array.n_rows - begin), used)
                yield _batch(dict(zip(names, _columns(block), strict=True)))

    return TableFile(name, schema, array.n_rows, read)


@dataclass(frozen=True)
class _Array:
    """The array of an npy file, which is read rather than mapped: another program may shorten the file."""

    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]
    begin: int
    """Number of bytes before the first value."""

    @property
    def n_rows(self) -> int:
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        return self.shape[1] if len(self.shape) == 2 else 1

    def read(self, file: IO[bytes], begin: int, count: int, used: Sequence[int]) -> NDArray[Any]:
        """Return some columns of `count` rows from row `begin` on."""
        if not self.by_column:
            self._seek(file, begin * self.n_columns)
            return _take(file, self.dtype, (count, self.n_columns), "C")[:, used]
        block = np.empty((count, len(used)), self.dtype, order="F")
        for place, column in enumerate(used):
            self._seek(file, column * self.n_rows + begin)
            block[:, place] = _take(file, self.dtype, (count,), "C")
        return block

    def _seek(self, file: IO[bytes], position: int) -> None:
        file.seek(self.begin + position * self.dtype.itemsize)


@dataclass(frozen=True)
class _Member:
    """An array of an npz file."""

    entry: str
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]


def open_npz(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a file of several arrays: a matrix X and vectors with its number of rows, or such vectors alone."""
    with zipfile.ZipFile(path) as archive:
        members = {entry.removesuffix(".npy"): _member(archive, entry) for entry in archive.namelist()}
    n_rows = _common_length(members, name)
    fields = []
    for label, member in members.items():
        kind = _arrow_type(member.dtype, f"{name}, array {label!r},")
        fields += [pa.field(column, kind) for column in _labels(label, member)]
    named = all(len(member.shape) == 1 for member in members.values())
    schema = Schema.of(pa.schema(fields), name, options.categories, named=named)

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        used = {label: member for label, member in members.items() if not {*names}.isdisjoint(_labels(label, member))}
        with zipfile.ZipFile(path) as archive:
            streams = [_blocks(archive, member, rows) for member in used.values()]
            for blocks in zip(*streams, strict=True):
                columns: dict[str, NDArray[Any]] = {}
                for (label, member), block in zip(used.items(), blocks, strict=True):
                    columns |= zip(_labels(label, member), _columns(block), strict=True)
                yield _batch({column: columns[column] for column in names})

    return TableFile(name, schema, n_rows, read)


def _member(archive: zipfile.ZipFile, entry: str) -> _Member:
    with archive.open(entry) as file:
        return _Member(entry, *_header(file))


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the shape, whether columns are contiguous, and the type of an array."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_column, dtype = read(file)
    if min(shape, default=0) < 0 or (len(shape) == 2 and shape[1] > MAX_COLUMNS):
        raise ValueError(f"its array has the shape {shape}; at most {MAX_COLUMNS} columns can be read")
    return shape, by_column, dtype


def _common_length(members: Mapping[str, _Member], name: str) -> int:
    """Return the number of rows of all arrays; raise `InvalidData` if they are not columns of one table."""
    lengths = set()
    for label, member in members.items():
        if len(member.shape) != 1 and (label != _MATRIX or len(member.shape) != 2):
            raise InvalidData(
                f"{name} has the array {label!r} of shape {member.shape}. Give one matrix {_MATRIX!r}, and "
                "vectors with its number of rows, like 'y'; or a vector for each column."
            )
        lengths.add(member.shape[0])
    if len(lengths) != 1:
        shapes = ", ".join(f"{label!r} {member.shape}" for label, member in members.items()) or "none"
        raise InvalidData(f"{name} needs arrays of one length; it has {shapes}.")
    return int(lengths.pop())


def _labels(label: str, member: _Member) -> list[str]:
    return numbered(member.shape[1]) if len(member.shape) == 2 else [label]


def _arrow_type(dtype: np.dtype[Any], name: str) -> Any:
    if dtype.kind == "U" and dtype.itemsize:
        return pa.string()
    if dtype.kind in "biufM" and not dtype.hasobject:
        return pa.from_numpy_dtype(dtype.newbyteorder("="))
    raise InvalidData(f"{name} has values of type {dtype}; numbers, booleans, text and dates can be read.")


def _blocks(archive: zipfile.ZipFile, member: _Member, rows: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of an array as they are decompressed."""
    n_rows = member.shape[0]
    with archive.open(member.entry) as file:
        _header(file)
        if member.by_column and len(member.shape) == 2:
            whole = _take(file, member.dtype, member.shape, "F")
            yield from (whole[begin : begin + rows] for begin in range(0, n_rows, rows))
            return
        for begin in range(0, n_rows, rows):
            yield _take(file, member.dtype, (min(rows, n_rows - begin), *member.shape[1:]), "C")


def _take(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], order: Any) -> NDArray[Any]:
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    data = file.read(size)
    if len(data) < size:
        raise EOFError("an array is shorter than its header says")
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _columns(block: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Return the columns of some rows, each contiguous and in native byte order."""
    by_column = np.asfortranarray(block, dtype=block.dtype.newbyteorder("="))
    return iter(by_column.T if block.ndim == 2 else [by_column])


def _batch(columns: Mapping[str, NDArray[Any]]) -> Any:
    arrays = [pa.array(column.tolist() if column.dtype.kind == "U" else column) for column in columns.values()]
    return pa.record_batch(arrays, names=list(columns))
