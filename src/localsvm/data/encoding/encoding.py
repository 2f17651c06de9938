"""From the columns of a table to those of a model.

Enters: a `Table`. Leaves: `EncodedRows`, rows in the columns of a model, encoded a block at a time when they are read.
An `Encoding` is learned once, on the training rows; a model uses a `View` of it, whose columns are, in this order,

    numbers | indicators of missing values, of frequent values | cyclic parts of dates | categories: means, indicators

The model scales the first `n_numbers` columns. The others are on their scale already: that of standardized numbers.
Within each kind, columns are in an order that depends on their content and not on their position in the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.categories import Category
from localsvm.data.encoding.cycles import Cycle
from localsvm.data.encoding.levels import code_slots
from localsvm.data.encoding.numbers import TRANSFORMS, NumberColumns
from localsvm.data.source import RowSource
from localsvm.data.table import Table, each_column
from localsvm.data.types import FloatArray, IndexArray
from localsvm.errors import InvalidData, InvalidParameter

Kind = Literal["number", "category", "date", "empty"]


@dataclass(frozen=True)
class ModelColumn:
    """A column of a model."""

    origin: int
    """The column of the table that it comes from."""
    kind: Literal["number", "indicator", "cycle", "mean"]
    text: str
    """What follows the name of the feature in the name of the column."""


@dataclass(frozen=True)
class View:
    """A choice of columns: the transform of numbers, and whether frequent levels have indicators."""

    numbers: str
    levels: bool
    columns: tuple[ModelColumn, ...]

    @property
    def width(self) -> int:
        """Number of columns of the model."""
        return len(self.columns)

    @cached_property
    def n_numbers(self) -> int:
        """Number of columns that the model scales; they come first."""
        return sum(column.kind == "number" for column in self.columns)

    @cached_property
    def origins(self) -> IndexArray:
        """The column of the table that each column of the model comes from."""
        return np.array([column.origin for column in self.columns], dtype=np.intp)

    def names(self, features: Sequence[str]) -> list[str]:
        """Return names of the columns, given those of the features."""
        return [features[column.origin] + column.text for column in self.columns]


@dataclass(frozen=True, eq=False)
class Encoding:
    """What was learned of the columns of a table; no targets and no rows are in it."""

    kinds: tuple[Kind, ...]
    """What each column of the table has; "empty" ones had no value in training."""
    numbers: NumberColumns
    """Numbers and, as days, dates."""
    cycles: tuple[Cycle, ...]
    categories: tuple[Category, ...]
    imputes: bool
    """Whether values may be missing."""

    @property
    def has_only_numbers(self) -> bool:
        """Whether no column has categories or dates."""
        return not {"category", "date"} & set(self.kinds)

    @property
    def is_empty(self) -> bool:
        """Whether no column varies with the rows."""
        return not next(self._columns(levels=True), None)

    def view(self, numbers: str = "plain", levels: bool = True) -> View:
        """Return the columns of a model.

        Parameters
        ----------
        numbers : {"plain", "log", "rank"}
            Transform of the numbers; "log" applies to columns with heavy tails only.
        levels : bool
            Whether frequent levels of categories have indicators beside the target means.

        Returns
        -------
        View
            For `encode`.
        """
        if numbers not in TRANSFORMS:
            raise InvalidParameter(f"numbers={numbers!r} is not available; use one of {', '.join(TRANSFORMS)}.")
        if numbers == "rank" and len(self.numbers.used) and not self.numbers.knots:
            raise InvalidParameter(
                "the ranks of numbers were not learned: pass transforms=('rank',) to learn_encoding."
            )
        if levels not in self._layouts:
            self._layouts[levels] = tuple(self._columns(levels))
        if not self._layouts[levels]:
            raise InvalidData("no feature varies with the rows or has an effect: there is nothing to learn from.")
        return View(numbers, levels, self._layouts[levels])

    @cached_property
    def _layouts(self) -> dict[bool, tuple[ModelColumn, ...]]:
        """The columns with and without indicators of levels, once they were asked for."""
        return {}

    def _columns(self, levels: bool) -> Iterator[ModelColumn]:
        numbers = self.numbers
        origins = numbers.column.tolist()
        yield from (ModelColumn(origins[k], "number", "") for k in numbers.used)
        yield from (ModelColumn(origins[k], "indicator", " missing") for k in numbers.with_missing)
        yield from (ModelColumn(origins[k], "indicator", f" = {numbers.spike[k]:g}") for k in numbers.with_spike)
        for cycle in self.cycles:
            yield from (ModelColumn(cycle.column, "cycle", f": {cycle.part}, {wave}") for wave in ("sine", "cosine"))
        for category in self.categories:
            for output in category.outputs:
                which = f" {output}" if len(category.outputs) > 1 else ""
                yield ModelColumn(category.column, "mean", f": target mean{which}")
            for slot in category.indicated[: category.n_indicators(levels)].tolist():
                is_missing = slot == len(category.names)
                text = " missing" if is_missing else f" = {category.level_name(slot)}"
                yield ModelColumn(category.column, "indicator", text)

    def encode(self, table: Table, view: View) -> EncodedRows:
        """Return the rows of a table in the columns of a view, as new rows."""
        slots = tuple(category.slots_of(table.names[category.column]) for category in self.categories)
        return EncodedRows(table.X, self, view, slots)

    def unseen(self, table: Table) -> dict[int, float]:
        """Return the share of rows whose level was not in training, by the column of each category."""
        shares, wanted = {}, [category.column for category in self.categories]
        for category, codes in zip(self.categories, each_column(table.X, wanted), strict=True):
            slots = category.slots_of(table.names[category.column])
            found = slots[code_slots(codes, len(slots) - 1)]
            shares[category.column] = float((found == len(category.names) + 1).mean())
        return shares


@dataclass(frozen=True)
class FoldMeans:
    """Target means for training rows."""

    fold: NDArray[np.uint8]
    """Of every row."""
    means: tuple[FloatArray, ...]
    """By category: means outside of each fold (fold, slot, mean)."""


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows of a table that are encoded when they are read."""

    source: RowSource
    encoding: Encoding
    view: View
    slots: tuple[IndexArray, ...]
    """For every category: from codes of the table, and missing at the end, to slots."""
    training: FoldMeans | None = None
    """None for new rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns of the model."""
        return (len(self.source), self.view.width)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> FloatArray:
        """Return some rows as an array."""
        X, encoding, view = self.source[rows], self.encoding, self.view
        parts = [encoding.numbers.transformed(X, view.numbers), encoding.numbers.indicators(X)]
        parts += [cycle.waves(X) for cycle in encoding.cycles]
        fold = None if self.training is None else self.training.fold[rows]
        for number, (category, slots) in enumerate(zip(encoding.categories, self.slots, strict=True)):
            slot = slots[code_slots(X[:, category.column], len(slots) - 1)]
            means = None if self.training is None else self.training.means[number]
            parts.append(category.columns(slot, view.levels, means, fold))
        return np.concatenate(parts, axis=1)

    def slopes(self, rows: slice | NDArray[np.intp]) -> FloatArray:
        """Return the derivatives of the first `n_numbers` columns by the features that they come from.

        The others are indicators and steps, whose derivatives are 0.
        """
        return self.encoding.numbers.slopes(self.source[rows], self.view.numbers)
