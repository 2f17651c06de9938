"""The bytes of a file, decompressed, and what its first ones say about it.

Enters: a path. Leaves: a stream of bytes, blocks of whole lines; or an error where the content is of another format
than the name says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from localsvm.data.files.options import compression_of
from localsvm.errors import InvalidData

LONGEST_LINE = 1 << 24
"""Bytes of a line; a longer one is taken for a file that has no lines."""

_MAGIC = {
    b"PAR1": "a parquet file",
    b"ARROW1": "an Arrow file",
    b"FEA1": "a file of the first version of feather, which is not read",
    b"\x93NUMPY": "an npy file",
    b"PK\x03\x04": "an npz file or another zip archive",
    b"\x1f\x8b": "compressed by gzip",
    b"BZh": "compressed by bzip2",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\x04\x22\x4d\x18": "compressed by lz4",
}
_EXPECTED = {"parquet": b"PAR1", "npz": b"PK\x03\x04", "npy": b"\x93NUMPY"}


def open_bytes(path: Path) -> Any:
    """Open a file as a stream of bytes, which are decompressed if its name ends so."""
    return pa.input_stream(str(path), compression=compression_of(path))


def check_content(path: Path, format: str) -> None:
    """Refuse a file whose first bytes are those of another format."""
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise InvalidData(f"{path} is empty.")
    found = next((magic for magic in _MAGIC if start.startswith(magic)), None)
    if format == "arrow":
        is_wrong = found not in (None, b"ARROW1")
    elif format in _EXPECTED:
        is_wrong = found != _EXPECTED[format]
    else:
        is_wrong = found is not None and compression_of(path) is None
    if is_wrong:
        content = "something else" if found is None else _MAGIC[found]
        raise InvalidData(
            f"{path} is taken for {format}, by its name or because you said so, but its first bytes say that it is "
            f"{content}. Rename it, or give its format."
        )


def line_blocks(path: Path, size: int) -> Iterator[bytes]:
    """Yield all bytes of a file in blocks of about `size` that end where lines end."""
    rest = b""
    with open_bytes(path) as stream:
        while chunk := stream.read(size):
            lines, end, rest = (rest + chunk).rpartition(b"\n")
            if end:
                yield lines + end
            elif len(rest) > LONGEST_LINE:
                raise InvalidData(f"{path} has a line of more than {LONGEST_LINE >> 20} MiB. Is it a text file?")
    if rest:
        yield rest
