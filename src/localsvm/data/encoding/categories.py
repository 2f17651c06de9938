"""Columns of categories: target means, and an indicator for each frequent level.

Enters: the levels of a column and their target means. Leaves: a `Category`, which turns levels into columns of the
model; see `levels` for its slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.levels import Levels
from localsvm.data.encoding.scale import LEAST_SHARE, indicator_factor
from localsvm.data.encoding.target_means import TargetMeans
from localsvm.data.types import FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class Category:
    """What is known of a column of categories."""

    column: int
    names: tuple[str, ...]
    """Levels, by slot."""
    n_levels: int
    """Number of levels; missing is one, if it occurs."""
    means: FloatArray
    """Scaled target means (n_slots, n_means): 0 is what nothing is known of."""
    outputs: tuple[int, ...]
    """The targets that they are means of."""
    indicated: IndexArray
    """Slots of the levels that have an indicator."""
    factor: FloatArray
    """Values of the indicators."""
    coarser: int | None = None
    """The column that it is nested in."""

    @property
    def is_binary(self) -> bool:
        """Whether a single indicator says it all."""
        return self.n_levels == 2 and len(self.indicated) == 1

    def n_indicators(self, levels: bool) -> int:
        """Return the number of indicators, with or without those of the levels of larger categories."""
        return len(self.indicated) if levels or self.is_binary else 0

    def slots_of(self, names: tuple[str, ...]) -> IndexArray:
        """Return the slots of other lists of names, and at the end that of missing."""
        missing, unseen = len(self.names), len(self.names) + 1
        return np.array([*(self._slot.get(name, unseen) for name in names), missing], dtype=np.intp)

    def level_name(self, slot: int) -> str:
        """Return the name of a slot."""
        return self.names[slot] if slot < len(self.names) else ("missing", "other")[slot - len(self.names)]

    def columns(
        self, slot: IndexArray, levels: bool, fold_means: FloatArray | None, fold: NDArray[np.uint8] | None
    ) -> FloatArray:
        """Return the columns of rows; training rows have the means outside of their fold."""
        means = self.means[slot] if fold_means is None else fold_means[fold, slot]
        indicators = np.zeros((len(slot), self.n_indicators(levels)))
        if indicators.shape[1]:
            number = self._indicator[slot]
            rows = np.flatnonzero(number >= 0)
            indicators[rows, number[rows]] = self.factor[number[rows]]
        return np.concatenate([means, indicators], axis=1)

    @cached_property
    def _slot(self) -> dict[str, int]:
        return {name: slot for slot, name in enumerate(self.names)}

    @cached_property
    def _indicator(self) -> IndexArray:
        """For every slot the number of its indicator, -1 if it has none."""
        numbers = np.full(len(self.names) + 2, -1)
        numbers[self.indicated] = np.arange(len(self.indicated))
        return numbers


def make_category(levels: Levels, means: TargetMeans, coarser: int | None) -> tuple[Category, FloatArray]:
    """Return a category of at least two levels, and its means outside of each fold (fold, slot, mean)."""
    share = levels.weight / levels.weight.sum()
    seen = np.flatnonzero(share)
    if len(seen) == 2:
        # One of the two is enough: the lighter one, which is the second of equal weights.
        indicated, used = seen[np.argsort(-share[seen], kind="stable")][1:], np.zeros(0, dtype=np.intp)
    else:
        frequent = np.flatnonzero(share >= LEAST_SHARE)
        indicated = frequent[np.argsort(-share[frequent], kind="stable")]
        used = np.flatnonzero(means.has_effect)
    spread = means.spread[:, None, used]
    values = np.divide(
        means.values[:, :, used], spread, out=np.zeros((*means.values.shape[:2], len(used))), where=spread > 0
    )
    category = Category(
        column=levels.column,
        names=levels.names,
        n_levels=len(seen),
        means=values[-1].copy(),
        outputs=tuple(used.tolist()),
        indicated=indicated,
        factor=indicator_factor(share[indicated]),
        coarser=coarser if len(used) else None,
    )
    return category, values[:-1]
