"""Rows of a csv file, parsed in threads.

Enters: a layout, and the types of columns. Leaves: batches of rows, in the order of the file. Where no quote can hide a
line break, a block of whole lines is a table of its own, and all cores parse such blocks side by side. From the first
quote on, pyarrow's stream has to look for the ends of rows, one block after the other.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from localsvm.data.files.bytes import open_bytes
from localsvm.data.files.csv_layout import CsvLayout
from localsvm.data.files.table import map_ahead


def read_blocks(layout: CsvLayout, types: Mapping[str, Any], size: int) -> Iterator[Any]:
    """Yield the rows of a file as batches, made of blocks of about so many bytes.

    Whatever does not fit the layout or the types raises `pyarrow.ArrowInvalid`, after all rows of earlier blocks.
    """
    how = (layout.parsing(), layout.conversion(types))
    # A block begins with what the one before has left of a line.
    first, later = (layout.reading(2 * size, first=is_first, threads=False) for is_first in (True, False))

    def parse(block: tuple[int, bytes]) -> Any:
        number, text = block
        return arrow_csv.read_csv(pa.BufferReader(text), later if number else first, *how)

    with open_bytes(layout.path) as stream:
        lines = _PlainLines(layout, stream, size)
        n_blocks = 0
        for table in map_ahead(parse, enumerate(lines), pa.cpu_count()):
            yield from table.to_batches()
            n_blocks += 1
        if lines.rest and n_blocks == 0:
            yield from layout.open(types, size, None, threads=True)
        elif lines.rest:
            # Buffered, so that no block is cut short: pyarrow finds no row that goes on in a third one.
            rest = pa.PythonFile(io.BufferedReader(_Continued(lines.rest, stream)), mode="r")
            yield from arrow_csv.open_csv(rest, layout.reading(size, first=False, threads=True), *how)


class _PlainLines:
    """Blocks of whole lines, up to the first that has a quote; the names in the first line may have quotes."""

    def __init__(self, layout: CsvLayout, stream: Any, size: int) -> None:
        self._stream, self._size = stream, size
        self._is_ascii = codecs.lookup(layout.encoding).name == "utf-8"
        self._has_names = layout.header and not any("\n" in name for name in layout.names)
        self.rest = b""
        """What was read and is in no block."""

    def __iter__(self) -> Iterator[bytes]:
        begin: int | None = None
        while chunk := self._stream.read(self._size):
            begin = self._end_of_names(chunk) if begin is None else 0
            end = chunk.rfind(b"\n") + 1
            if not (end and self._is_ascii) or chunk.find(b'"', begin) >= 0:
                self.rest += chunk
                return
            yield b"".join((self.rest, memoryview(chunk)[:end]))
            self.rest = chunk[end:]
        if self.rest:
            last, self.rest = self.rest, b""
            yield last

    def _end_of_names(self, start: bytes) -> int:
        line, end, _ = start.partition(b"\n")
        return len(line + end) if self._has_names and len(line.splitlines()) == 1 else 0


class _Continued(io.RawIOBase):
    """Bytes that were read from a stream, and then those that are still in it."""

    def __init__(self, begin: bytes, stream: Any) -> None:
        self._begin, self._stream = io.BytesIO(begin), stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._begin.readinto(buffer) or int(self._stream.readinto(buffer))
