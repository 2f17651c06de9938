"""Writing tables in batches, and converting files. A file appears under its name only when it is complete."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from localsvm.data.durable import replacing_path
from localsvm.data.files.format_writers import write_arrow, write_csv, write_libsvm, write_npz, write_parquet
from localsvm.data.files.formats import STANDARD, FileOptions, compression_of, format_of
from localsvm.data.files.opening import open_file
from localsvm.data.files.reading import first_line
from localsvm.data.files.table import BATCH_ROWS, Schema
from localsvm.data.source import block_rows
from localsvm.errors import InvalidData, InvalidParameter


class TableWriter(Protocol):
    """Writes the rows of a table in order; made by `open_writer`.

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
    """Open a file for writing. It gets its name when it is complete; after an error an existing file is unchanged.

    Parameters
    ----------
    path : path or None
        The file; its ending determines the format: csv, libsvm, parquet, arrow or npz. "-" and None write csv to
        standard output.
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
    """Yield a temporary path that replaces `path` if no error occurs."""
    if not path.parent.is_dir():
        raise InvalidParameter(f"{path} cannot be written: there is no directory {str(path.parent)!r}. Make it first.")
    if path.is_dir():
        raise InvalidParameter(f"{path} cannot be written: it is a directory. Give the name of a file.")
    if path.exists() and not path.is_file():  # a device or a pipe, which must not be replaced
        yield path
        return
    with replacing_path(path) as unfinished:
        yield unfinished


@contextmanager
def _open(path: Path, unfinished: Path, schema: Schema, options: FileOptions) -> Iterator[TableWriter]:
    """Open the unfinished file for writing, in the format of the final path."""
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


def convert_file(
    source: Any,
    destination: Any,
    options: FileOptions | None = None,
    written: FileOptions | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> int:
    r"""Write the rows and columns of one file to another, in batches.

    Parameters
    ----------
    source : path or DataFrame
        As for `open_file`.
    destination : path or None
        As for `open_writer`.
    options, written : FileOptions, optional
        Options for reading the source and for writing the destination. Default of `written`: the target of `options`.
    on_rows : callable, optional
        Called after every batch with the number of rows written so far.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from localsvm.data.files import convert_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, sparse = Path(folder, "table.csv"), Path(folder, "sparse.libsvm")
    ...     _ = table.write_text("target,size,age\n1,0.5,0\n-1,0,31\n")
    ...     convert_file(table, sparse)
    ...     print(sparse.read_text())
    2
    1 1:0.5 2:0
    -1 2:31
    """
    options = options or FileOptions()
    file = open_file(source, options)
    n_rows = 0
    with open_writer(destination, file.schema, written or FileOptions(target=options.target)) as writer:
        for batch in file.batches(rows=block_rows(len(file.schema.names), BATCH_ROWS)):
            writer.write(batch)
            n_rows += batch.num_rows
            if on_rows is not None:
                on_rows(n_rows)
    return n_rows
