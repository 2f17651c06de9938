"""Files of comma-separated values, or with another delimiter.

Enters: a path. Leaves: a `TableFile`. pyarrow reads blocks of the file in threads (see `csv_blocks`), with types that
the first block showed. Where a block does not go through, reading goes on from there in one thread: slower, but it
takes numbers in more spellings, and it can say what is wrong in which row (see `csv_values`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from localsvm.data.files.bytes import LONGEST_LINE, line_blocks
from localsvm.data.files.csv_blocks import read_blocks
from localsvm.data.files.csv_layout import START, CsvLayout, find_layout
from localsvm.data.files.csv_sniff import sniff_kind
from localsvm.data.files.csv_values import read_values
from localsvm.data.files.damage import shown
from localsvm.data.files.options import FileOptions
from localsvm.data.files.schema import Column, Kind, Schema
from localsvm.data.files.table import TableFile
from localsvm.errors import InvalidData

# Blocks that fit into the caches are read fastest; some rows should fit into a block.
_BLOCK_BYTES = 1 << 20
_BLOCK_ROWS = 4

_TYPES = {"number": pa.float64(), "truth": pa.bool_(), "text": pa.string(), "date": pa.string()}
_KINDS: Mapping[str, Kind] = {"number": "number", "truth": "number", "text": "category", "date": "date"}


def open_csv(path: Path, name: str, options: FileOptions) -> TableFile:
    """Open a csv file; what the options do not say, its first block shows."""
    layout, first = find_layout(path, name, options)
    schema = Schema(_columns(first, layout.decimal, options), named=layout.header)
    block = min(max(_BLOCK_BYTES, _BLOCK_ROWS * START // max(first.num_rows, 1)), LONGEST_LINE)

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
    """Yield all rows: in threads as long as that goes well, then with care."""
    if layout.only_header:
        return
    n_rows = 0
    try:
        for batch in read_blocks(layout, types, block):
            yield batch
            n_rows += batch.num_rows
    except pa.ArrowInvalid:
        yield from _read_with_care(layout, types, n_rows)


def _read_with_care(layout: CsvLayout, types: Mapping[str, Any], skip: int) -> Iterator[Any]:
    """Yield rows after the first ones, or raise an error that says which row is wrong, and why."""
    invalid: list[Any] = []

    def note(row: Any) -> str:
        invalid.append(row)
        return "error"

    n_rows = 0
    try:
        for batch in layout.open(dict.fromkeys(types, pa.binary()), LONGEST_LINE, note, threads=False):
            if n_rows + batch.num_rows > skip:
                begin = max(skip - n_rows, 0)
                yield read_values(batch.slice(begin), types, layout.missing, layout.decimal, n_rows + begin)
            n_rows += batch.num_rows
    except pa.ArrowInvalid as error:
        raise InvalidData(_ragged(layout, invalid[0]) if invalid else layout.why_not(error)) from None


def _ragged(layout: CsvLayout, row: Any) -> str:
    values = "1 value" if row.actual_columns == 1 else f"{row.actual_columns} values"
    return (
        f"{layout.name}: line {_line_number(layout, row)} has {values} where {row.expected_columns} are expected, as "
        f"in the first line: {shown(row.text)}. Correct the line, or give another delimiter."
    )


def _line_number(layout: CsvLayout, row: Any) -> int:
    """Return the line that a row begins in: lines are at least as many as rows, which may have several."""
    text = row.text.encode(layout.encoding).split(b"\n")[0].rstrip(b"\r")
    number = 0
    for block in line_blocks(layout.path, START):
        for line in block.split(b"\n")[: block.count(b"\n") or 1]:
            number += 1
            if number >= row.number and line.rstrip(b"\r") == text:
                return number
    return int(row.number)
