"""Trained cells on disk: they take little memory, until their functions or scores are asked for.

Enters: a trained cell. Leaves: the same cell, whose support vectors and out-of-fold scores are read from a file without
a name when they are asked for.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import KernelSum, OutOfFold, OutOfFoldSamples, SupportSum, TrainedCell
from localsvm.data.disk import RowFile


class Spool:
    """A file for the arrays of many cells; threads may write to it at once.

    Parameters
    ----------
    directory : path
        On the disk that has the room.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._bytes = RowFile((0, 1), np.uint8, directory)
        self._lock = threading.Lock()

    def keep(self, cell: TrainedCell) -> TrainedCell:
        """Return the cell with its arrays on disk."""
        sums = tuple(self._keep_sum(part) for part in cell.functions.sums)
        out_of_fold = None if cell.out_of_fold is None else self._keep_samples(cell.out_of_fold)
        return replace(cell, functions=replace(cell.functions, sums=sums), out_of_fold=out_of_fold)

    def _keep_sum(self, part: SupportSum) -> SpooledSum:
        return SpooledSum(part.outputs, part.width, self._write(part.support_vectors), self._write(part.coefficients))

    def _keep_samples(self, samples: OutOfFoldSamples) -> SpooledSamples:
        return SpooledSamples(*(self._write(values) for values in (samples.scores, samples.y, samples.weight)))

    def _write(self, values: NDArray[Any]) -> Place:
        content = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        with self._lock:
            begin = len(self._bytes)
            self._bytes.append(content[:, None])
        return Place(self._bytes, begin, values.shape, values.dtype)


@dataclass(frozen=True)
class Place:
    """Where in a spool an array is."""

    file: RowFile
    begin: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def read(self) -> NDArray[Any]:
        """Return the array."""
        size = int(np.prod(self.shape)) * self.dtype.itemsize
        return self.file.read(self.begin, self.begin + size).reshape(-1).view(self.dtype).reshape(self.shape)


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


@dataclass(frozen=True)
class SpooledSamples:
    """Out-of-fold scores that are read when they are asked for."""

    _scores: Place
    _y: Place
    _weight: Place

    @property
    def scores(self) -> NDArray[np.float32]:
        """Scores by sample."""
        return self._scores.read()

    @property
    def y(self) -> NDArray[np.float64]:
        """Targets."""
        return self._y.read()

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weights."""
        return self._weight.read()

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self._y.shape[0]

    def __reduce__(self) -> tuple[type[OutOfFold], tuple[Any, ...]]:
        """Pickle as scores in memory."""
        return OutOfFold, (self.scores, self.y, self.weight)
