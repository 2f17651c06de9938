"""Input that can be read only once, like a pipe: copied to a temporary file, which can be read again."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from localsvm.data.files.formats import compression_of, format_of_ending, sniff_compression, sniff_format
from localsvm.errors import CannotWrite

_CHUNK_BYTES = 1 << 20


class Copy:
    """A temporary file with the bytes of a stream; it has no name where the system allows, so that none is left."""

    def __init__(self, stream: Any, name: str) -> None:
        self._file, self.path = _temporary_file()
        try:
            self._fill(stream, name)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Delete the copy."""
        self._file.close()

    def _fill(self, stream: Any, name: str) -> None:
        while chunk := stream.read(_CHUNK_BYTES):
            try:
                self._file.write(chunk)
                self._file.flush()
            except OSError as error:
                raise CannotWrite(
                    f"{name} is copied to {tempfile.gettempdir()!r} to be read more than once, but that failed: "
                    f"{error.strerror or error}. Set TMPDIR to a directory with more space."
                ) from None


def _temporary_file() -> tuple[IO[bytes], Path]:
    """Return a file that is deleted when it is closed, and a path that opens it again."""
    unnamed = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the copy
    # Unlike /dev/fd of other systems, this path opens the file with a position of its own.
    path = Path(f"/proc/self/fd/{unnamed.fileno()}")
    if path.exists():
        return unnamed, path
    unnamed.close()
    named = tempfile.NamedTemporaryFile(prefix="localsvm-")  # noqa: SIM115
    return named, Path(named.name)


def copy_pipe(path: Path, name: str) -> tuple[Copy, str]:
    """Return a copy of a pipe, decompressed, and its format: that of its ending, else that of its content."""
    with open(path, "rb", buffering=0) as pipe:
        copy = Copy(pipe, name)
    format = format_of_ending(path)
    compression = compression_of(path) if format else sniff_compression(copy.path)
    if compression is not None:
        packed = copy
        try:
            with pa.input_stream(os.fspath(packed.path), compression=compression) as stream:
                copy = Copy(stream, name)
        finally:
            packed.close()
    return copy, format or sniff_format(copy.path)
