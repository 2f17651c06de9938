"""Cells as the core evaluates them: packed when they are first asked for, the least recently used dropped again.

Enters: the cells of a model, which may stay in a file. Leaves: their values at rows that are assigned to cells. What
is packed takes at most `MAX_BYTES` for each model; a batch that touches more is evaluated a part of its cells at a
time. Threads may share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from localsvm._native import PackedCell, evaluate_cells
from localsvm.cell.trained import TrainedCell
from localsvm.data.types import Float32Array, FloatArray

MAX_BYTES = 1 << 30
"""Of the packed cells of a model."""

Labels = NDArray[np.int32]


class PackedCells:
    """The functions of cells, by number."""

    def __init__(
        self, cells: Sequence[TrainedCell], n_features: int, n_outputs: int, max_bytes: int | None = None
    ) -> None:
        self._cells, self._n_features, self._n_outputs = cells, n_features, n_outputs
        self._max_bytes = MAX_BYTES if max_bytes is None else max_bytes
        self._packed: dict[int, PackedCell] = {}  # the least recently used first
        self._bytes = 0
        self._lock = Lock()

    @property
    def n_bytes(self) -> int:
        """Bytes of the cells that are packed now."""
        return self._bytes

    def values(self, points: Float32Array, labels: Labels, n_threads: int = 1) -> FloatArray:
        """Return the outputs (n_points, n_outputs) of the cell of every scaled point."""
        out = np.empty((len(points), self._n_outputs))
        present = labels if len(labels) == 1 else np.flatnonzero(np.bincount(labels)).astype(np.int32)
        for some, cells in self._at_a_time(present):
            evaluate_cells(points, labels, some, cells, out, n_threads)
        return out

    def _at_a_time(self, present: Labels) -> Iterator[tuple[Labels, list[PackedCell]]]:
        """Yield packed cells, as many as are allowed at once."""
        begin, n_bytes = 0, 0
        cells: list[PackedCell] = []
        for place, number in enumerate(present.tolist()):
            cell = self._get(number)
            if cells and n_bytes + cell.n_bytes > self._max_bytes:
                yield present[begin:place], cells
                begin, n_bytes, cells = place, 0, []
            cells.append(cell)
            n_bytes += cell.n_bytes
        yield present[begin:], cells

    def _get(self, number: int) -> PackedCell:
        with self._lock:
            cell = self._packed.pop(number, None)
            if cell is not None:
                self._packed[number] = cell
                return cell
        cell = self._cells[number].functions.packed(self._n_features)
        with self._lock:
            if number not in self._packed:  # another thread may have been faster
                self._packed[number] = cell
                self._bytes += cell.n_bytes
            while self._bytes > self._max_bytes and len(self._packed) > 1:
                self._bytes -= self._packed.pop(next(iter(self._packed))).n_bytes
        return cell
