"""Arrays of NumPy in files: npy with a matrix; npz with the arrays X and y, or with a vector for each column.

Enters: a path. Leaves: a `TableFile`. Nothing is unpickled. Arrays are read as they stand in the file, from the first
row on; only a matrix that an npz file has column by column is read whole.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from localsvm.data.files.options import FileOptions
from localsvm.data.files.schema import Schema, numbered
from localsvm.data.files.table import TableFile
from localsvm.errors import InvalidData

MATRIX = "X"
"""The array of an npz file that may have several columns."""

_ENDING = ".npy"


def open_npy(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a file with one array: a matrix, or a vector as its only column."""
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    if mapped.ndim not in (1, 2):
        raise InvalidData(f"{name} has an array with {mapped.ndim} dimensions; rows and columns are needed.")
    X = mapped if mapped.ndim == 2 else mapped[:, None]
    fields = [pa.field(label, _arrow_type(X.dtype, name)) for label in numbered(X.shape[1])]
    schema = Schema.of(pa.schema(fields), name, options.categories, named=False)

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        used = [int(label) - 1 for label in names]
        for begin in range(0, len(X), rows):
            yield _batch(dict(zip(names, _columns(X[begin : begin + rows, used]), strict=True)))

    return TableFile(name, schema, len(X), read)


@dataclass(frozen=True)
class _Member:
    """An array in an npz file."""

    entry: str
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype[Any]


def open_npz(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a file of several arrays: X and vectors as long as it has rows, or such vectors alone."""
    with zipfile.ZipFile(path) as archive:
        members = {entry.removesuffix(_ENDING): _member(archive, entry) for entry in archive.namelist()}
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
        shape, by_column, dtype = _header(file)
    return _Member(entry, shape, by_column, dtype)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_column, dtype = read(file)
    return shape, by_column, dtype


def _common_length(members: Mapping[str, _Member], name: str) -> int:
    """Return how many rows all arrays have; refuse those that are no columns of one table."""
    lengths = set()
    for label, member in members.items():
        if len(member.shape) != 1 and (label != MATRIX or len(member.shape) != 2):
            raise InvalidData(
                f"{name} has the array {label!r} of shape {member.shape}. Give one matrix {MATRIX!r}, and vectors as "
                "long as it has rows, like 'y'; or a vector for each column."
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
    raise InvalidData(f"{name} has values of type {dtype}; numbers, truth values, text and dates are read.")


def _blocks(archive: zipfile.ZipFile, member: _Member, rows: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of an array as they come out of the archive."""
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
        raise EOFError("an array is shorter than it says")
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _columns(block: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Return the columns of some rows, each contiguous and in the byte order of the machine."""
    by_column = np.asfortranarray(block, dtype=block.dtype.newbyteorder("="))
    return iter(by_column.T if block.ndim == 2 else [by_column])


def _batch(columns: Mapping[str, NDArray[Any]]) -> Any:
    arrays = [pa.array(column.tolist() if column.dtype.kind == "U" else column) for column in columns.values()]
    return pa.record_batch(arrays, names=list(columns))
