"""Tables: the columns of a file, its rows in batches, and the columns of a model in a file.

Readers of all formats make a `TableFile`. Its `Schema` is checked: at least one column, no name twice.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from localsvm.data.files.pandas_index import declared_index, is_index_name
from localsvm.data.files.reading import explained, read_ahead, resized
from localsvm.data.files.snapshot import Snapshot
from localsvm.errors import InvalidData, InvalidParameter

Kind = Literal["number", "category", "date", "other"]

MAX_COLUMNS = 100_000
"""A file with more is damaged, or too wide for dense rows."""

BATCH_ROWS = 1 << 16

Read = Callable[[tuple[str, ...], int], Iterator[Any]]
"""From names of columns and a number of rows to batches of about that many rows, in the order of the file."""


@dataclass(frozen=True)
class Column:
    """A column of a file."""

    name: str
    type: Any
    """Type of its values in the batches, a `pyarrow.DataType`."""
    kind: Kind
    """Numbers, categories and dates can be features; numbers and categories can be targets."""


@dataclass(frozen=True)
class Schema:
    """The columns of a file, in order."""

    columns: tuple[Column, ...]
    named: bool = True
    """Whether the file has column names; if not, they are "1", "2", ..."""
    sparse: bool = False
    """Whether column names are indices, and columns that the file does not have are zero."""
    declared_index: frozenset[str] = frozenset()
    """Columns that the file calls the index of a data frame."""

    @classmethod
    def of(cls, arrow: Any, file: str, categories: Sequence[str] = (), *, named: bool = True) -> Schema:
        """Convert a `pyarrow.Schema`; `file` is the name for errors."""
        declared = frozenset(categories)
        columns = tuple(Column(field.name, field.type, _kind(field, declared)) for field in arrow)
        schema = cls(columns, named, declared_index=declared_index(arrow))
        check_names(schema.names, file)
        return schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def index(self) -> tuple[str, ...]:
        """Columns that were the index of a data frame: they number the rows and are no features."""
        if not self.named:
            return ()
        return tuple(name for name in self.names if name in self.declared_index or is_index_name(name))

    @cached_property
    def arrow(self) -> Any:
        """The schema of the batches, a `pyarrow.Schema`."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column of this name."""
        return name in self._by_name

    def __getitem__(self, name: str) -> Column:
        """Return a column by its name."""
        return self._by_name[name]

    def require(self, names: Iterable[str], file: str) -> None:
        """Raise `InvalidData` if columns are missing, with suggestions of similar names."""
        missing = [name for name in names if name not in self and not (self.sparse and name.isdecimal())]
        if missing:
            raise InvalidData(f"{file} lacks {listed(missing)}.{_suggestions(missing, self.names)} {self._summary()}")

    def _summary(self) -> str:
        if len(self.names) <= 12:
            return f"Its columns are {', '.join(map(repr, self.names))}."
        return f"Its {len(self.names)} columns begin with {', '.join(map(repr, self.names[:12]))}."


@dataclass(frozen=True)
class TableFile:
    """A table that is read in batches of rows, any number of times."""

    name: str
    """The path as it was given, for errors."""
    schema: Schema
    n_rows: int | None
    """None if it is unknown before the file has been read to the end."""
    read: Read = field(repr=False)
    snapshot: Snapshot | None = field(default=None, repr=False)
    """The files when they were opened; None for a copy or a data frame, which do not change."""

    def batches(self, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Read some columns of all rows.

        Parameters
        ----------
        columns : sequence of str, optional
            Names of columns, in the order that the batches are to have. Default: all.
        rows : int, default=65536
            Maximal number of rows of a batch.

        Yields
        ------
        pyarrow.RecordBatch
            At least one row. The next batches are read in the background while the caller works on this one.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from localsvm.data.files import open_file
        >>> file = open_file(pa.table({"size": [1.5, 2.5, 3.5], "colour": ["red", None, "blue"]}))
        >>> [batch.to_pydict() for batch in file.batches(["size"], rows=2)]
        [{'size': [1.5, 2.5]}, {'size': [3.5]}]
        """
        names = self.schema.names if columns is None else tuple(dict.fromkeys(columns))
        if not names or rows < 1:
            raise InvalidParameter(f"columns={columns!r}, rows={rows}: give at least one of each.")
        self.schema.require(names, self.name)
        return self._batches(names, rows)

    def _batches(self, names: tuple[str, ...], rows: int) -> Iterator[Any]:
        self._check_unchanged()  # since the schema was read
        try:
            with explained(self.name):
                yield from read_ahead(resized(self.read(names, rows), rows))
        except InvalidData:
            self._check_unchanged()  # a better reason than what was found wrong
            raise
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self.snapshot is not None:
            self.snapshot.check(self.name)


def match_columns(
    known: Sequence[str] | int,
    schema: Schema,
    *,
    file: str = "the file",
    kinds: Mapping[str, Kind] | None = None,
    ignored: Collection[str] = (),
) -> tuple[str, ...]:
    """Find the columns of a model in a file: by name, or by position if one of the two has no names.

    Parameters
    ----------
    known : sequence of str or int
        Names of the columns of the model, in order; or their number, if they have no names.
    schema : Schema
        The columns of the file. If they are found by name, additional columns are ignored.
    file : str
        Name of the file, for errors.
    kinds : mapping from str to {"number", "category", "date"}, optional
        The kinds of the columns in training.
    ignored : collection of str
        Columns of the file to skip when columns are found by position, for example the target.

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
    # The labels of a sparse file are not among its indices, whatever the model calls its target.
    names = tuple(name for name in schema.names if name not in ignored and (name.isdecimal() or not schema.sparse))
    if schema.sparse and 0 < len(names) < count:
        names = tuple(str(int(names[0]) + position) for position in range(count))
    if len(names) != count:
        raise InvalidData(
            f"{file} has {len(names)} columns where the model has {count}. They are matched by position, because one "
            "of the two has no names: give the same columns as in training, in the same order."
        )
    return names


def _check_kind(expected: Kind | None, name: str, schema: Schema, file: str) -> None:
    if expected is None or name not in schema:
        return
    column = schema[name]
    if column.kind != expected and not (expected == "category" and column.kind == "number"):
        raise InvalidData(
            f"column {name!r} of {file} has type {column.type}, but it was a {expected} in training. Give it the same "
            "type."
        )


def listed(names: Sequence[str]) -> str:
    """Return names of columns as part of a sentence, shortened if there are many."""
    if len(names) == 1:
        return f"the column {names[0]!r}"
    more = "" if len(names) <= 12 else ", ..."
    return f"{len(names)} columns: {', '.join(map(repr, names[:12]))}{more}"


def _suggestions(missing: Sequence[str], names: Sequence[str]) -> str:
    """Return a question that suggests existing names similar to the missing ones, if there are any."""
    by_folded = {name.strip().casefold(): name for name in names}
    similar = []
    for name in missing[:12]:
        found = difflib.get_close_matches(name.strip().casefold(), by_folded, n=1, cutoff=0.7)
        similar += [f"{by_folded[found[0]]!r} for {name!r}"] if found else []
    return f" Did you mean {', '.join(similar)}?" if similar else ""


def check_names(names: Sequence[str], file: str, most: int = MAX_COLUMNS) -> None:
    """Raise `InvalidData` if a file has no columns, too many, or a name twice."""
    if not names:
        raise InvalidData(f"{file} has no columns.")
    if len(names) > most:
        raise InvalidData(
            f"{file} has {len(names)} columns; at most {most} can be read. Is it of the format that its name says?"
        )
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        raise InvalidData(
            f"{file} has {listed(repeated)} more than once. Give every column its own name; if the first line of a "
            "csv file is not its header, say so (header=False)."
        )


def numbered(count: int) -> list[str]:
    """Return names for columns that have none: "1", "2", ..."""
    return [str(number) for number in range(1, count + 1)]


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def is_number(kind: Any) -> bool:
    """Return whether values of an Arrow type can be converted to numbers."""
    tests = (
        pa.types.is_floating,
        pa.types.is_integer,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def _kind(field: Any, declared: frozenset[str]) -> Kind:
    values = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if is_text(values):
        return "category"
    if is_number(values) or pa.types.is_duration(values):
        return "category" if field.name in declared or values is not field.type else "number"
    if pa.types.is_timestamp(values) or pa.types.is_date(values) or pa.types.is_time(values):
        return "category" if field.name in declared else "date"
    return "other"
