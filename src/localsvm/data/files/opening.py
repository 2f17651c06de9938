"""Opening a table wherever it is.

Enters: a path, "-" or a data frame. Leaves: a `TableFile` of the right format.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from localsvm.data.files.arrow_file import open_arrow
from localsvm.data.files.bytes import check_content
from localsvm.data.files.csv_file import open_csv
from localsvm.data.files.damage import explained
from localsvm.data.files.frame_file import FRAME, open_frame
from localsvm.data.files.libsvm_file import open_libsvm
from localsvm.data.files.numpy_file import open_npy, open_npz
from localsvm.data.files.options import STANDARD, FileOptions, format_of
from localsvm.data.files.parquet_file import open_parquet
from localsvm.data.files.table import TableFile
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


def open_file(source: Any, options: FileOptions | None = None) -> TableFile:
    r"""Open a table for reading in batches.

    Parameters
    ----------
    source : path or DataFrame
        A file, a directory of parquet files, "-" for standard input (csv, unless the options say otherwise), or a frame
        of pandas, polars or pyarrow.
    options : FileOptions, optional
        What the file does not say about itself.

    Returns
    -------
    TableFile
        Its schema, and batches of its rows.

    Raises
    ------
    InvalidData
        The file is not there, or not what its name says; also later, where it turns out to be damaged.

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
        with explained(FRAME):
            return open_frame(source, options)
    if source == STANDARD:
        return _open_standard_input(options)
    return _open_path(Path(os.fspath(source)), str(source), options)


def _open_path(path: Path, name: str, options: FileOptions) -> TableFile:
    with explained(name):
        if path.is_dir() and options.format in (None, "parquet"):
            return open_parquet(path, name, options)
        if not path.exists():
            raise InvalidData(f"{name}: there is no such file.")
        format = format_of(path, options)
        check_content(path, format)
        return _OPEN[format](path, name, options)


def _open_standard_input(options: FileOptions) -> TableFile:
    """Copy standard input to a temporary file, which can be read again and goes when nobody has it any more."""
    copy = tempfile.NamedTemporaryFile(prefix="localsvm-")  # noqa: SIM115
    shutil.copyfileobj(sys.stdin.buffer, copy)
    copy.flush()
    options = replace(options, format=options.format or "csv")
    file = _open_path(Path(copy.name), "standard input", options)
    weakref.finalize(file, copy.close)
    return file
