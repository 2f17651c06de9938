"""Files that are written whole or not at all, and are on the disk when the writer returns.

Enters: a path. Leaves: the file, in the place of what was there. A reader, and a power failure, find the old file or
the new one, never a part: it is written under another name in the same directory, synchronised, and renamed.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from localsvm.errors import CannotWrite

SUFFIX = ".part"
"""How files end that are being written. Those of a process that was killed stay behind."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` when the block ends without an error."""
    with replacing_path(path) as part, open(part, "xb") as file:
        yield file


@contextmanager
def replacing_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give another path to write to, for writers that open files themselves; see `replacing`."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise CannotWrite(f"cannot write {str(path)!r}: it is there and is not a file. Give the path of a file.")
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}{SUFFIX}")
    try:
        yield part
        with open(part, "rb") as written:
            os.fsync(written.fileno())
        os.replace(part, target)
        sync_directory(target.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink()


def cannot_write(path: str | os.PathLike[str], error: OSError) -> CannotWrite:
    """Return an error of the system as a sentence."""
    reason = str(error) if error.errno is None else os.strerror(error.errno)  # not pyarrow's words around it
    return CannotWrite(
        f"cannot write {os.fspath(path)!r}: {reason[:1].lower()}{reason[1:]}. What is there was not changed; give "
        "another path, or free space for this one."
    )


def sync_directory(path: Path) -> None:
    """Make sure that the names in a directory are on the disk."""
    if os.name != "posix":  # elsewhere a directory cannot be opened
        return
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems know no such thing
            raise
    finally:
        os.close(directory)
