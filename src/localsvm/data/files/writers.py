"""Writing tables a batch at a time; a file is there when it is whole, or not at all.

Enters: a path, a schema, and batches. Leaves: a file of the format that its name says.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from localsvm.data.durable import replacing_path
from localsvm.data.files.damage import first_line
from localsvm.data.files.options import STANDARD, FileOptions, compression_of, format_of
from localsvm.data.files.schema import Schema
from localsvm.data.files.write_arrow import write_arrow, write_parquet
from localsvm.data.files.write_npz import write_npz
from localsvm.data.files.write_text import write_csv, write_libsvm
from localsvm.errors import InvalidData, InvalidParameter


class TableWriter(Protocol):
    """Takes the rows of a table in their order; `open_writer` makes one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> from localsvm.data.files import open_file, open_writer
    >>> file = open_file(pa.table({"size": [1.5, 2.5]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "sizes.csv"
    ...     with open_writer(path, file.schema) as writer:
    ...         for batch in file.batches():
    ...             writer.write(batch)
    ...     path.read_text().split()
    ['"size"', '1.5', '2.5']
    """

    def write(self, batch: Any, /) -> None:
        """Write a `pyarrow.RecordBatch` with the columns of the schema."""


WriteText = Callable[[Any, Schema, FileOptions], AbstractContextManager[TableWriter]]


@contextmanager
def open_writer(path: Any, schema: Schema, options: FileOptions | None = None) -> Iterator[TableWriter]:
    """Open a file for writing. It takes its name when all is written; after an error nothing is left.

    Parameters
    ----------
    path : path or None
        Where to; the ending says the format: csv, libsvm, parquet, arrow or npz. "-" and None: csv to standard output.
    schema : Schema
        The columns.
    options : FileOptions, optional
        Another format, delimiter or target, or `header=False`.

    Yields
    ------
    TableWriter
        With a method `write` that takes batches.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from localsvm.data.files import open_file, open_writer
    >>> file = open_file(pa.table({"size": [1.5, 2.5], "colour": ["red", None]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     with open_writer(path, file.schema) as writer:
    ...         for batch in file.batches():
    ...             writer.write(batch)
    ...     print(path.read_text())
    "size","colour"
    1.5,"red"
    2.5,
    """
    options = options or FileOptions()
    if path is None or path == STANDARD:
        if options.format not in (None, "csv"):
            raise InvalidParameter(f"standard output is csv, not {options.format}: give the name of a file.")
        with write_csv(sys.stdout.buffer, schema, options) as writer:
            yield writer
        sys.stdout.buffer.flush()
        return
    path = Path(os.fspath(path))
    with _unfinished(path) as unfinished, _open(path, unfinished, schema, options) as writer:
        yield writer


@contextmanager
def _unfinished(path: Path) -> Iterator[Path]:
    """Give a path to write to, which becomes the other if nothing goes wrong."""
    if not path.parent.is_dir():
        raise InvalidParameter(f"{path} cannot be written: there is no directory {str(path.parent)!r}. Make it first.")
    if path.is_dir():
        raise InvalidParameter(f"{path} cannot be written: it is a directory. Give the name of a file.")
    if path.exists() and not path.is_file():  # a device or a pipe, which is not to be replaced
        yield path
        return
    with replacing_path(path) as unfinished:
        yield unfinished


@contextmanager
def _open(path: Path, unfinished: Path, schema: Schema, options: FileOptions) -> Iterator[TableWriter]:
    """Open a file that is not finished for writing in the format of the one that it will be."""
    format = format_of(path, options)
    try:
        with _writer(format, path, unfinished, schema, options) as writer:
            yield writer
    except pa.ArrowNotImplementedError as error:
        raise InvalidData(f"{path} cannot be written as {format}: {first_line(error)}.") from None


def _writer(
    format: str, path: Path, unfinished: Path, schema: Schema, options: FileOptions
) -> AbstractContextManager[TableWriter]:
    match format:
        case "csv":
            return _text(write_csv, path, unfinished, schema, options)
        case "libsvm":
            return _text(write_libsvm, path, unfinished, schema, options)
        case "parquet":
            return write_parquet(unfinished, schema)
        case "arrow":
            return write_arrow(unfinished, schema, stream=path.suffix.lower() == ".arrows")
        case "npz":
            return write_npz(unfinished, schema)
    raise InvalidParameter(f"{path}: tables are not written as {format}; use csv, libsvm, parquet, arrow or npz.")


@contextmanager
def _text(
    write: WriteText, path: Path, unfinished: Path, schema: Schema, options: FileOptions
) -> Iterator[TableWriter]:
    output = pa.output_stream(str(unfinished), compression=compression_of(path))
    with output as sink, write(sink, schema, options) as writer:
        yield writer
