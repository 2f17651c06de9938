"""The levels of a category in an order that does not depend on their names.

Enters: the codes of a column and the names they stand for. Leaves: `Levels`. The slots of a category are

    0, 1, ... its levels, the heaviest first | missing | unseen
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import FloatArray, IndexArray


@dataclass(frozen=True)
class Levels:
    """The levels of a column that occur in rows of positive weight."""

    column: int
    names: tuple[str, ...]
    """Without missing, which has the slot after them."""
    weight: FloatArray
    """By slot, up to that of missing."""
    slots: IndexArray
    """For each code of the table, and at the end for missing, the slot."""

    @classmethod
    def sorted(cls, column: int, names: tuple[str, ...], weight: FloatArray, hashes: NDArray[np.uint64]) -> Levels:
        """Sort the levels of positive weight by weight, then by hash; the last weight is that of missing."""
        order = np.lexsort((hashes[:-1], -weight[:-1]))
        order = order[: int((weight[:-1] > 0).sum())]
        slots = np.full(len(names) + 1, len(order) + 1)
        slots[order] = np.arange(len(order))
        slots[-1] = len(order)
        return cls(column, tuple(names[code] for code in order), np.append(weight[order], weight[-1]), slots)

    @property
    def n_seen(self) -> int:
        """Number of levels; missing is one, if it occurs."""
        return int((self.weight > 0).sum())

    @property
    def n_slots(self) -> int:
        """Number of slots, with those of missing and of unseen levels."""
        return len(self.names) + 2


def code_slots(codes: NDArray[np.floating], count: int) -> IndexArray:
    """Return codes as integers; missing ones come after the others."""
    return np.where(np.isnan(codes), count, codes).astype(np.intp)


def level_weights(codes: IndexArray, weight: FloatArray, count: int) -> FloatArray:
    """Return the weight of every code, for weights in ascending order."""
    return np.asarray(np.bincount(codes, weight, count), dtype=np.float64)
