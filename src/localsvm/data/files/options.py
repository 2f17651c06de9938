"""How a file is to be read or written, and what its name says about it.

Enters: what the user said, and a path. Leaves: `FileOptions`, a format and a compression.
"""

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
"""Formats by the ending of a name."""

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""Compressions of text, by a second ending."""

FORMATS = tuple(dict.fromkeys(ENDINGS.values()))

STANDARD = "-"
"""The name of standard input and standard output."""


@dataclass(frozen=True)
class FileOptions:
    """What a file does not say about itself, or not reliably; None is found out.

    Parameters
    ----------
    format : {"csv", "libsvm", "parquet", "arrow", "npz", "npy"}, optional
        Default: by the ending of the name.
    delimiter : str, optional
        What separates the values of a csv file, one character.
    header : bool, optional
        Whether the first line of a csv file has the names of the columns.
    decimal : {".", ","}, optional
        The decimal point of a csv file.
    encoding : str, optional
        How the text of a csv file is encoded. Default: UTF-8, or UTF-16 where the file begins with its mark.
    missing_values : tuple of str
        Words for a missing value in a csv file, besides the usual ones: nothing, NA, N/A, NaN, null, None, "?".
    categories : tuple of str
        Columns that are categories whatever they look like.
    numbers : tuple of str
        Columns of a csv file that are numbers whatever they look like.
    target : str, default="target"
        The column that the labels of a LIBSVM file are.
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
        """Refuse what makes no sense."""
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
    """Return the format of a file, given or by the ending of its name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from localsvm.data.files.options import FileOptions, format_of
    >>> format_of(Path("train.csv.gz"), FileOptions()), format_of(Path("a.t"), FileOptions(format="libsvm"))
    ('csv', 'libsvm')
    """
    if options.format is not None:
        return options.format
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    if endings and endings[-1] in ENDINGS:
        return ENDINGS[endings[-1]]
    known = ", ".join(dict.fromkeys(ENDINGS))
    raise InvalidData(
        f"{path}: the ending does not say what is in the file. Known ones are {known}; or give the format, one of "
        f"{', '.join(FORMATS)}."
    )


def compression_of(path: Path) -> str | None:
    """Return the compression of a file by the ending of its name, None if it is not compressed."""
    return COMPRESSIONS.get(path.suffix.lower())
