"""Opening a table for reading: a file of any format, a pipe, standard input, or a data frame."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from localsvm.data.files.binary_readers import open_arrow, open_npy, open_npz, open_parquet
from localsvm.data.files.csv_reader import open_csv
from localsvm.data.files.formats import STANDARD, FileOptions, check_content, format_of
from localsvm.data.files.libsvm_reader import open_libsvm
from localsvm.data.files.pipes import Copy, copy_pipe
from localsvm.data.files.reading import explained
from localsvm.data.files.snapshot import Snapshot
from localsvm.data.files.table import Schema, TableFile
from localsvm.data.frames import is_frame
from localsvm.errors import InvalidData

Open = Callable[[Path, str, FileOptions], TableFile]

_OPEN: Mapping[str, Open] = {
    "csv": open_csv,
    "libsvm": open_libsvm,
    "parquet": open_parquet,
    "arrow": open_arrow,
    "npz": open_npz,
    "npy": open_npy,
}

_FRAME = "the data frame"
_STANDARD_INPUT = "standard input"


def open_file(source: Any, options: FileOptions | None = None) -> TableFile:
    r"""Open a table for reading in batches.

    Parameters
    ----------
    source : path or DataFrame
        A file, a directory of parquet files, a pipe (read once, through a temporary file; its format is that of its
        ending or of its content), "-" for standard input (csv, unless the options name another format), or a data
        frame of pandas, polars or pyarrow.
    options : FileOptions, optional
        What cannot be detected, or is to be read differently.

    Returns
    -------
    TableFile
        Its schema, and batches of its rows.

    Raises
    ------
    InvalidData
        The file does not exist, or is not of the format that its name says. Damage that is found later, while batches
        are read, raises the same error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from localsvm.data.files import open_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("age;colour\n30;red\n31.5;\n")
    ...     file = open_file(path)
    ...     [(column.name, column.kind) for column in file.schema.columns]
    ...     [batch.to_pydict() for batch in file.batches()]
    [('age', 'number'), ('colour', 'category')]
    [{'age': [30.0, 31.5], 'colour': ['red', None]}]
    """
    options = options or FileOptions()
    if is_frame(source):
        with explained(_FRAME):
            return _open_frame(source, options)
    if source == STANDARD:
        return _open_standard_input(options)
    return _open_path(Path(os.fspath(source)), str(source), options)


def _open_path(path: Path, name: str, options: FileOptions) -> TableFile:
    with explained(name):
        if not path.exists():
            raise InvalidData(f"{name}: there is no such file.")
        if not (path.is_file() or path.is_dir()):
            copy, format = copy_pipe(path, name)
            return _open_copy(copy, name, replace(options, format=options.format or format))
        snapshot = Snapshot(path)
        is_dataset = path.is_dir() and options.format in (None, "parquet")
        file = (open_parquet if is_dataset else _open_regular)(path, name, options)
        return replace(file, snapshot=snapshot)


def _open_regular(path: Path, name: str, options: FileOptions) -> TableFile:
    format = format_of(path, options)
    check_content(path, format, name)
    return _OPEN[format](path, name, options)


def _open_standard_input(options: FileOptions) -> TableFile:
    with explained(_STANDARD_INPUT):
        copy = Copy(sys.stdin.buffer, _STANDARD_INPUT)
        return _open_copy(copy, _STANDARD_INPUT, replace(options, format=options.format or "csv"))


def _open_copy(copy: Copy, name: str, options: FileOptions) -> TableFile:
    """Open a temporary file, which is deleted with the `TableFile`."""
    try:
        file = _open_regular(copy.path, name, options)
    except BaseException:
        copy.close()
        raise
    weakref.finalize(file, copy.close)
    return file


def _open_frame(frame: Any, options: FileOptions) -> TableFile:
    """Open a data frame like a file; numeric columns of pandas without missing values are not copied."""
    table = _as_arrow(frame)
    named = all(isinstance(label, str) for label in getattr(frame, "columns", ())) or isinstance(frame, pa.Table)
    schema = Schema.of(table.schema, _FRAME, options.categories, named=named)

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        return iter(table.select(list(names)).to_batches(max_chunksize=rows))

    return TableFile(_FRAME, schema, table.num_rows, read)


def _as_arrow(frame: Any) -> Any:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    return pa.Table.from_pandas(frame, preserve_index=False)
