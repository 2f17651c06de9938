"""How the values stand in a csv file.

Enters: a path, and what the user said. Leaves: a `CsvLayout`, with which pyarrow opens the file, and the first rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from localsvm.data.files.bytes import LONGEST_LINE, open_bytes
from localsvm.data.files.csv_sniff import (
    FALSE,
    MISSING,
    TRUE,
    decode_start,
    encoding_of,
    first_rows,
    sniff_decimal,
    sniff_delimiter,
    sniff_header,
)
from localsvm.data.files.damage import first_line
from localsvm.data.files.options import FileOptions
from localsvm.data.files.schema import check_names, numbered
from localsvm.errors import InvalidData

START = 1 << 20
"""Bytes from which the layout is found."""

OnInvalid = Callable[[Any], str]
"""Is told a row that has too many values or too few, and returns "skip" or "error"."""


@dataclass(frozen=True)
class CsvLayout:
    """All that it takes to read the values of a csv file."""

    path: Path
    name: str
    """The path as it was given, for errors."""
    delimiter: str
    encoding: str
    missing: tuple[str, ...]
    header: bool
    names: tuple[str, ...] = ()
    decimal: str = "."
    skipped: int = 0
    """Lines before the first that counts."""
    only_header: bool = False
    """Whether there is just one line, with names; pyarrow would miss a line break after it."""

    def open(self, types: Mapping[str, Any] | None, block: int, on_invalid: OnInvalid | None, *, threads: bool) -> Any:
        """Open the file for reading some columns, all if `types` is None, in blocks of so many bytes."""
        return arrow_csv.open_csv(
            open_bytes(self.path),
            self.reading(block, first=True, threads=threads),
            self.parsing(on_invalid),
            self.conversion(types),
        )

    def reading(self, block: int, *, first: bool, threads: bool) -> Any:
        """Return how bytes become rows, from the first line on or after other rows."""
        return arrow_csv.ReadOptions(
            use_threads=threads,
            block_size=block,
            skip_rows=self.skipped if first else 0,
            column_names=None if first and self.header else self.names,
            autogenerate_column_names=not (self.header or self.names),
            encoding=self.encoding,
        )

    def parsing(self, on_invalid: OnInvalid | None = None) -> Any:
        """Return how rows are cut into values."""
        return arrow_csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=True,
            # In a file of one column an empty line is a missing value, elsewhere it is no row.
            ignore_empty_lines=len(self.names) != 1,
            invalid_row_handler=on_invalid,
        )

    def conversion(self, types: Mapping[str, Any] | None) -> Any:
        """Return what becomes of the values of some columns, or of all."""
        return arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=None if types is None else list(types),
            null_values=self.missing,
            true_values=[*TRUE, "1"],
            false_values=[*FALSE, "0"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            decimal_point=self.decimal,
        )

    def why_not(self, error: Exception) -> str:
        """Return the reason for an error of pyarrow as a sentence."""
        if "straddl" in str(error):
            return f"{self.name} has a row of more than {LONGEST_LINE >> 20} MiB. Is it csv, and are its quotes closed?"
        return f"{self.name} cannot be read as csv: {first_line(error)}."


def find_layout(path: Path, name: str, options: FileOptions) -> tuple[CsvLayout, Any]:
    """Return the layout of a file and the rows of its first block as text."""
    with open_bytes(path) as stream:
        start = stream.read(START)
    encoding = options.encoding or encoding_of(start)
    text = decode_start(start, encoding, name)
    delimiter = options.delimiter or ("\t" if path.suffix.lower() in (".tsv", ".tab") else sniff_delimiter(text))
    header = sniff_header(text, delimiter) if options.header is None else options.header
    layout = CsvLayout(path, name, delimiter, encoding, (*MISSING, *options.missing_values), header)
    is_one_line = len(start) < START and len(text.lstrip("\r\n").splitlines()) == 1
    layout = _with_names(replace(layout, only_header=header and is_one_line), text)
    first = _first_block(layout)
    return replace(layout, decimal=options.decimal or sniff_decimal(first.columns, delimiter)), first


def _with_names(layout: CsvLayout, text: str) -> CsvLayout:
    if layout.only_header:
        names = first_rows(text, layout.delimiter)[0]
    else:
        names = _try(layout, lambda block: layout.open(None, block, _skip, threads=False).schema.names)
    names = names if layout.header else numbered(len(names))
    check_names(names, layout.name)
    if len(names) > 1:
        return replace(layout, names=tuple(names))
    # Empty lines count in a file of one column, but not before its first one.
    before = text[: len(text) - len(text.lstrip("\ufeff\r\n"))]
    return replace(layout, names=tuple(names), skipped=before.count("\n"))


def _first_block(layout: CsvLayout) -> Any:
    """Return the first rows; those with too many values or too few are told when the file is read."""
    types = dict.fromkeys(layout.names, pa.string())
    nothing = pa.record_batch([pa.array([], pa.string())] * len(types), names=list(types))
    if layout.only_header:
        return nothing
    return _try(layout, lambda block: next(iter(layout.open(types, block, _skip, threads=False)), nothing))


def _try(layout: CsvLayout, read: Callable[[int], Any]) -> Any:
    """Return the result of reading a small first block, or a large one if a row is longer."""
    try:
        return read(START)
    except pa.ArrowInvalid:
        pass
    try:
        return read(LONGEST_LINE)
    except pa.ArrowInvalid as error:
        raise InvalidData(layout.why_not(error)) from None


def _skip(_: Any) -> str:
    return "skip"
