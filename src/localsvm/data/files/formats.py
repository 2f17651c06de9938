"""File formats: options for reading and writing, and the format of a file by its name and by its first bytes."""

from __future__ import annotations

import codecs
import re
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
_COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_FORMAT_MAGIC = {
    b"PAR1": "parquet",
    ARROW_MAGIC: "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
}
_SNIFFED_BYTES = 1 << 16
_LIBSVM_LINE = re.compile(rb"[+-]?[\d.][\d.eE+-]*(\s+qid:\d+)?(\s+\d+:[+-]?[\d.][\d.eE+-]*)*")
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
    format = options.format or format_of_ending(path)
    if format is not None:
        return format
    raise InvalidData(
        f"{path}: the format is unknown, because the name has none of the endings {', '.join(ENDINGS)}. Rename the "
        f"file, or give its format, one of {', '.join(FORMATS)}."
    )


def format_of_ending(path: Path) -> str | None:
    """Return the format of a file by its ending, None if that is unknown."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    return ENDINGS.get(endings[-1]) if endings else None


def compression_of(path: Path) -> str | None:
    """Return the compression of a file by its ending, None if it is not compressed."""
    return COMPRESSIONS.get(path.suffix.lower())


def sniff_compression(path: Path) -> str | None:
    """Return the compression of a file by its first bytes, None if it is not compressed."""
    return _COMPRESSION_MAGIC.get(_magic_of(path) or b"")


def sniff_format(path: Path) -> str:
    """Return the format of a file that is not compressed, by its content; csv if it is no other one."""
    with path.open("rb") as file:
        start = file.read(_SNIFFED_BYTES)
    found = next((format for magic, format in _FORMAT_MAGIC.items() if start.startswith(magic)), None)
    return found or ("libsvm" if _is_libsvm(start) else "csv")


def _is_libsvm(start: bytes) -> bool:
    """Return whether all lines are those of a LIBSVM file, and one has an index; the last may be cut off."""
    text = start if len(start) < _SNIFFED_BYTES else start[: max(start.rfind(b"\n"), start.rfind(b" "))]
    lines = [line.partition(b"#")[0].strip() for line in text.split(b"\n")]
    return any(b":" in line for line in lines) and all(_LIBSVM_LINE.fullmatch(line) for line in lines if line)


def _magic_of(path: Path) -> bytes | None:
    with path.open("rb") as file:
        start = file.read(8)
    return next((magic for magic in _MAGIC if start.startswith(magic)), None)


def check_content(path: Path, format: str, name: str) -> None:
    """Raise `InvalidData` if the first bytes of a file are those of another format; `name` is for the error."""
    found = _magic_of(path)
    if found is None and path.stat().st_size == 0:
        raise InvalidData(f"{name} is empty.")
    if format == "arrow":
        is_wrong = found not in (None, ARROW_MAGIC)
    elif format in _EXPECTED:
        is_wrong = found != _EXPECTED[format]
    else:
        is_wrong = found is not None and compression_of(path) is None
    if is_wrong:
        content = "another format" if found is None else _MAGIC[found]
        raise InvalidData(
            f"{name} is expected to be {format}, by its name or the given format, but its first bytes are those of "
            f"{content}. Rename it, or give its format."
        )
