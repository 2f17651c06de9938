"""The layout of a csv file: encoding, delimiter, header, decimal point, and the types of its columns.

What the user does not give is guessed from the first block of the file.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from localsvm.data.files.formats import FileOptions
from localsvm.data.files.reading import MAX_LINE_BYTES, first_line, open_bytes
from localsvm.data.files.table import check_names, numbered
from localsvm.errors import InvalidData

START_BYTES = 1 << 20
"""Size of the first block, from which the layout is guessed."""

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "-nan", "null", "NULL", "Null", "None", "none", "?")
"""Words for a missing value."""

TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")

# Of delimiters that split equally many lines into the same number of values the first wins: a comma may be a decimal
# point.
_DELIMITERS = ("\t", ";", "|", ",", " ")
_SNIFFED_ROWS = 100

# A column is numeric if at least this fraction of its first values are numbers; the other values are then errors.
_NUMERIC_FRACTION = 0.9

_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|Inf|INF|infinity|Infinity)$"
DATE = r"^(\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?|\d\d:\d\d(:\d\d(\.\d+)?)?)$"

OnInvalid = Callable[[Any], str]
"""Called with a row that has too many or too few values; returns "skip" or "error"."""


@dataclass(frozen=True)
class CsvLayout:
    """Everything that pyarrow needs to know to read a csv file."""

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
    """Number of lines before the header or the first row."""
    only_header: bool = False
    """Whether the file is a single line, the header, which pyarrow reads only if a line break follows."""

    def open(self, types: Mapping[str, Any] | None, block: int, on_invalid: OnInvalid | None, *, threads: bool) -> Any:
        """Open the file for reading the columns in `types`, or all if it is None, in blocks of `block` bytes."""
        return arrow_csv.open_csv(
            open_bytes(self.path),
            self.read_options(block, first=True, threads=threads),
            self.parse_options(on_invalid),
            self.convert_options(types),
        )

    def read_options(self, block: int, *, first: bool, threads: bool) -> Any:
        """Return pyarrow's options for reading from the start of the file (`first`), or from a later row on."""
        return arrow_csv.ReadOptions(
            use_threads=threads,
            block_size=block,
            skip_rows=self.skipped if first else 0,
            column_names=None if first and self.header else self.names,
            autogenerate_column_names=not (self.header or self.names),
            encoding=self.encoding,
        )

    def parse_options(self, on_invalid: OnInvalid | None = None) -> Any:
        """Return pyarrow's options for splitting rows into values."""
        return arrow_csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=True,
            # An empty line is a missing value if there is a single column; otherwise it is skipped.
            ignore_empty_lines=len(self.names) != 1,
            invalid_row_handler=on_invalid,
        )

    def convert_options(self, types: Mapping[str, Any] | None) -> Any:
        """Return pyarrow's options for converting the columns in `types`, or all if it is None."""
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

    def explain(self, error: Exception) -> str:
        """Return an error of pyarrow as a sentence."""
        if "straddl" in str(error):
            limit = MAX_LINE_BYTES >> 20
            return f"{self.name} has a row of more than {limit} MiB. Is it csv, and are its quotes closed?"
        return f"{self.name} cannot be read as csv: {first_line(error)}."


def find_layout(path: Path, name: str, options: FileOptions) -> tuple[CsvLayout, Any]:
    """Return the layout of a file, and the rows of its first block as text."""
    with open_bytes(path) as stream:
        start = stream.read(START_BYTES)
    encoding = options.encoding or _encoding_of(start)
    text = _decode_start(start, encoding, name)
    delimiter = options.delimiter or ("\t" if Path(name).suffix.lower() in (".tsv", ".tab") else _sniff_delimiter(text))
    header = _sniff_header(text, delimiter) if options.header is None else options.header
    layout = CsvLayout(path, name, delimiter, encoding, (*MISSING, *options.missing_values), header)
    is_one_line = len(start) < START_BYTES and len(text.lstrip("\r\n").splitlines()) == 1
    layout = _with_names(replace(layout, only_header=header and is_one_line), text)
    first = _first_block(layout)
    return replace(layout, decimal=options.decimal or _sniff_decimal(first.columns, delimiter)), first


def _with_names(layout: CsvLayout, text: str) -> CsvLayout:
    if layout.only_header:
        names = _first_rows(text, layout.delimiter)[0]
    else:
        names = _read_start(layout, lambda block: layout.open(None, block, _skip, threads=False).schema.names)
    names = names if layout.header else numbered(len(names))
    check_names(names, layout.name)
    if len(names) > 1:
        return replace(layout, names=tuple(names))
    # Empty lines are rows of a single column, but not before its first value.
    before = text[: len(text) - len(text.lstrip("\ufeff\r\n"))]
    return replace(layout, names=tuple(names), skipped=before.count("\n"))


def _first_block(layout: CsvLayout) -> Any:
    """Return the first rows as text; rows with too many or too few values are reported when the file is read."""
    types = dict.fromkeys(layout.names, pa.string())
    nothing = pa.record_batch([pa.array([], pa.string())] * len(types), names=list(types))
    if layout.only_header:
        return nothing
    return _read_start(layout, lambda block: next(iter(layout.open(types, block, _skip, threads=False)), nothing))


def _read_start(layout: CsvLayout, read: Callable[[int], Any]) -> Any:
    """Return read(block size) for a small first block, or for a large one if a row is longer."""
    try:
        return read(START_BYTES)
    except pa.ArrowInvalid:
        pass
    try:
        return read(MAX_LINE_BYTES)
    except pa.ArrowInvalid as error:
        raise InvalidData(layout.explain(error)) from None


def _skip(_: Any) -> str:
    return "skip"


def _encoding_of(start: bytes) -> str:
    return "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"


def _decode_start(start: bytes, encoding: str, file: str) -> str:
    """Return the first bytes of a file as text, without a character that is cut off at the end."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError as error:
        line = start[: error.start].count(b"\n") + 1
        raise InvalidData(
            f"{file} is not {encoding} text: byte {start[error.start]:#04x} at position {error.start}, in line {line}. "
            "Save it as UTF-8, or give its encoding, for example 'latin-1'."
        ) from None
    if "\0" in text:
        raise InvalidData(f"{file} is not a text file: it contains a zero byte. Is it of the format its name says?")
    if not text.strip("\ufeff \t\r\n"):
        raise InvalidData(f"{file} is empty: its first {len(start)} bytes are white space.")
    return text


def _sniff_delimiter(text: str) -> str:
    r"""Return the delimiter that splits most lines into the same number of values.

    Examples
    --------
    >>> from localsvm.data.files.csv_layout import _sniff_delimiter
    >>> _sniff_delimiter("1,5;2,5\n3,5;4,5\n"), _sniff_delimiter("name,value\n'a;b',2\n"), _sniff_delimiter("1\n2\n")
    (';', ',', ',')
    """
    best, best_fraction = ",", 0.0
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in _first_rows(text, delimiter))
        width, count = max(widths.items(), key=itemgetter(1), default=(0, 0))
        fraction = count / max(widths.total(), 1)
        if width > 1 and fraction > best_fraction:
            best, best_fraction = delimiter, fraction
    return best


def _first_rows(text: str, delimiter: str, *, quoting: Any = csv.QUOTE_MINIMAL) -> list[list[Any]]:
    """Return the first rows of a text, without one that may be cut off."""
    text = text.removeprefix("\ufeff")
    end = max(text.rfind("\n"), text.rfind("\r")) + 1
    return list(islice(_rows(io.StringIO(text[:end] or text, newline=""), delimiter, quoting), _SNIFFED_ROWS))


def _rows(lines: Iterable[str], delimiter: str, quoting: Any) -> Iterator[list[Any]]:
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting)
    try:
        yield from (row for row in reader if row)
    except csv.Error:  # a value of more than 128 KiB: use the rows before it
        return


def _sniff_header(text: str, delimiter: str) -> bool:
    r"""Return whether the first row is a header.

    It is if none of its values is a number, if one that is not is above numbers, or if the first row alone is quoted.

    Examples
    --------
    >>> from localsvm.data.files.csv_layout import _sniff_header
    >>> _sniff_header("a,b\n1,2\n", ","), _sniff_header("1,2\n3,4\n", ","), _sniff_header('"1","2"\n3,4\n', ",")
    (True, False, True)
    >>> _sniff_header("place,2023\n1,2\n", ","), _sniff_header("red,1\nblue,2\n", ",")
    (True, False)
    """
    rows = _first_rows(text, delimiter)
    if not rows:
        return False
    first, *others = ([_is_value(value) for value in row] for row in rows)
    if not any(first):
        return True
    below = [all(column) for column in zip(*(other for other in others if len(other) == len(first)), strict=True)]
    has_name = any(not above and numeric for above, numeric in zip(first, below, strict=False))
    return has_name or _only_first_is_quoted(text, delimiter)


def _is_value(text: str) -> bool:
    """Return whether a text is a number, or a word for a missing value."""
    return re.fullmatch(_NUMBER, text.strip()) is not None or text.strip() in MISSING[1:]


def _only_first_is_quoted(text: str, delimiter: str) -> bool:
    """Return whether all values of the first row are quoted, but not all of the second."""
    # With QUOTE_NONNUMERIC values without quotes are floats, or an error.
    try:
        first, second = _first_rows(text, delimiter, quoting=csv.QUOTE_NONNUMERIC)[:2]
    except ValueError:
        return False
    return all(isinstance(value, str) for value in first) and any(isinstance(value, float) for value in second)


def _sniff_decimal(columns: Sequence[Any], delimiter: str) -> str:
    """Return the decimal point for which more columns are numeric."""
    if delimiter == ",":
        return "."
    present = [_present(column) for column in columns]
    counts = {point: sum(_is_numeric(values, point) for values in present) for point in (".", ",")}
    return "," if counts[","] > counts["."] else "."


def sniff_kind(column: Any, decimal: str) -> str:
    """Return the kind of a column of text: "number" (also if it has no values), "boolean", "date" or "text"."""
    values = _present(column)
    if len(values) == 0 or _is_numeric(values, decimal):
        return "number"
    if pc.all(pc.is_in(values, pa.array(TRUE + FALSE))).as_py():
        return "boolean"
    if pc.all(pc.match_substring_regex(values, DATE)).as_py():
        return "date"
    return "text"


def _present(column: Any) -> Any:
    """Return the values that are not missing, quoted or not."""
    values = column.drop_null()
    return values.filter(pc.invert(pc.is_in(values, pa.array(MISSING))))


def _is_numeric(values: Any, decimal: str) -> bool:
    is_number = pc.match_substring_regex(plain_numbers(values, decimal), _NUMBER)
    return len(is_number) > 0 and bool(pc.mean(is_number).as_py() >= _NUMERIC_FRACTION)


def plain_numbers(column: Any, decimal: str) -> Any:
    """Return text without surrounding white space, and with "." as the decimal point."""
    trimmed = pc.utf8_trim_whitespace(column)
    if decimal == ".":
        return trimmed
    # Next to a decimal comma a point may separate thousands: such values are refused, not misread.
    return pc.replace_substring(pc.replace_substring(trimmed, ".", "'"), ",", ".")


def first_non_number(column: Any) -> int | None:
    """Return the position of the first value that is not a number, None if all are."""
    bad = pc.invert(pc.match_substring_regex(column, _NUMBER))
    place = pc.index(pc.fill_null(bad, False), True).as_py()
    return None if place < 0 else int(place)
