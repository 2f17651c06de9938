"""What can be wrong with a file, as sentences.

Enters: whatever the libraries raise while they read. Leaves: `InvalidData` that names the file.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from localsvm.errors import InvalidData, LocalSVMError

DAMAGE = (
    pa.ArrowException,
    OSError,
    ValueError,
    EOFError,
    MemoryError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What bytes that are not what they should be make the libraries raise."""

_LONGEST = 200


@contextmanager
def explained(file: str) -> Iterator[None]:
    """Turn the errors of reading a file into `InvalidData`."""
    try:
        yield
    except LocalSVMError:
        raise
    except FileNotFoundError:
        raise InvalidData(f"{file}: there is no such file.") from None
    except PermissionError:
        raise InvalidData(f"{file}: you have no permission to read it.") from None
    except IsADirectoryError:
        raise InvalidData(f"{file} is a directory; only directories of parquet files are read.") from None
    except DAMAGE as error:
        raise InvalidData(
            f"{file} cannot be read: {first_line(error)}. It is damaged or incomplete, or not what its name says."
        ) from None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, shortened, without the stop at its end."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[0] if len(lines[0]) <= _LONGEST else f"{lines[0][:_LONGEST]} ..."
    return line.rstrip(". ")


def shown(value: str) -> str:
    """Return a value of a file for an error: quoted, and shortened if it is long."""
    return repr(value if len(value) <= 40 else f"{value[:40]}...")
