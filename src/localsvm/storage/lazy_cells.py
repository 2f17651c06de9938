"""Cells that stay in a file, read when they are asked for.

Enters: a function that reads the cell of a number. Leaves: a sequence of `TrainedCell`s, for a `LocalModel`. Prediction
reads the cells that it touches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from localsvm.cell.trained import TrainedCell


class LazyCells(Sequence[TrainedCell]):
    """Cells by number; those of a mapped file are remembered, those of other files are read anew each time."""

    def __init__(self, count: int, read: Callable[[int], TrainedCell], *, remember: bool) -> None:
        self._count, self._read = count, read
        self._known: dict[int, TrainedCell] | None = {} if remember else None

    def __len__(self) -> int:
        """Return the number of cells."""
        return self._count

    @overload
    def __getitem__(self, number: int) -> TrainedCell: ...
    @overload
    def __getitem__(self, number: slice) -> list[TrainedCell]: ...
    def __getitem__(self, number: int | slice) -> TrainedCell | list[TrainedCell]:
        """Return one cell, or some."""
        if isinstance(number, slice):
            return [self[j] for j in range(*number.indices(len(self)))]
        place = range(len(self))[number]
        if self._known is None:
            return self._read(place)
        if place not in self._known:
            self._known[place] = self._read(place)
        return self._known[place]

    def __reduce__(self) -> tuple[type[tuple[Any, ...]], tuple[list[TrainedCell]]]:
        """Pickle as a tuple of cells: the process that loads it need not have the file."""
        return tuple, (list(self),)
