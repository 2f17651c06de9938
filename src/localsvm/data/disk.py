"""Rows on disk: flat files that are read by number and never held in memory.

Enters: rows, block by block. Leaves: `RowFile`, a `RowSource`. The files have no names: they are gone when the process
ends, however it ends.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.source import block_rows, row_blocks
from localsvm.errors import InvalidData

_WINDOW_BYTES = 4 << 20  # rows that lie so near are read together
_GAP_BYTES = 64 << 10  # but not across more than this that is not needed
_COLUMNS_BYTES = 128 << 20


class RowFile:
    """Rows of numbers in a file without a name."""

    def __init__(self, shape: tuple[int, int], dtype: Any, directory: str | os.PathLike[str]) -> None:
        self.shape: tuple[int, ...] = shape
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._row_bytes = shape[1] * self.dtype.itemsize
        self._lock = threading.Lock()
        self.directory = str(directory)
        _check_space(self.directory, shape[0] * self._row_bytes)
        try:
            self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115 - open as long as the rows
        except OSError as error:
            raise InvalidData(f"no file can be made in {self.directory!r}: {error.strerror}.") from None
        weakref.finalize(self, self._file.close)  # without which Python warns that it was not closed

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def close(self) -> None:
        """Free the space on the disk."""
        self._file.close()

    def append(self, rows: NDArray[Any]) -> None:
        """Write rows behind the last one."""
        self.write(len(self), rows)
        self.shape = (len(self) + len(rows), self.shape[1])

    def write(self, begin: int, rows: NDArray[Any]) -> None:
        """Write rows from row number `begin` on."""
        left = np.ascontiguousarray(rows, dtype=self.dtype).data.cast("B")
        offset = begin * self._row_bytes
        try:
            while left:
                written = self._write_at(left, offset)
                left, offset = left[written:], offset + written
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise _no_space(self.directory, offset + len(left)) from None

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """Return the rows from number `begin` to before `end`."""
        out = np.empty((end - begin, self.shape[1]), dtype=self.dtype)
        left = out.data.cast("B") if out.size else memoryview(b"")
        offset = begin * self._row_bytes
        while left:
            count = self._read_at(left, offset)
            assert count, "rows are read that were never written"
            left, offset = left[count:], offset + count
        return out

    def _read_at(self, out: memoryview, offset: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [out], offset)
        with self._lock:  # Windows: threads share the position in the file
            self._file.seek(offset)
            return self._file.readinto(out)

    def _write_at(self, part: memoryview, offset: int) -> int:
        if hasattr(os, "pwrite"):
            return os.pwrite(self._file.fileno(), part, offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.write(part)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> NDArray[Any]:
        """Return some rows, given by a slice without steps or by their numbers."""
        if isinstance(rows, slice):
            begin, end, _ = rows.indices(len(self))
            return self.read(begin, max(begin, end))
        return self._gather(np.asarray(rows))

    def columns(self, wanted: Sequence[int]) -> Iterator[NDArray[Any]]:
        """Yield some columns; as many as fit in memory are gathered in one reading of the file."""
        at_once = max(1, _COLUMNS_BYTES // max(1, len(self) * self.dtype.itemsize))
        for begin in range(0, len(wanted), at_once):
            group = list(wanted[begin : begin + at_once])
            gathered = np.empty((len(group), len(self)), dtype=self.dtype)
            for block in row_blocks(0, len(self), block_rows(self.shape[1])):
                gathered[:, block] = self[block][:, group].T
            yield from gathered

    def _gather(self, numbers: NDArray[np.integer]) -> NDArray[Any]:
        """Read the windows that the numbers lie in, in the order of the file."""
        out = np.empty((len(numbers), self.shape[1]), dtype=self.dtype)
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        begin = 0
        for end in self._window_ends(ascending):
            first, last = int(ascending[begin]), int(ascending[end - 1])
            out[order[begin:end]] = self.read(first, last + 1)[ascending[begin:end] - first]
            begin = end
        return out

    def _window_ends(self, ascending: NDArray[np.integer]) -> list[int]:
        """Return where windows end in ascending row numbers: at a wide gap, or when they are large."""
        gap, window = (max(1, size // max(self._row_bytes, 1)) for size in (_GAP_BYTES, _WINDOW_BYTES))
        ends = []
        parts = np.split(np.arange(len(ascending)), np.flatnonzero(np.diff(ascending) > gap) + 1)
        for part in parts:
            while len(part):
                inside = int(np.searchsorted(ascending[part], ascending[part[0]] + window))
                ends.append(int(part[inside - 1]) + 1)
                part = part[inside:]
        return ends


def _check_space(directory: str, n_bytes: int) -> None:
    try:
        free = shutil.disk_usage(directory).free
    except OSError as error:
        raise InvalidData(f"the directory {directory!r} cannot be used: {error.strerror}.") from None
    if n_bytes > free:
        raise _no_space(directory, n_bytes)


def _no_space(directory: str, n_bytes: int) -> InvalidData:
    free = shutil.disk_usage(directory).free
    return InvalidData(
        f"rows on disk take {n_bytes / 1e9:.3g} GB, but {directory!r} has {free / 1e9:.3g} GB of free space. Name a "
        "directory on a larger disk."
    )
