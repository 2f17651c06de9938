"""The columns of a file: their names, their types, and what they can serve as.

Enters: a schema of Arrow. Leaves: a `Schema`, checked: some columns, no name twice.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from localsvm.errors import InvalidData

Kind = Literal["number", "category", "date", "other"]

MOST_COLUMNS = 100_000
"""More are a damaged file, or one that does not become dense rows."""


@dataclass(frozen=True)
class Column:
    """A column of a file."""

    name: str
    type: Any
    """Its type in the batches: a `pyarrow.DataType`."""
    kind: Kind
    """What it can serve as; dates and others are neither features nor targets."""


@dataclass(frozen=True)
class Schema:
    """The columns of a file, in its order."""

    columns: tuple[Column, ...]
    named: bool = True
    """Whether the file has names; where it has none, they are "1", "2", ..."""
    sparse: bool = False
    """Whether columns are numbered and those that are not there are zero."""

    @classmethod
    def of(cls, arrow: Any, file: str, categories: Sequence[str] = (), *, named: bool = True) -> Schema:
        """Take the columns of a schema of Arrow; `file` is named in errors."""
        declared = frozenset(categories)
        columns = tuple(Column(field.name, field.type, _kind(field, declared)) for field in arrow)
        schema = cls(columns, named)
        check_names(schema.names, file)
        return schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def arrow(self) -> Any:
        """The schema of the batches, a `pyarrow.Schema`."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a column."""
        return name in self._by_name

    def __getitem__(self, name: str) -> Column:
        """Return a column by its name."""
        return self._by_name[name]

    def require(self, names: Iterable[str], file: str) -> None:
        """Refuse names that are no columns, with those that may have been meant."""
        missing = [name for name in names if name not in self and not (self.sparse and name.isdecimal())]
        if missing:
            raise InvalidData(f"{file} lacks {listed(missing)}.{_meant(missing, self.names)} {self._has()}")

    def _has(self) -> str:
        if len(self.names) <= 12:
            return f"Its columns are {', '.join(map(repr, self.names))}."
        return f"Its {len(self.names)} columns begin with {', '.join(map(repr, self.names[:12]))}."


def listed(names: Sequence[str]) -> str:
    """Return names of columns as part of a sentence; of many, the first ones.

    Examples
    --------
    >>> from localsvm.data.files.schema import listed
    >>> listed(["age"]), listed(["age", "size"])
    ("the column 'age'", "2 columns: 'age', 'size'")
    """
    if len(names) == 1:
        return f"the column {names[0]!r}"
    more = "" if len(names) <= 12 else ", ..."
    return f"{len(names)} columns: {', '.join(map(repr, names[:12]))}{more}"


def _meant(missing: Sequence[str], names: Sequence[str]) -> str:
    """Return a question about columns whose names are near to those that are missing, if there are any."""
    by_folded = {name.strip().casefold(): name for name in names}
    near = []
    for name in missing[:12]:
        found = difflib.get_close_matches(name.strip().casefold(), by_folded, n=1, cutoff=0.7)
        near += [f"{by_folded[found[0]]!r} for {name!r}"] if found else []
    return f" Did you mean {', '.join(near)}?" if near else ""


def check_names(names: Sequence[str], file: str) -> None:
    """Refuse a file without columns, with too many, or with a name twice."""
    if not names:
        raise InvalidData(f"{file} has no columns.")
    if len(names) > MOST_COLUMNS:
        raise InvalidData(
            f"{file} has {len(names)} columns; {MOST_COLUMNS} are the most that is read. Is it what its name says?"
        )
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise InvalidData(
            f"{file} has {listed(twice)} more than once. Give every column its own name; if the first line of a csv "
            "file is not its header, say so (header=False)."
        )


def numbered(count: int) -> list[str]:
    """Return the names of columns that have none."""
    return [str(number) for number in range(1, count + 1)]


def is_text(kind: Any) -> bool:
    """Return whether a type of Arrow is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_view(kind))


def _is_view(kind: Any) -> bool:
    return bool(pa.types.is_string_view(kind))


def is_number(kind: Any) -> bool:
    """Return whether a type of Arrow becomes a number."""
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
    if is_number(values):
        return "category" if field.name in declared or values is not field.type else "number"
    if pa.types.is_temporal(values):
        return "category" if field.name in declared else "date"
    return "other"
