"""Reader of csv files.

The types of the columns come from the first block of the file. Rows are read in one of three ways, from fast to slow:

1. Up to the first quote no line break is part of a value: all cores parse blocks of whole lines side by side.
2. From there on pyarrow's streaming reader finds the ends of rows, one block after the other.
3. From the first value on that pyarrow does not convert, one thread reads values as bytes. It accepts more notations of
   numbers (a plus sign, quoted missing values), and its errors name the column, the row and the value.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from localsvm.data.files.csv_layout import (
    FALSE,
    START_BYTES,
    TRUE,
    CsvLayout,
    find_layout,
    first_non_number,
    plain_numbers,
    sniff_kind,
)
from localsvm.data.files.formats import FileOptions
from localsvm.data.files.reading import MAX_LINE_BYTES, line_blocks, map_ahead, open_bytes, shown
from localsvm.data.files.table import Column, Kind, Schema, TableFile
from localsvm.errors import InvalidData

# Blocks that fit into the caches are parsed fastest, but a block has to hold some rows.
_BLOCK_BYTES = 1 << 20
_BLOCK_ROWS = 4

_TYPES = {"number": pa.float64(), "boolean": pa.bool_(), "text": pa.string(), "date": pa.string()}
_KINDS: Mapping[str, Kind] = {"number": "number", "boolean": "number", "text": "category", "date": "date"}


def open_csv(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a csv file; options that are None are guessed from its first block."""
    layout, first = find_layout(path, name, options)
    schema = Schema(_columns(first, layout.decimal, options), named=layout.header)
    block = min(max(_BLOCK_BYTES, _BLOCK_ROWS * START_BYTES // max(first.num_rows, 1)), MAX_LINE_BYTES)

    def read(names: tuple[str, ...], rows: int) -> Iterator[Any]:
        return _read(layout, {label: schema[label].type for label in names}, block)

    return TableFile(name, schema, 0 if layout.only_header else None, read)


def _columns(first: Any, decimal: str, options: FileOptions) -> tuple[Column, ...]:
    declared = dict.fromkeys(options.numbers, "number") | dict.fromkeys(options.categories, "text")
    columns = []
    for name, values in zip(first.schema.names, first.columns, strict=True):
        kind = declared.get(name) or sniff_kind(values, decimal)
        columns.append(Column(name, _TYPES[kind], _KINDS[kind]))
    return tuple(columns)


def _read(layout: CsvLayout, types: Mapping[str, Any], block: int) -> Iterator[Any]:
    """Yield all rows: in threads, and after a block that pyarrow refuses value by value."""
    if layout.only_header:
        return
    n_rows = 0
    try:
        for batch in read_blocks(layout, types, block):
            yield batch
            n_rows += batch.num_rows
    except pa.ArrowInvalid:
        yield from _read_values(layout, types, n_rows)


def read_blocks(layout: CsvLayout, types: Mapping[str, Any], size: int) -> Iterator[Any]:
    """Yield the rows of a file as batches, parsed in threads from blocks of about `size` bytes.

    A block that does not fit the layout or the types raises `pyarrow.ArrowInvalid`, after all rows of earlier blocks.
    """
    how = (layout.parse_options(), layout.convert_options(types))
    # A block begins with the rest of a line of the block before it, so it may be up to twice as long.
    first, later = (layout.read_options(2 * size, first=is_first, threads=False) for is_first in (True, False))

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
            # Buffered, so that pyarrow gets blocks of full size: it does not find a row that spans three blocks.
            rest = pa.PythonFile(io.BufferedReader(_Chained(lines.rest, stream)), mode="r")
            yield from arrow_csv.open_csv(rest, layout.read_options(size, first=False, threads=True), *how)


class _PlainLines:
    """Blocks of whole lines, up to the first block with a quote outside the header."""

    def __init__(self, layout: CsvLayout, stream: Any, size: int) -> None:
        self._stream, self._size = stream, size
        self._is_utf8 = codecs.lookup(layout.encoding).name == "utf-8"
        self._has_header = layout.header and not any("\n" in name for name in layout.names)
        self.rest = b""
        """Bytes that were read from the stream and are in no block."""

    def __iter__(self) -> Iterator[bytes]:
        begin: int | None = None
        while chunk := self._stream.read(self._size):
            begin = self._header_bytes(chunk) if begin is None else 0
            end = chunk.rfind(b"\n") + 1
            if not (end and self._is_utf8) or chunk.find(b'"', begin) >= 0:
                self.rest += chunk
                return
            yield b"".join((self.rest, memoryview(chunk)[:end]))
            self.rest = chunk[end:]
        if self.rest:
            last, self.rest = self.rest, b""
            yield last

    def _header_bytes(self, start: bytes) -> int:
        line, end, _ = start.partition(b"\n")
        return len(line + end) if self._has_header and len(line.splitlines()) == 1 else 0


class _Chained(io.RawIOBase):
    """Bytes that were read from a stream, followed by the rest of the stream."""

    def __init__(self, begin: bytes, stream: Any) -> None:
        self._begin, self._stream = io.BytesIO(begin), stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._begin.readinto(buffer) or int(self._stream.readinto(buffer))


def _read_values(layout: CsvLayout, types: Mapping[str, Any], skip: int) -> Iterator[Any]:
    """Yield the rows after the first `skip`, or raise `InvalidData` that says what is wrong in which row."""
    invalid: list[Any] = []

    def note(row: Any) -> str:
        invalid.append(row)
        return "error"

    n_rows = 0
    try:
        for batch in layout.open(dict.fromkeys(types, pa.binary()), MAX_LINE_BYTES, note, threads=False):
            if n_rows + batch.num_rows > skip:
                begin = max(skip - n_rows, 0)
                yield convert_values(batch.slice(begin), types, layout.missing, layout.decimal, n_rows + begin)
            n_rows += batch.num_rows
    except pa.ArrowInvalid as error:
        raise InvalidData(_wrong_length(layout, invalid[0]) if invalid else layout.explain(error)) from None


def _wrong_length(layout: CsvLayout, row: Any) -> str:
    values = "1 value" if row.actual_columns == 1 else f"{row.actual_columns} values"
    return (
        f"{layout.name}: line {_line_number(layout, row)} has {values} where {row.expected_columns} are expected, as "
        f"in the first line: {shown(row.text)}. Correct the line, or give another delimiter."
    )


def _line_number(layout: CsvLayout, row: Any) -> int:
    """Return the line where a row begins; quoted line breaks make it larger than the number of the row."""
    text = row.text.encode(layout.encoding).split(b"\n")[0].rstrip(b"\r")
    number = 0
    for block in line_blocks(layout.path, layout.name, START_BYTES):
        for line in block.split(b"\n")[: block.count(b"\n") or 1]:
            number += 1
            if number >= row.number and line.rstrip(b"\r") == text:
                return number
    return int(row.number)


def convert_values(batch: Any, types: Mapping[str, Any], missing: Sequence[str], decimal: str, first_row: int) -> Any:
    """Convert columns of bytes to float64, bool or string; `first_row` rows come before the batch.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files.csv_reader import convert_values
    >>> batch = pa.record_batch({"age": [b"+30", b"NA", b" 31 "], "note": [b"a", None, b"c"]})
    >>> types = {"age": pa.float64(), "note": pa.string()}
    >>> convert_values(batch, types, ["NA"], ".", 0).to_pydict()
    {'age': [30.0, None, 31.0], 'note': ['a', None, 'c']}
    """
    arrays = []
    for name, kind in types.items():
        text = _text(batch.column(name), name, first_row)
        if pa.types.is_string(kind):
            arrays.append(text)
        elif pa.types.is_boolean(kind):
            arrays.append(_booleans(text, missing, name, first_row))
        else:
            arrays.append(_numbers(text, missing, decimal, name, first_row))
    return pa.record_batch(arrays, names=list(types))


def _text(column: Any, name: str, first_row: int) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        row, value = next((row, value) for row, value in enumerate(column.to_pylist()) if not _is_utf8(value))
    raise InvalidData(
        f"column {name!r} is not UTF-8 text at row {first_row + row + 1}: {value[:40]!r}. Save the file as UTF-8, or "
        "give its encoding, for example 'latin-1'."
    )


def _is_utf8(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _booleans(text: Any, missing: Sequence[str], name: str, first_row: int) -> Any:
    words = _without_missing(pc.utf8_trim_whitespace(text), missing)
    is_true, is_false = (pc.is_in(words, pa.array(known)) for known in ((*TRUE, "1"), (*FALSE, "0")))
    place = pc.index(pc.or_(is_true, pc.or_(is_false, pc.is_null(words))), False).as_py()
    if place >= 0:
        raise _wrong_value("true or false", text, place, name, first_row)
    return pc.if_else(pc.is_valid(words), is_true, pa.scalar(None, pa.bool_()))


def _numbers(text: Any, missing: Sequence[str], decimal: str, name: str, first_row: int) -> Any:
    words = _without_missing(pc.utf8_trim_whitespace(text), missing)
    plain = pc.replace_substring_regex(plain_numbers(words, decimal), r"^\+", "")
    place = first_non_number(plain)
    if place is not None:
        raise _wrong_value("a number", text, place, name, first_row)
    return plain.cast(pa.float64())


def _without_missing(words: Any, missing: Sequence[str]) -> Any:
    return pc.if_else(pc.is_in(words, pa.array(missing, pa.string())), pa.scalar(None, pa.string()), words)


def _wrong_value(expected: str, text: Any, place: int, name: str, first_row: int) -> InvalidData:
    return InvalidData(
        f"column {name!r} has {shown(text[place].as_py())} at row {first_row + place + 1}, which is not {expected}. If "
        "it stands for a missing value, add it to missing_values; or declare the column a category."
    )
