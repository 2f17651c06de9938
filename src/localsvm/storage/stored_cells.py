"""The cells of a model file, read when they are asked for.

Enters: the mapped file and where its cells are. Leaves: a sequence of `TrainedCell`s whose arrays are views of the
file, so that prediction reads the cells that it touches, and threads share what the system has read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import TrainedCell
from localsvm.storage.cell_record import read_cell
from localsvm.storage.fields import Fields
from localsvm.storage.record import unpack


class StoredCells(Sequence[TrainedCell]):
    """The cells of a model file, each read, checked and remembered when it is first asked for."""

    def __init__(
        self,
        buffer: memoryview,
        places: NDArray[np.int64],
        seconds: NDArray[np.float64],
        phases: tuple[str, ...],
        n_features: int,
        n_outputs: int,
        what: str,
    ) -> None:
        self._buffer, self._places, self._seconds, self._phases = buffer, places, seconds, phases
        self._n_features, self._n_outputs, self._what = n_features, n_outputs, what
        self._read: dict[int, TrainedCell] = {}

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self._places)

    @overload
    def __getitem__(self, number: int) -> TrainedCell: ...
    @overload
    def __getitem__(self, number: slice) -> list[TrainedCell]: ...
    def __getitem__(self, number: int | slice) -> TrainedCell | list[TrainedCell]:
        """Return one cell, or some."""
        if isinstance(number, slice):
            return [self[j] for j in range(*number.indices(len(self)))]
        place = range(len(self))[number]
        cell = self._read.get(place)
        if cell is None:
            cell = self._read[place] = self._read_cell(place)
        return cell

    def _read_cell(self, number: int) -> TrainedCell:
        what = f"cell {number} of {self._what}"
        begin, size = self._places[number].tolist()
        cell = Fields(unpack(self._buffer[begin : begin + size], what), what)
        if cell.integer("number") != number:
            raise cell.refuse(f"it is cell {cell.integer('number')}")
        seconds = dict(zip(self._phases, self._seconds[number].tolist(), strict=True))
        return read_cell(cell, self._n_features, self._n_outputs, seconds)

    def __reduce__(self) -> tuple[type[tuple[Any, ...]], tuple[list[TrainedCell]]]:
        """Pickle as a tuple of cells: whoever loads it need not have the file."""
        return tuple, (list(self),)
