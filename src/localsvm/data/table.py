"""Rows as they were given: numbers, and codes where a column has categories or dates.

Enters: arrays, frames and files, through their readers. Leaves: a `Table`, which `encoding` turns into the columns of
the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localsvm.data.disk import RowFile
from localsvm.data.sparse import SparseRows

Numbers = NDArray[np.floating] | SparseRows | RowFile


@dataclass(frozen=True)
class Table:
    """Rows with one column per feature: numbers, positions in a list of levels, or days; NaN is missing."""

    X: Numbers
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The lists of levels, by column."""
    dates: frozenset[int] = frozenset()
    """Columns of dates: their numbers are days since 1970, with the time as a fraction."""
    labels: tuple[str, ...] | None = None
    """Names of the columns, if they have some."""
    shown: tuple[str, ...] | None = None
    """Names of the columns of a file in errors, whether or not the file has a header."""
    first_row: int = 0
    """Number of the first row in errors: 0 in an array; in a file rows are counted from 1."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def has_only_numbers(self) -> bool:
        """Whether no column has categories or dates."""
        return not self.names and not self.dates


def each_column(X: Numbers, wanted: Sequence[int]) -> Iterable[NDArray[np.floating]]:
    """Return some columns, one after the other; rows on disk are read once for as many as fit in memory."""
    return (X[:, j] for j in wanted) if isinstance(X, np.ndarray) else X.columns(wanted)
