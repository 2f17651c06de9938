"""Rows by which duplicates are found: all features as given, and levels by their place in the encoding.

Enters: a `Table` and the `Encoding` of the model. Leaves: `CodedRows`, equal where the features are equal. The columns
of the model would not do: training rows have target means of their own, and two levels may have the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.encoding import Encoding
from localsvm.data.encoding.levels import code_slots
from localsvm.data.source import RowSource
from localsvm.data.table import Table
from localsvm.data.types import FloatArray, IndexArray

_MISSING = float(np.finfo(np.float64).max)  # no number that is a feature: those fit into single precision


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows of a table with the same codes as in training."""

    source: RowSource
    slots: dict[int, IndexArray]
    """From codes of the table, and missing at the end, to slots of the encoding, by column."""

    @classmethod
    def of(cls, table: Table, encoding: Encoding) -> CodedRows:
        """Return the rows of a table; levels that were not there in training are one."""
        slots = {category.column: category.slots_of(table.names[category.column]) for category in encoding.categories}
        return cls(table.X, slots)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of features."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> FloatArray:
        """Return some rows as an array."""
        X = np.array(self.source[rows], dtype=np.float64)
        for column, slots in self.slots.items():
            X[:, column] = slots[code_slots(X[:, column], len(slots) - 1)]
        X[np.isnan(X)] = _MISSING
        return X
