"""From the columns of the input to those of the model: missing numbers replaced, categories spread over columns.

Enters: a `Table` and the weights of its rows. Leaves: an `Encoding`, plain data that a fitted estimator remembers, and
with it `EncodedRows`, which replace and spread when they are read. The columns of the model are, in this order,

    numbers, as they are or imputed | one for each of them that had gaps: where they are | one for each category

The last two are on their scale already; `Encoding.n_numbers` says where they begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.disk import RowFile
from localsvm.data.source import RowSource
from localsvm.data.sparse import SparseRows
from localsvm.errors import InvalidData

MOST_CATEGORIES = 30
"""Categories of a column that are told apart: the most frequent ones; the others are pooled."""

# Two categories are 0.5 * sqrt(2) apart, where the numbers of a column, once scaled, are at most 1 apart; a gap is only
# so far from the number that replaces it. See docs/decisions.md, "Categories and missing values".
_CATEGORY = 0.5
_GAP = 0.1


Numbers = NDArray[np.floating] | SparseRows | RowFile


@dataclass(frozen=True)
class Table:
    """Rows with one column for each of the input: numbers, or places in a list of categories; NaN is missing."""

    X: Numbers
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The lists, by column."""
    labels: tuple[str, ...] | None = None
    """What the columns are called, if they are."""
    shown: tuple[str, ...] | None = None
    """What errors call the columns of a file, with or without names."""
    first_row: int = 0
    """What errors call the first row: 0 in an array; in a file rows are counted from 1."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)


@dataclass(frozen=True)
class Category:
    """What is known of a column of categories."""

    column: int
    names: tuple[str, ...]
    """Categories that have a column of the model each, sorted."""
    pooled: bool
    """Whether there were more, which have one column together."""
    missing: bool
    """Whether some were missing: that is a category too."""

    @property
    def width(self) -> int:
        """Number of columns of the model."""
        return len(self.names) + self.pooled + self.missing

    def places(self, names: tuple[str, ...]) -> NDArray[np.intp]:
        """Return the columns that other lists of names belong to, and at the end that of missing; -1 is none."""
        known = {name: place for place, name in enumerate(self.names)}
        other = len(self.names) if self.pooled else -1
        missing = self.width - 1 if self.missing else -1
        return np.array([known.get(name, other) for name in names] + [missing])


@dataclass(frozen=True)
class Encoding:
    """How the columns of the input become those of the model."""

    numbers: tuple[int, ...]
    """Columns of numbers; those without any number are dropped."""
    fills: tuple[float, ...] | None
    """What replaces their missing values: the median; None: nothing is missing."""
    gappy: tuple[int, ...]
    """Those of them that had missing values."""
    categories: tuple[Category, ...]
    category_value: float = _CATEGORY
    gap_value: float = _GAP

    @property
    def n_numbers(self) -> int:
        """Number of columns that are to be scaled."""
        return len(self.numbers)

    @property
    def width(self) -> int:
        """Number of columns of the model."""
        return len(self.numbers) + len(self.gappy) + sum(category.width for category in self.categories)

    @property
    def origins(self) -> NDArray[np.intp]:
        """The column of the input that each column of the model comes from."""
        spread = [category.column for category in self.categories for _ in range(category.width)]
        return np.array([*self.numbers, *self.gappy, *spread], dtype=np.intp)

    def encode(self, table: Table) -> EncodedRows:
        """Return the rows of a table as the model takes them."""
        places = tuple(category.places(table.names[category.column]) for category in self.categories)
        return EncodedRows(table.X, self, places)


@dataclass(frozen=True)
class EncodedRows:
    """Rows of a table that are encoded when they are read."""

    source: RowSource
    encoding: Encoding
    places: tuple[NDArray[np.intp], ...]
    """For every column of categories: from places in the table's list to columns of the model."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns of the model."""
        return (len(self.source), self.encoding.width)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.source.dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Return some rows as an array."""
        X, encoding = self.source[rows], self.encoding
        numbers = X[:, encoding.numbers]
        if encoding.fills is not None:
            numbers = np.where(np.isnan(numbers), np.array(encoding.fills, dtype=X.dtype), numbers)
        parts = [numbers, encoding.gap_value * np.isnan(X[:, encoding.gappy])]
        for category, places in zip(encoding.categories, self.places, strict=True):
            place = _spread(X[:, category.column], places)
            parts.append(encoding.category_value * (place[:, None] == np.arange(category.width)))
        return np.concatenate(parts, axis=1, dtype=X.dtype)


def _spread(codes: NDArray[np.floating], places: NDArray[np.intp]) -> NDArray[np.intp]:
    return places[np.where(np.isnan(codes), len(places) - 1, codes).astype(np.intp)]


def learn_encoding(table: Table, weight: NDArray[np.float64], *, impute: bool) -> Encoding | None:
    """Learn the medians and the categories of rows; those of weight zero are as if absent."""
    present = np.flatnonzero(weight)
    categories = _learn_categories(table, present, weight[present])
    if not impute:
        numbers = tuple(j for j in range(table.X.shape[1]) if j not in table.names)
        return Encoding(numbers, None, (), categories) if categories else None
    medians, gappy = _learn_numbers(table, present, weight[present])
    encoding = Encoding(tuple(medians), tuple(medians.values()), gappy, categories)
    if encoding.width == 0:
        raise InvalidData("all values of all columns are missing: there is nothing to learn from.")
    return encoding


def _learn_numbers(
    table: Table, present: NDArray[np.intp], weight: NDArray[np.float64]
) -> tuple[dict[int, float], tuple[int, ...]]:
    """Return the medians of the columns that have numbers, and which of these have gaps."""
    medians, gappy = {}, []
    wanted = [j for j in range(table.X.shape[1]) if j not in table.names]
    for j, column in zip(wanted, _each_column(table.X, wanted), strict=True):
        numbers = column[present]
        known = ~np.isnan(numbers)
        if known.any():
            medians[j] = weighted_median(numbers[known], weight[known])
            gappy += [] if known.all() else [j]
    return medians, tuple(gappy)


def _each_column(X: Numbers, wanted: Sequence[int]) -> Iterable[NDArray[np.floating]]:
    return (X[:, j] for j in wanted) if isinstance(X, np.ndarray) else X.columns(wanted)


def weighted_median(values: NDArray[np.floating], weight: NDArray[np.float64]) -> float:
    """Return the median of numbers of positive weight; an integer weight is as if the number were repeated."""
    if (weight == weight[0]).all():
        middle = [(len(values) - 1) // 2, len(values) // 2]
        low, high = np.partition(values, middle)[middle]
    else:
        order = np.lexsort((weight, values))  # sums in this order round alike for any order of the rows
        below = np.cumsum(weight[order])
        first, last = (np.searchsorted(below, below[-1] / 2, side) for side in ("left", "right"))
        low, high = values[order[[first, min(last, len(order) - 1)]]]
    # The sum of two finite numbers may overflow, that of their halves cannot.
    return float(low) if low == high else float(low / 2 + high / 2)


def _learn_categories(table: Table, present: NDArray[np.intp], weight: NDArray[np.float64]) -> tuple[Category, ...]:
    found = []
    for (column, names), values in zip(table.names.items(), _each_column(table.X, list(table.names)), strict=True):
        codes = values[present]
        missing = np.isnan(codes)
        mass = _masses(codes[~missing].astype(np.intp), weight[~missing], len(names))
        # Descending mass, ties by name, whatever the order of the list. Categories without mass do not occur.
        by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.intp)
        order = by_name[np.argsort(-mass[by_name], kind="stable")][: int((mass > 0).sum())]
        kept = tuple(sorted(names[k] for k in order[:MOST_CATEGORIES]))
        if kept:
            found.append(Category(column, kept, len(order) > len(kept), bool(missing.any())))
    return tuple(found)


def _masses(codes: NDArray[np.intp], weight: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    order = np.lexsort((weight, codes))  # sums in this order round alike for any order of the rows
    return np.asarray(np.bincount(codes[order], weight[order], count), dtype=np.float64)
