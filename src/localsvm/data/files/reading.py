"""Reading files of any format: bytes, batches read ahead in threads, and errors as sentences."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from localsvm.data.files.formats import compression_of
from localsvm.errors import InvalidData, LocalSVMError

MAX_LINE_BYTES = 1 << 24
"""A file with a longer line is not taken for a text file."""

READ_ERRORS = (
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
"""What pyarrow, NumPy and the standard library raise for damaged files."""

_MAX_MESSAGE = 200
_BATCHES_AHEAD = 2
_END = object()


def open_bytes(path: Path) -> Any:
    """Open a file as a stream of bytes, decompressed if its ending names a compression."""
    return pa.input_stream(str(path), compression=compression_of(path))


def line_blocks(path: Path, name: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks of about `size` that consist of whole lines; `name` is for errors."""
    rest = b""
    with open_bytes(path) as stream:
        while chunk := stream.read(size):
            lines, end, rest = (rest + chunk).rpartition(b"\n")
            if end:
                yield lines + end
            elif len(rest) > MAX_LINE_BYTES:
                raise InvalidData(f"{name} has a line of more than {MAX_LINE_BYTES >> 20} MiB. Is it a text file?")
    if rest:
        yield rest


def read_ahead(source: Generator[Any, None, None], count: int = _BATCHES_AHEAD) -> Iterator[Any]:
    """Yield the items of a generator; a thread computes the next `count` of them in the meantime."""
    with closing(source), ThreadPoolExecutor(1, thread_name_prefix="localsvm-read") as reader:
        pending = deque(reader.submit(next, source, _END) for _ in range(count))
        try:
            while (item := pending.popleft().result()) is not _END:
                pending.append(reader.submit(next, source, _END))
                yield item
        finally:
            for future in pending:
                future.cancel()


def map_ahead(work: Callable[[Any], Any], items: Iterator[Any], n_threads: int) -> Iterator[Any]:
    """Yield work(item) for all items, in order; threads work on at most n_threads + 1 items at once."""
    with ThreadPoolExecutor(n_threads, thread_name_prefix="localsvm-read") as pool:
        pending = deque(pool.submit(work, item) for item in islice(items, n_threads + 1))
        try:
            while pending:
                result = pending.popleft().result()
                pending.extend(pool.submit(work, item) for item in islice(items, 1))
                yield result
        finally:
            for future in pending:
                future.cancel()


def resized(batches: Iterator[Any], rows: int) -> Generator[Any, None, None]:
    """Split batches of more than `rows` rows, and concatenate small ones up to that size.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files.reading import resized
    >>> batches = (pa.record_batch({"a": range(count)}) for count in (5, 1, 1, 1))
    >>> [batch.num_rows for batch in resized(batches, 3)]
    [3, 3, 2]
    """
    held: list[Any] = []
    count = 0
    for batch in batches:
        for begin in range(0, batch.num_rows, rows):
            part = batch.slice(begin, rows)
            if count + part.num_rows > rows:
                yield from _joined(held)
                held, count = [], 0
            held.append(part)
            count += part.num_rows
    yield from _joined(held)


def _joined(batches: list[Any]) -> list[Any]:
    if len(batches) < 2:
        return batches
    joined: list[Any] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


@contextmanager
def explained(file: str) -> Iterator[None]:
    """Turn errors of reading a file into `InvalidData`."""
    try:
        yield
    except LocalSVMError:
        raise
    except FileNotFoundError:
        raise InvalidData(f"{file}: there is no such file.") from None
    except PermissionError:
        raise InvalidData(f"{file}: you have no permission to read it.") from None
    except IsADirectoryError:
        raise InvalidData(f"{file} is a directory; only directories of parquet files can be read.") from None
    except READ_ERRORS as error:
        raise InvalidData(
            f"{file} cannot be read: {first_line(error)}. It is damaged or incomplete, or not of the format that its "
            "name says."
        ) from None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, shortened and without a final period."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[0] if len(lines[0]) <= _MAX_MESSAGE else f"{lines[0][:_MAX_MESSAGE]} ..."
    return line.rstrip(". ")


def shown(value: str) -> str:
    """Return a value for an error message: quoted, and shortened if it is long."""
    return repr(value if len(value) <= 40 else f"{value[:40]}...")
