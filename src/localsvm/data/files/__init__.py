"""Tables in files: csv, LIBSVM, parquet, Arrow and NumPy, read and written in batches of rows.

`open_file` opens a path or a data frame as a `TableFile`, `to_numbers` converts its batches to rows of numbers, and
`open_writer` writes batches to a file. Files are read in memory that does not depend on their number of rows.
"""

try:
    import pyarrow  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "pyarrow":
        raise
    raise ModuleNotFoundError(
        "reading and writing files needs the package 'pyarrow': pip install 'localsvm[files]'", name="pyarrow"
    ) from None

from localsvm.data.files.formats import FileOptions
from localsvm.data.files.numbers import CategoryCodes, number_type, to_numbers
from localsvm.data.files.opening import open_file
from localsvm.data.files.table import Column, Schema, TableFile, match_columns
from localsvm.data.files.writers import TableWriter, convert_file, open_writer

__all__ = [
    "CategoryCodes",
    "Column",
    "FileOptions",
    "Schema",
    "TableFile",
    "TableWriter",
    "convert_file",
    "match_columns",
    "number_type",
    "open_file",
    "open_writer",
    "to_numbers",
]
