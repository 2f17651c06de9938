"""The columns of a model found in a file.

Enters: what a model knows of its columns, and the schema of a file. Leaves: names of columns of the file in the order
of the model's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from localsvm.data.files.schema import Kind, Schema
from localsvm.errors import InvalidData


def match_columns(
    known: Sequence[str] | int,
    schema: Schema,
    *,
    file: str = "the file",
    kinds: Mapping[str, Kind] | None = None,
    ignored: Collection[str] = (),
) -> tuple[str, ...]:
    """Find the columns of a model in a file: by name, or by position where one of the two has no names.

    Parameters
    ----------
    known : sequence of str or int
        Names of the columns of the model in their order; or their number, if they have no names.
    schema : Schema
        The columns of the file. By name, other columns than the model's are no matter.
    file : str
        Name of the file, for errors.
    kinds : mapping from str to {"number", "category"}, optional
        What the model took its columns as.
    ignored : collection of str
        Columns of the file that are none of the model's and do not count as a position: a target, for example.

    Returns
    -------
    tuple of str
        Columns of the file, in the order of the model's.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files import match_columns, open_file
    >>> schema = open_file(pa.table({"id": [7], "size": [1.5], "age": [30]})).schema
    >>> match_columns(["age", "size"], schema)
    ('age', 'size')
    >>> match_columns(["Age", "length"], schema, file="new.csv")
    Traceback (most recent call last):
    localsvm.errors.InvalidData: new.csv lacks 2 columns: 'Age', 'length'. Did you mean 'age' for 'Age'? ...
    """
    if not isinstance(known, int) and (schema.named or (schema.sparse and all(map(str.isdecimal, known)))):
        schema.require(known, file)
        names = tuple(known)
    else:
        names = _by_position(known if isinstance(known, int) else len(known), schema, file, ignored)
    if kinds is not None and not isinstance(known, int):
        for label, name in zip(known, names, strict=True):
            _check_kind(kinds.get(label), name, schema, file)
    return names


def _by_position(count: int, schema: Schema, file: str, ignored: Collection[str]) -> tuple[str, ...]:
    names = tuple(name for name in schema.names if name not in ignored)
    if schema.sparse and 0 < len(names) < count:
        names = tuple(str(int(names[0]) + position) for position in range(count))
    if len(names) != count:
        raise InvalidData(
            f"{file} has {len(names)} columns where the model has {count}, and they are matched by position, as one of "
            "the two has no names. Give the same columns as in training, in the same order."
        )
    return names


def _check_kind(expected: Kind | None, name: str, schema: Schema, file: str) -> None:
    if expected is None or name not in schema:
        return
    column = schema[name]
    if column.kind != expected and not (expected == "category" and column.kind == "number"):
        raise InvalidData(
            f"column {name!r} of {file} has type {column.type}; the model learned it as a {expected}. Give it as it "
            "was in training."
        )
