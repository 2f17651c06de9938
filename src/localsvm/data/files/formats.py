"""File formats: options for reading and writing, and the format of a file by its name and by its first bytes."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from localsvm.errors import InvalidData, InvalidParameter

ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".data": "csv",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".npy": "npy",
}
"""Formats by the ending of a file name."""

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""Compressions of text files, by a second ending."""

FORMATS = tuple(dict.fromkeys(ENDINGS.values()))

STANDARD = "-"
"""The name of standard input and standard output."""

ARROW_MAGIC = b"ARROW1"

_MAGIC = {
    b"PAR1": "a parquet file",
    ARROW_MAGIC: "an Arrow file",
    b"FEA1": "a file of feather version 1, which is not supported",
    b"\x93NUMPY": "an npy file",
    b"PK\x03\x04": "an npz file or another zip archive",
    b"\x1f\x8b": "a file compressed with gzip",
    b"BZh": "a file compressed with bzip2",
    b"\x28\xb5\x2f\xfd": "a file compressed with zstd",
    b"\x04\x22\x4d\x18": "a file compressed with lz4",
}
_EXPECTED = {"parquet": b"PAR1", "npz": b"PK\x03\x04", "npy": b"\x93NUMPY"}


@dataclass(frozen=True)
class FileOptions:
    """Options for reading and writing a file. What is None is detected.

    Parameters
    ----------
    format : {"csv", "libsvm", "parquet", "arrow", "npz", "npy"}, optional
        Default: by the ending of the name.
    delimiter : str, optional
        The character that separates the values of a csv file.
    header : bool, optional
        Whether the first line of a csv file contains the names of the columns.
    decimal : {".", ","}, optional
        The decimal point of a csv file.
    encoding : str, optional
        Text encoding of a csv file. Default: UTF-8, or UTF-16 if the file begins with its byte order mark.
    missing_values : tuple of str
        Words for a missing value in a csv file, in addition to the empty value, NA, N/A, NaN, null, None and "?".
    categories : tuple of str
        Columns to treat as categorical, whatever their type.
    numbers : tuple of str
        Columns of a csv file to treat as numeric, whatever their first values are.
    target : str, default="target"
        Name of the column with the labels of a LIBSVM file.
    n_features : int, optional
        Largest index of a LIBSVM file. Default: the file is read once to find it.

    Examples
    --------
    >>> from localsvm.data.files import FileOptions
    >>> FileOptions(delimiter=";", missing_values=("unknown",)).delimiter
    ';'
    """

    format: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing_values: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    target: str = "target"
    n_features: int | None = None

    def __post_init__(self) -> None:
        """Raise `InvalidParameter` for values that are not allowed."""
        if self.format is not None and self.format not in FORMATS:
            raise InvalidParameter(f"format={self.format!r} is unknown; use one of {', '.join(FORMATS)}.")
        if self.delimiter is not None and not _is_delimiter(self.delimiter):
            raise InvalidParameter(
                f"delimiter={self.delimiter!r}: give one ASCII character other than a quote or a line break."
            )
        if self.decimal not in (None, ".", ","):
            raise InvalidParameter(f"decimal={self.decimal!r}: give '.' or ','.")
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise InvalidParameter(f"encoding={self.encoding!r} is unknown; give one like 'utf-8' or 'latin-1'.")
        if self.n_features is not None and self.n_features < 1:
            raise InvalidParameter(f"n_features={self.n_features!r}: a number of at least 1 is needed.")


def _is_delimiter(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in '"\r\n\0'


def _is_encoding(name: str) -> bool:
    try:
        return bool(codecs.lookup(name)._is_text_encoding)
    except LookupError:
        return False


def format_of(path: Path, options: FileOptions) -> str:
    """Return the format given in the options, else the one of the file's ending."""
    if options.format is not None:
        return options.format
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    if endings and endings[-1] in ENDINGS:
        return ENDINGS[endings[-1]]
    raise InvalidData(
        f"{path}: the format is unknown, because the name has none of the endings {', '.join(ENDINGS)}. Rename the "
        f"file, or give its format, one of {', '.join(FORMATS)}."
    )


def compression_of(path: Path) -> str | None:
    """Return the compression of a file by its ending, None if it is not compressed."""
    return COMPRESSIONS.get(path.suffix.lower())


def check_content(path: Path, format: str) -> None:
    """Raise `InvalidData` if the first bytes of a file are those of another format."""
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise InvalidData(f"{path} is empty.")
    found = next((magic for magic in _MAGIC if start.startswith(magic)), None)
    if format == "arrow":
        is_wrong = found not in (None, ARROW_MAGIC)
    elif format in _EXPECTED:
        is_wrong = found != _EXPECTED[format]
    else:
        is_wrong = found is not None and compression_of(path) is None
    if is_wrong:
        content = "another format" if found is None else _MAGIC[found]
        raise InvalidData(
            f"{path} is expected to be {format}, by its name or the given format, but its first bytes are those of "
            f"{content}. Rename it, or give its format."
        )
