"""Trained cells of a fit whose rows do not fit in memory: records in a file without a name.

Enters: trained cells, by any thread. Leaves: the same cells, in a sequence that reads each one when it is asked for,
and their out-of-fold scores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from localsvm.cell.trained import OutOfFold, TrainedCell
from localsvm.data.disk import RowFile
from localsvm.storage.cell_record import CELL, OUT_OF_FOLD
from localsvm.storage.lazy_cells import LazyCells
from localsvm.storage.record import Buffer
from localsvm.tasks import Reduction

Place = tuple[int, int]
"""Where a record begins and ends."""


class Spool:
    """An unnamed file of cells; it is gone when the process ends, however it ends."""

    def __init__(self, directory: str | os.PathLike[str], n_features: int, reduction: Reduction) -> None:
        self._bytes = RowFile((0, 1), np.uint8, directory)
        self._lock = threading.Lock()
        self._sizes = {"n_features": n_features, "n_outputs": reduction.n_outputs}
        self._n_scores = reduction.n_scores
        self._cells: dict[int, Place] = {}
        self._out_of_fold: dict[int, Place] = {}
        self._seconds: dict[int, dict[str, float]] = {}

    def save(self, cell: TrainedCell) -> None:
        """Write a cell; several threads may do so at once."""
        self._cells[cell.number] = self._append(CELL.pack(cell))
        self._seconds[cell.number] = cell.seconds
        if cell.out_of_fold is not None:
            self._out_of_fold[cell.number] = self._append(OUT_OF_FOLD.pack(cell.out_of_fold))

    def cells(self) -> LazyCells:
        """Return the cells in the order of their numbers, without their out-of-fold scores."""
        return LazyCells(len(self._cells), self._load, remember=False)

    def out_of_fold(self) -> Iterator[OutOfFold]:
        """Yield the out-of-fold scores of the cells that have them, in the order of their numbers."""
        for number in sorted(self._out_of_fold):
            record = self._read(self._out_of_fold[number])
            yield OUT_OF_FOLD.unpack(record, f"the scores of cell {number}", n_scores=self._n_scores)

    def _load(self, number: int) -> TrainedCell:
        cell = CELL.unpack(self._read(self._cells[number]), f"cell {number}", **self._sizes)
        return replace(cell, seconds=self._seconds[number])

    def _append(self, pieces: list[Buffer]) -> Place:
        record = np.frombuffer(b"".join(pieces), dtype=np.uint8)
        with self._lock:
            begin = len(self._bytes)
            self._bytes.append(record[:, None])
            return begin, len(self._bytes)

    def _read(self, place: Place) -> memoryview:
        return self._bytes.read(*place).reshape(-1).data
