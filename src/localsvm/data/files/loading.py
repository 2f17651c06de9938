"""The rows of a file for a fit: in memory up to a budget, on disk beyond it.

Where the rows are stored makes no difference to the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localsvm.data.disk import RowFile
from localsvm.data.files.numbers import CategoryCodes, check_target, check_weight, number_type, to_numbers
from localsvm.data.files.table import BATCH_ROWS, Column, Schema, TableFile
from localsvm.data.labels import Labels
from localsvm.data.source import block_rows
from localsvm.data.table import Table
from localsvm.errors import InvalidData

OnRows = Callable[[int, int | None], None]
"""Called with the number of rows so far, and of the whole file if it is known."""


@dataclass(frozen=True)
class Roles:
    """Which columns of a file are the target, the weights, the groups or times, and the features."""

    target: str
    weight: str | None = None
    features: tuple[str, ...] | None = None
    """Default: all columns that have no other role, without the index of a data frame. Groups and times are features if
    they are named here."""
    ignored: tuple[str, ...] = ()
    groups: str | None = None
    time: str | None = None

    @property
    def ties(self) -> tuple[str, ...]:
        """Columns of groups and of times, at most one of each."""
        return tuple(name for name in (self.groups, self.time) if name is not None)

    def left_out(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that are left out because they are the index of a data frame."""
        known = (self.target, self.weight, *self.ignored)
        return () if self.features else tuple(name for name in schema.index if name not in known)

    def features_in(self, schema: Schema, file: str) -> tuple[str, ...]:
        """Return the names of the features; raise `InvalidData` if columns are missing."""
        others = [self.target, *([self.weight] if self.weight else []), *self.ignored]
        schema.require([*others, *self.ties, *(self.features or ())], file)
        without = others if self.features else [*others, *self.ties, *schema.index]
        names = tuple(name for name in self.features or schema.names if name not in without)
        if not names:
            raise InvalidData(f"{file} has no features: its only columns are {', '.join(map(repr, without))}.")
        return names


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes of rows that may stay in memory, and the directory for rows that do not fit."""

    n_bytes: int
    directory: str


@dataclass(frozen=True)
class Loaded:
    """The rows of a file with their targets and weights."""

    table: Table
    target: NDArray[Any] | Labels
    weight: NDArray[np.float64] | None
    groups: NDArray[Any] | None = None
    time: NDArray[Any] | None = None


def load(file: TableFile, roles: Roles, budget: MemoryBudget, on_rows: OnRows | None = None) -> Loaded:
    """Read all rows of a file.

    Parameters
    ----------
    file : TableFile
        An open file.
    roles : Roles
        Which columns are the target, the weights and the features.
    budget : MemoryBudget
        How many bytes may stay in memory; if rows need more, all are stored on disk.
    on_rows : callable, optional
        Called after every batch with the number of rows so far, and of the whole file if it is known.

    Returns
    -------
    Loaded
        Rows, targets and weights, in the order of the file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files import open_file
    >>> from localsvm.data.files.loading import MemoryBudget, Roles, load
    >>> file = open_file(pa.table({"size": [1.5, 2.5], "colour": ["red", "blue"], "kind": ["b", "a"]}))
    >>> loaded = load(file, Roles("kind"), MemoryBudget(10**6, "."))
    >>> loaded.table.X.tolist(), loaded.table.names, loaded.target
    ([[1.5, 0.0], [2.5, 1.0]], {1: ('red', 'blue')}, Labels(codes=array([1, 0]), names=('a', 'b')))
    """
    schema = file.schema
    names = roles.features_in(schema, file.name)
    kinds = {name: schema[name].kind for name in names if name in schema}
    codes = {name: CategoryCodes(name) for name, kind in kinds.items() if kind == "category"}
    dates = {name for name, kind in kinds.items() if kind == "date"}
    rows = _GrowingRows(number_type(schema, names), len(names), budget)
    target = _Target(roles.target, file)
    weight: list[NDArray[np.float64]] | None = [] if roles.weight else None
    ties = {name: _Ties(name, file, ordered=name == roles.time) for name in roles.ties}
    wanted = (*names, roles.target, *([roles.weight] if roles.weight else []), *ties)
    for batch in file.batches(wanted, block_rows(len(wanted), BATCH_ROWS)):
        first_row = 1 + len(rows)
        target.add(batch.column(roles.target), first_row)
        if weight is not None:
            weight.append(to_numbers(batch, [str(roles.weight)])[:, 0].astype(np.float64))
            check_weight(weight[-1], str(roles.weight), file.name, first_row)
        for name, column in ties.items():
            column.add(batch.column(name), first_row)
        rows.append(to_numbers(batch, names, codes=codes, dates=dates))
        if on_rows is not None:
            on_rows(len(rows), file.n_rows)
    if len(rows) == 0:
        raise InvalidData(f"{file.name} has no rows.")
    categories = {j: codes[name].names for j, name in enumerate(names) if name in codes}
    days = frozenset(j for j, name in enumerate(names) if name in dates)
    table = Table(rows.finish(), categories, days, names if schema.named else None, names, first_row=1)
    return Loaded(
        table,
        target.finish(),
        None if weight is None else np.concatenate(weight),
        groups=None if roles.groups is None else ties[roles.groups].finish(),
        time=None if roles.time is None else ties[roles.time].finish(),
    )


class _GrowingRows:
    """Rows in memory until they exceed the budget, then on disk."""

    def __init__(self, dtype: np.dtype[Any], n_columns: int, budget: MemoryBudget) -> None:
        self._dtype, self._n_columns, self._budget = dtype, n_columns, budget
        self._blocks: list[NDArray[Any]] = []
        self._file: RowFile | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, rows: NDArray[Any]) -> None:
        self._count += len(rows)
        if self._file is not None:
            self._file.append(rows)
            return
        self._blocks.append(rows)
        # Twice the size of the rows: `finish` holds the blocks and their concatenation.
        if 2 * self._count * self._n_columns * self._dtype.itemsize > self._budget.n_bytes:
            self._file = RowFile((0, self._n_columns), self._dtype, self._budget.directory)
            for block in self._blocks:
                self._file.append(block)
            self._blocks.clear()

    def finish(self) -> NDArray[Any] | RowFile:
        return np.concatenate(self._blocks) if self._file is None else self._file


class _Target:
    """The target column: numbers or categories, none of them missing."""

    def __init__(self, name: str, file: TableFile) -> None:
        column = file.schema[name]
        if column.kind not in ("number", "category") or pa.types.is_duration(column.type):
            raise InvalidData(
                f"the target {name!r} of {file.name} has type {column.type}: give a column of numbers or of text."
            )
        self._name, self._file = name, file.name
        self._codes = CategoryCodes(name) if column.kind == "category" else None
        self._parts: list[NDArray[Any]] = []

    def add(self, column: Any, first_row: int) -> None:
        check_target(column, self._name, self._file, first_row)
        if self._codes is None:
            self._parts.append(column.to_numpy(zero_copy_only=False))
        else:
            self._parts.append(self._codes.encode(column).astype(np.int32))

    def finish(self) -> NDArray[Any] | Labels:
        values = np.concatenate(self._parts)
        if self._codes is not None:
            return Labels(self._codes.places[values], self._codes.sorted_names)
        # All numbers of a csv file are floats, but classes are named 1 and 2, not 1.0 and 2.0.
        is_whole = values.dtype.kind == "f" and np.abs(values).max() < 2**53 and (values == np.floor(values)).all()
        return values.astype(np.int64) if is_whole else values


class _Ties:
    """The column of groups or of times, none of them missing: numbers, dates, or of groups numbers for text."""

    def __init__(self, name: str, file: TableFile, *, ordered: bool) -> None:
        self._name, self._file = name, file.name
        column = file.schema[name] if name in file.schema else Column(name, pa.float64(), "number")
        if column.kind == "other" or (ordered and column.kind == "category"):
            what = "times as numbers or dates" if ordered else "groups as text, numbers or dates"
            raise InvalidData(f"the column {name!r} of {file.name} has type {column.type}: give {what}.")
        self._is_text = column.kind == "category"
        self._numbers: dict[Any, int] = {}
        self._parts: list[NDArray[Any]] = []

    def add(self, column: Any, first_row: int) -> None:
        missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        if missing.any():
            raise InvalidData(
                f"the column {self._name!r} of {self._file} is missing at row {first_row + int(missing.argmax())}, but "
                "every row needs its group or time. Drop such rows."
            )
        if self._is_text:
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            names = encoded.dictionary.to_pylist()
            numbers = np.array([self._numbers.setdefault(name, len(self._numbers)) for name in names], dtype=np.int64)
            self._parts.append(numbers[encoded.indices.to_numpy(zero_copy_only=False)])
        else:
            self._parts.append(column.to_numpy(zero_copy_only=False))

    def finish(self) -> NDArray[Any]:
        return np.concatenate(self._parts)
