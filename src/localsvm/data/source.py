"""Where rows come from: an array, or something that makes dense rows of what it holds when they are read.

Enters: the caller's data. Leaves: `RowSource`, of which every stage reads rows by number, a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localsvm import _native

BLOCK_ROWS = 16384
BLOCK_VALUES = 1 << 21
"""Rows of a block, and numbers in it: where rows are wide, a block has fewer of them."""


class RowSource(Protocol):
    """Rows that are read by number. A NumPy array is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __getitem__(self, rows: Any, /) -> NDArray[Any]:
        """Return some rows, given by a slice or by their numbers, as an array."""


@dataclass(frozen=True)
class RowSubset:
    """Some rows of a source, read when they are asked for."""

    source: RowSource
    kept: NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""
        return (len(self.kept), self.source.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.source.dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.kept)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Return some rows as an array."""
        return self.source[self.kept[rows]]


def block_rows(n_features: int, most: int = BLOCK_ROWS) -> int:
    """Return how many rows of this width are read at a time."""
    return max(1, min(most, BLOCK_VALUES // n_features))


def row_blocks(begin: int, end: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover begin to end."""
    for start in range(begin, end, size):
        yield slice(start, min(start + size, end))


def column_ends(X: RowSource) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the largest number of every column."""
    ends = [(block.min(axis=0), block.max(axis=0)) for block in read_blocks(X)]
    return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)


def all_finite(X: NDArray[np.floating]) -> bool:
    """Return whether no number of an array is NaN or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.data.source import all_finite
    >>> all_finite(np.ones((2, 3))), all_finite(np.array([[1.0, np.nan]]))
    (True, False)
    """
    return _native.all_finite(np.ascontiguousarray(X))


def read_blocks(X: RowSource) -> Iterator[NDArray[Any]]:
    """Yield all rows, a block at a time."""
    n_rows, n_features = X.shape
    return (X[block] for block in row_blocks(0, n_rows, block_rows(n_features)))
