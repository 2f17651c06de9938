"""Support vectors on disk: trained cells that take little memory, until their functions are evaluated.

Enters: a trained cell. Leaves: the same cell, whose kernel sums are read from a file without a name when they are
asked for.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import KernelSum, SupportSum, TrainedCell
from localsvm.data.disk import RowFile


class Spool:
    """A file for the kernel sums of many cells; threads may write to it at once.

    Parameters
    ----------
    directory : path
        On the disk that has the room.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._numbers = RowFile((0, 1), np.float32, directory)
        self._lock = threading.Lock()

    def keep(self, cell: TrainedCell) -> TrainedCell:
        """Return the cell with its kernel sums on disk."""
        sums = tuple(self._keep(part) for part in cell.functions.sums)
        return replace(cell, functions=replace(cell.functions, sums=sums))

    def _keep(self, part: SupportSum) -> SpooledSum:
        return SpooledSum(part.outputs, part.width, self._write(part.support_vectors), self._write(part.coefficients))

    def _write(self, values: NDArray[np.float32]) -> Place:
        with self._lock:
            begin = len(self._numbers)
            self._numbers.append(values.reshape(-1, 1))
        return Place(self._numbers, begin, values.shape)


@dataclass(frozen=True)
class Place:
    """Where in a spool an array is."""

    file: RowFile
    begin: int
    shape: tuple[int, ...]

    def read(self) -> NDArray[np.float32]:
        """Return the array."""
        size = int(np.prod(self.shape))
        return self.file.read(self.begin, self.begin + size).reshape(self.shape)


@dataclass(frozen=True)
class SpooledSum:
    """A kernel sum whose arrays are read when they are asked for."""

    outputs: NDArray[np.intp]
    width: float
    _support_vectors: Place
    _coefficients: Place

    @property
    def support_vectors(self) -> NDArray[np.float32]:
        """Support vectors, one per row."""
        return self._support_vectors.read()

    @property
    def coefficients(self) -> NDArray[np.float32]:
        """Coefficients by output and support vector."""
        return self._coefficients.read()

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return self._support_vectors.shape[0]

    def __reduce__(self) -> tuple[type[KernelSum], tuple[Any, ...]]:
        """Pickle as a sum in memory: whoever loads it does not have the file."""
        return KernelSum, (self.outputs, self.width, self.support_vectors, self.coefficients)
