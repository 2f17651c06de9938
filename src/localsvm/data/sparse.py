"""Rows of a sparse matrix, made dense as they are read: a block or a cell at a time, never all.

Enters: a matrix or an array of `scipy.sparse`. Leaves: a `RowSource`. Numbers that are not stored are
zero, so that a fit to a sparse matrix equals the fit to the dense one to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray


@dataclass(frozen=True)
class SparseRows:
    """A matrix in compressed rows."""

    matrix: Any

    @classmethod
    def of(cls, matrix: Any) -> SparseRows:
        """Take a matrix of any sparse format; one in compressed rows is not copied."""
        return cls(scipy.sparse.csr_array(matrix))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""
        return (int(self.matrix.shape[0]), int(self.matrix.shape[1]))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.stored.dtype

    @property
    def stored(self) -> NDArray[Any]:
        """The numbers that are stored; all others are zero."""
        return np.asarray(self.matrix.data)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Return some rows as a dense array."""
        return np.asarray(self.matrix[rows].toarray())

    def columns(self, wanted: Sequence[int]) -> Iterator[NDArray[Any]]:
        """Yield some columns, each as a dense array."""
        by_column = self.matrix.tocsc()
        for number in wanted:
            yield np.asarray(by_column[:, [number]].toarray()).ravel()

    def where(self, test: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows and columns of stored numbers that pass a test."""
        numbers = self.matrix.tocoo()
        found = test(numbers.data)
        rows, columns = numbers.coords
        return rows[found], columns[found]
