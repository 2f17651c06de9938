"""Tables in files: csv, LIBSVM, parquet, Arrow, NumPy; read and written a batch of rows at a time.

Enters: a path, or a data frame. Leaves: a `TableFile`, whose batches `to_numbers` turns into rows of numbers; and
batches of rows become a file again, whole or not at all.
"""

try:
    import pyarrow  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "pyarrow":
        raise
    raise ModuleNotFoundError(
        "reading and writing files needs the package 'pyarrow': pip install 'localsvm[files]'", name="pyarrow"
    ) from None

from localsvm.data.files.categories import CategoryCodes
from localsvm.data.files.convert import convert_file
from localsvm.data.files.match import match_columns
from localsvm.data.files.numbers import number_type, to_numbers
from localsvm.data.files.opening import open_file
from localsvm.data.files.options import FileOptions
from localsvm.data.files.schema import Column, Schema
from localsvm.data.files.table import TableFile
from localsvm.data.files.writers import TableWriter, open_writer

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
