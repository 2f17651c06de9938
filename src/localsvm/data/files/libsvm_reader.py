"""Reader of LIBSVM (SVMlight) files: a label and the non-zero values with their indices.

    1 3:0.5 17:-2.25
    -1 1:1

The columns are the labels, then dense columns named by their index, from 1, or from 0 if the file has that index, to
the largest one. An index that the file does not have is a column of zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from localsvm.data.files.formats import FileOptions
from localsvm.data.files.reading import READ_ERRORS, first_line, line_blocks, shown
from localsvm.data.files.table import MAX_COLUMNS, Column, Schema, TableFile, check_names
from localsvm.errors import InvalidData

_BLOCK_BYTES = 1 << 22
_MAX_INDEX = 2**31 - 2
_ENTRY = re.compile(rb"(\d{1,18}):(\S+)")
_QUERY = b"qid:"


def open_libsvm(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a LIBSVM file; unless its largest index is given, the file is read once to find it."""
    extent = _Extent(None, 1, options.n_features) if options.n_features else _find_extent(path, name)
    if extent.last > MAX_COLUMNS:
        raise InvalidData(
            f"{name} has the index {extent.last}; {MAX_COLUMNS} is the largest that can be read, as rows become dense."
        )
    labels = Column(options.target, pa.float64(), "number")
    indices = (Column(str(index), pa.float64(), "number") for index in range(extent.first, extent.last + 1))
    schema = Schema((labels, *indices), named=False, sparse=True)
    check_names(schema.names, name, MAX_COLUMNS + 2)  # labels, and index 0

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        return _read(path, name, names, options.target, rows)

    return TableFile(name, schema, extent.n_rows, read)


@dataclass(frozen=True)
class _Extent:
    """The number of rows, the smallest and the largest index of a file."""

    n_rows: int | None
    first: int
    last: int


def _find_extent(path: Path, name: str) -> _Extent:
    n_rows, first, last = 0, 1, 0
    for block in line_blocks(path, name, _BLOCK_BYTES):
        for line in block.split(b"\n"):
            entries = _ends(line)
            n_rows += bool(entries)
            # Indices ascend, so the first and the last of a line are enough. Bad ones are reported when they are read.
            for entry in entries[1:3] + entries[-1:]:
                if found := _ENTRY.fullmatch(entry):
                    first, last = min(first, int(found[1])), max(last, int(found[1]))
    if n_rows == 0:
        raise InvalidData(f"{name} is empty: it has no line with a label.")
    return _Extent(n_rows, first, last)


def _ends(line: bytes) -> list[bytes]:
    """Return the label, the first two entries and the last entry of a line; an empty list for an empty line."""
    body = line.partition(b"#")[0]
    first = body.split(None, 3)[:3]
    return first + body.rsplit(None, 1)[-1:] if first else []


def _read(path: Path, name: str, names: tuple[str, ...], target: str, rows: int) -> Iterator[Any]:
    line_number = 1
    for block in line_blocks(path, name, _BLOCK_BYTES):
        X, y = _parse(block, name, line_number)
        line_number += block.count(b"\n")
        for begin in range(0, len(y), rows):
            part = slice(begin, begin + rows)
            yield _dense(X[part], y[part], names, target)


def _parse(block: bytes, name: str, line_number: int) -> tuple[Any, NDArray[np.float64]]:
    """Parse lines; an error names the first wrong line, where the first of the block is `line_number`."""
    try:
        return tuple(load_svmlight_file(BytesIO(block), zero_based=True))
    except READ_ERRORS as error:
        reason = first_line(error)
    for number, line in enumerate(block.split(b"\n"), line_number):
        wrong = _wrong_with(line)
        if wrong is not None:
            raise InvalidData(f"{name}: line {number} {wrong}. A line is a label, then index:value, indices ascending.")
    raise InvalidData(f"{name} cannot be read as LIBSVM format: {reason}.")


def _wrong_with(line: bytes) -> str | None:
    """Return what is wrong with a line, None if it is correct."""
    label, *entries = line.partition(b"#")[0].split() or [b"0"]
    if not _is_float(label):
        return f"has the label {_text(label)}, which is not a number"
    previous = -1
    for entry in entries[1:] if entries[:1] and entries[0].startswith(_QUERY) else entries:
        found = _ENTRY.fullmatch(entry)
        if found is None or not _is_float(found[2]):
            return f"has {_text(entry)} where index:value is expected"
        index = int(found[1])
        if index > _MAX_INDEX:
            return f"has the index {index}, which is too large"
        if index <= previous:
            return f"has the index {index} after {previous}"
        previous = index
    return None


def _is_float(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(entry: bytes) -> str:
    return shown(entry.decode(errors="replace"))


def _dense(X: Any, y: NDArray[np.float64], names: tuple[str, ...], target: str) -> Any:
    """Return sparse rows as a dense batch; columns that X does not have are zero."""
    indices = [int(name) for name in names if name != target]
    X.resize(len(y), max(indices, default=0) + 1)
    columns = iter(X[:, indices].toarray(order="F").T)
    return pa.record_batch([pa.array(y if name == target else next(columns)) for name in names], names=list(names))
