"""Values of a csv file that pyarrow's own conversion did not take.

Enters: rows as bytes. Leaves: rows of the types of the columns, with numbers in more spellings (a plus sign, a missing
value in quotes); or an error that names the column, the row and the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from localsvm.data.files.csv_sniff import FALSE, TRUE, first_non_number, plain_numbers
from localsvm.data.files.damage import shown
from localsvm.errors import InvalidData


def read_values(batch: Any, types: Mapping[str, Any], missing: Sequence[str], decimal: str, first_row: int) -> Any:
    """Return rows of bytes as values.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        Columns of bytes.
    types : mapping from str to pyarrow.DataType
        What they should be: float64, bool or string.
    missing : sequence of str
        Words for a missing value.
    decimal : str
        The decimal point.
    first_row : int
        Number of rows before these, for errors.

    Returns
    -------
    pyarrow.RecordBatch
        The same columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files.csv_values import read_values
    >>> batch = pa.record_batch({"age": [b"+30", b"NA", b" 31 "], "note": [b"a", None, b"c"]})
    >>> types = {"age": pa.float64(), "note": pa.string()}
    >>> read_values(batch, types, ["NA"], ".", 0).to_pydict()
    {'age': [30.0, None, 31.0], 'note': ['a', None, 'c']}
    """
    arrays = []
    for name, kind in types.items():
        text = _text(batch.column(name), name, first_row)
        if pa.types.is_string(kind):
            arrays.append(text)
        elif pa.types.is_boolean(kind):
            arrays.append(_truths(text, missing, name, first_row))
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


def _truths(text: Any, missing: Sequence[str], name: str, first_row: int) -> Any:
    words = _without(pc.utf8_trim_whitespace(text), missing)
    is_true, is_false = (pc.is_in(words, pa.array(known)) for known in ((*TRUE, "1"), (*FALSE, "0")))
    place = pc.index(pc.or_(is_true, pc.or_(is_false, pc.is_null(words))), False).as_py()
    if place >= 0:
        raise _not("true or false", text, place, name, first_row)
    return pc.if_else(pc.is_valid(words), is_true, pa.scalar(None, pa.bool_()))


def _numbers(text: Any, missing: Sequence[str], decimal: str, name: str, first_row: int) -> Any:
    words = _without(pc.utf8_trim_whitespace(text), missing)
    plain = pc.replace_substring_regex(plain_numbers(words, decimal), r"^\+", "")
    place = first_non_number(plain)
    if place is not None:
        raise _not("a number", text, place, name, first_row)
    return plain.cast(pa.float64())


def _without(words: Any, missing: Sequence[str]) -> Any:
    return pc.if_else(pc.is_in(words, pa.array(missing, pa.string())), pa.scalar(None, pa.string()), words)


def _not(what: str, text: Any, place: int, name: str, first_row: int) -> InvalidData:
    return InvalidData(
        f"column {name!r} has {shown(text[place].as_py())} at row {first_row + place + 1}, which is not {what}. If it "
        "stands for a missing value, give it as one (missing_values); or declare the column a category."
    )
