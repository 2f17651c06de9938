"""The encoding of model files from before target means: levels as indicators of one height.

Enters: what such a file holds. Leaves: the `Encoding` with the same columns, in the same order, with the same values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localsvm.data.encoding.categories import Category
from localsvm.data.encoding.encoding import Encoding, Kind
from localsvm.data.encoding.numbers import plain_numbers


@dataclass(frozen=True)
class OneHotCategory:
    """A column of categories."""

    column: int
    names: tuple[str, ...]
    """Levels with an indicator each."""
    pooled: bool
    """Whether all others, unseen ones too, have an indicator."""
    missing: bool
    """Whether missing has an indicator."""

    def category(self, value: float) -> Category:
        """Return the same with slots; see `levels`."""
        missing, others = len(self.names), len(self.names) + 1
        indicated = [*range(len(self.names)), *([others] if self.pooled else []), *([missing] if self.missing else [])]
        return Category(
            column=self.column,
            names=self.names,
            n_levels=len(indicated),
            means=np.zeros((len(self.names) + 2, 0)),
            outputs=(),
            indicated=np.array(indicated, dtype=np.intp),
            factor=np.full(len(indicated), value),
        )


@dataclass(frozen=True)
class OneHot:
    """Columns of numbers, filled if they have gaps, and of categories."""

    numbers: tuple[int, ...]
    fills: tuple[float, ...] | None
    gappy: tuple[int, ...]
    categories: tuple[OneHotCategory, ...]
    category_value: float
    gap_value: float

    def encoding(self, n_columns: int) -> Encoding:
        """Return the encoding of a table with so many columns."""
        kinds: list[Kind] = ["empty"] * n_columns
        for column in self.numbers:
            kinds[column] = "number"
        for category in self.categories:
            kinds[category.column] = "category"
        columns = np.array(self.numbers, dtype=np.intp)
        fills = np.zeros(len(columns)) if self.fills is None else np.array(self.fills)
        return Encoding(
            kinds=tuple(kinds),
            numbers=plain_numbers(columns, fills, np.where(np.isin(columns, self.gappy), self.gap_value, 0.0)),
            cycles=(),
            categories=tuple(category.category(self.category_value) for category in self.categories),
            imputes=self.fills is not None,
        )
