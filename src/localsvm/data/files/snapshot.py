"""Files that change while they are read: they are refused, as their rows may be of two versions."""

from __future__ import annotations

from pathlib import Path

from localsvm.errors import InvalidData

PARQUET_ENDINGS = ("parquet", "pq")


def parquet_files(directory: Path) -> list[Path]:
    """Return the parquet files of a directory and those below it, sorted by their paths."""
    return sorted(path for ending in PARQUET_ENDINGS for path in directory.rglob(f"*.{ending}") if path.is_file())


class Snapshot:
    """A file, or the parquet files of a directory, as they were at one time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = self._now()

    def check(self, name: str) -> None:
        """Raise `InvalidData` if a file was written, replaced or deleted since then; `name` is for the error."""
        if self._now() != self._state:
            raise InvalidData(
                f"{name} was changed while it was read. Read it again when it is complete, or read a copy of it."
            ) from None

    def _now(self) -> list[tuple[str, int, int, int]]:
        state = []
        for path in parquet_files(self._path) if self._path.is_dir() else [self._path]:
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            state.append((str(path), found.st_ino, found.st_size, found.st_mtime_ns))
        return state
