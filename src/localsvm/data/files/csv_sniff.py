"""How a csv file is written: its delimiter, its header, its decimal point; and what its columns are.

Enters: the first bytes of the file, and its first rows as text. Leaves: guesses, for what the user did not say.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from localsvm.errors import InvalidData

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "-nan", "null", "NULL", "Null", "None", "none", "?")
"""The usual words for a missing value."""

TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")

# The first delimiter that cuts all lines into as many values wins: a comma may be a decimal point.
_DELIMITERS = ("\t", ";", "|", ",", " ")
_SNIFFED_ROWS = 100

# A column with fewer numbers than this among its first values is text. With more, the others are mistakes to be told.
_MOSTLY = 0.9

_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|Inf|INF|infinity|Infinity)$"
_DATE = r"^(\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?|\d\d:\d\d(:\d\d(\.\d+)?)?)$"


def decode_start(start: bytes, encoding: str, file: str) -> str:
    """Return the first bytes of a file as text; a character that is cut off at their end is left out."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError as error:
        line = start[: error.start].count(b"\n") + 1
        raise InvalidData(
            f"{file} is not {encoding} text: byte {start[error.start]:#04x} at position {error.start}, in line {line}. "
            "Save it as UTF-8, or give its encoding, for example 'latin-1'."
        ) from None
    if "\0" in text:
        raise InvalidData(f"{file} is not a text file: it has a zero byte. Is it what its name says?")
    if not text.strip("\ufeff \t\r\n"):
        raise InvalidData(f"{file} is empty: nothing but white space in its first {len(start)} bytes.")
    return text


def encoding_of(start: bytes) -> str:
    """Return the encoding that the first bytes of a file show."""
    return "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"


def sniff_delimiter(text: str) -> str:
    r"""Return the delimiter that cuts lines into equal numbers of values.

    Examples
    --------
    >>> from localsvm.data.files.csv_sniff import sniff_delimiter
    >>> sniff_delimiter("1,5;2,5\n3,5;4,5\n"), sniff_delimiter("name,value\n'a;b',2\n"), sniff_delimiter("1\n2\n")
    (';', ',', ',')
    """
    best, best_share = ",", 0.0
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in first_rows(text, delimiter))
        width, count = max(widths.items(), key=itemgetter(1), default=(0, 0))
        share = count / max(widths.total(), 1)
        if width > 1 and share > best_share:
            best, best_share = delimiter, share
    return best


def first_rows(text: str, delimiter: str, *, quoting: Any = csv.QUOTE_MINIMAL) -> list[list[Any]]:
    """Return the first rows of a text, but not one that may be cut off."""
    text = text.removeprefix("\ufeff")
    end = max(text.rfind("\n"), text.rfind("\r")) + 1
    return list(islice(_rows(io.StringIO(text[:end] or text, newline=""), delimiter, quoting), _SNIFFED_ROWS))


def _rows(lines: Iterable[str], delimiter: str, quoting: Any) -> Iterator[list[Any]]:
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting)
    try:
        yield from (row for row in reader if row)
    except csv.Error:  # a field of more than 128 KiB: what came before must do
        return


def sniff_header(text: str, delimiter: str) -> bool:
    r"""Return whether the first row has names.

    It has if none of them is a number, if one stands above numbers and is none, or if they alone are quoted.

    Examples
    --------
    >>> from localsvm.data.files.csv_sniff import sniff_header
    >>> sniff_header("a,b\n1,2\n", ","), sniff_header("1,2\n3,4\n", ","), sniff_header('"1","2"\n3,4\n', ",")
    (True, False, True)
    >>> sniff_header("place,2023\n1,2\n", ","), sniff_header("red,1\nblue,2\n", ",")
    (True, False)
    """
    rows = first_rows(text, delimiter)
    if not rows:
        return False
    first, *others = ([_is_value(cell) for cell in row] for row in rows)
    if not any(first):
        return True
    below = [all(column) for column in zip(*(other for other in others if len(other) == len(first)), strict=True)]
    is_named = any(not above and numbers for above, numbers in zip(first, below, strict=False))
    return is_named or _only_first_is_quoted(text, delimiter)


def _is_value(cell: str) -> bool:
    """Return whether a cell has a number, or one of the words for a missing one."""
    return re.fullmatch(_NUMBER, cell.strip()) is not None or cell.strip() in MISSING[1:]


def _only_first_is_quoted(text: str, delimiter: str) -> bool:
    """Return whether all cells of the first row are quoted, and not all of the second."""
    # With this way of quoting, cells without quotes are floats or an error.
    try:
        first, second = first_rows(text, delimiter, quoting=csv.QUOTE_NONNUMERIC)[:2]
    except ValueError:
        return False
    return all(isinstance(cell, str) for cell in first) and any(isinstance(cell, float) for cell in second)


def sniff_decimal(columns: Sequence[Any], delimiter: str) -> str:
    """Return the decimal point that makes more columns of text numbers; it is not the delimiter."""
    if delimiter == ",":
        return "."
    present = [_present(column) for column in columns]
    counts = {point: sum(_mostly(_is_number(values, point)) for values in present) for point in (".", ",")}
    return "," if counts[","] > counts["."] else "."


def sniff_kind(column: Any, decimal: str) -> str:
    """Return what a column of text has: "number", "truth", "date" or "text"; a column without values has numbers."""
    values = _present(column)
    if len(values) == 0 or _mostly(_is_number(values, decimal)):
        return "number"
    if pc.all(pc.is_in(values, pa.array(TRUE + FALSE))).as_py():
        return "truth"
    if pc.all(pc.match_substring_regex(values, _DATE)).as_py():
        return "date"
    return "text"


def _is_number(values: Any, decimal: str) -> Any:
    return pc.match_substring_regex(plain_numbers(values, decimal), _NUMBER)


def _present(column: Any) -> Any:
    """Return the values that are not missing, in quotes or not."""
    values = column.drop_null()
    return values.filter(pc.invert(pc.is_in(values, pa.array(MISSING))))


def _mostly(mask: Any) -> bool:
    return len(mask) > 0 and bool(pc.mean(mask).as_py() >= _MOSTLY)


def plain_numbers(column: Any, decimal: str) -> Any:
    """Return text without white space around it, and with a decimal point."""
    trimmed = pc.utf8_trim_whitespace(column)
    if decimal == ".":
        return trimmed
    # Where a comma is the decimal point, a point may stand for thousands: no number, rather than another one.
    return pc.replace_substring(pc.replace_substring(trimmed, ".", "'"), ",", ".")


def first_non_number(column: Any) -> int | None:
    """Return where the first value is that is not a number, None if all are."""
    bad = pc.invert(pc.match_substring_regex(column, _NUMBER))
    place = pc.index(pc.fill_null(bad, False), True).as_py()
    return None if place < 0 else int(place)
