"""A table of one format as a file of another.

Enters: a source and a destination. Leaves: a file with the same rows and columns, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from localsvm.data.files.opening import open_file
from localsvm.data.files.options import FileOptions
from localsvm.data.files.table import BATCH_ROWS
from localsvm.data.files.writers import open_writer
from localsvm.data.source import block_rows


def convert_file(
    source: Any,
    destination: Any,
    options: FileOptions | None = None,
    written: FileOptions | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> int:
    r"""Write what is in one file to another, a batch of rows at a time.

    Parameters
    ----------
    source : path or DataFrame
        What `open_file` takes.
    destination : path or None
        What `open_writer` takes; it is there when all is written.
    options, written : FileOptions, optional
        How the source is to be read and the destination to be written. Default of `written`: the target of the source.
    on_rows : callable, optional
        Is told how many rows have been written so far.

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
