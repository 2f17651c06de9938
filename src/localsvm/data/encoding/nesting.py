"""Nested categories: each level of the finer one occurs, nearly always, with one level of the coarser one.

Enters: the levels of all categories in a sample of the rows. Leaves: for each nested category the nearest coarser one,
and its level for each finer level. Targets have no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from localsvm.data.encoding.levels import Levels
from localsvm.data.types import FloatArray, IndexArray

_MOST_CONFLICTS = 0.02  # of the rows that could differ from the coarser level of their finer one
_LEAST_GAIN = 10.0  # conflicts are so much rarer than if the coarser level were guessed
_LEAST_ROWS = 30  # that could differ


def find_coarser(
    levels: Mapping[int, Levels], sampled: Mapping[int, IndexArray], order: Mapping[int, int]
) -> dict[int, int]:
    """Return the coarser category of each nested one: of several the one with the most levels.

    Categories are sorted by their number of levels, then by `order`, and are nested in earlier ones only. So of two
    that say the same, one is nested in the other.
    """
    ascending = sorted(levels, key=lambda j: (levels[j].n_seen, order[j]))
    coarser: dict[int, int] = {}
    for place, fine in enumerate(ascending):
        if levels[fine].n_seen > 2:
            nearest = (j for j in reversed(ascending[:place]) if levels[j].n_seen > 1)
            found = next((j for j in nearest if is_nested(sampled[fine], sampled[j])), None)
            coarser |= {} if found is None else {fine: found}
    return coarser


def is_nested(fine: IndexArray, coarse: IndexArray, weight: FloatArray | None = None) -> bool:
    """Return whether the coarse level of a row follows from its fine level.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.data.encoding.nesting import is_nested
    >>> town = np.arange(100) % 10
    >>> bool(is_nested(town, town // 5)), bool(is_nested(town, np.arange(100) // 50))
    (True, False)
    """
    mass = np.ones(len(fine)) if weight is None else weight
    pairs, pair = np.unique(fine * (coarse.max(initial=0) + 1) + coarse, return_inverse=True)
    together = np.bincount(pair, mass)
    _, level = np.unique(pairs // (coarse.max(initial=0) + 1), return_inverse=True)
    largest = np.zeros(level.max(initial=-1) + 1)
    np.maximum.at(largest, level, together)
    could_differ = mass.sum() - len(largest)
    guessed = mass.sum() - np.bincount(coarse, mass).max(initial=0.0)
    most = min(_MOST_CONFLICTS * could_differ, guessed / mass.sum() * could_differ / _LEAST_GAIN)
    return bool(could_differ >= _LEAST_ROWS and mass.sum() - largest.sum() <= most)


def coarser_slots(fine: IndexArray, coarse: IndexArray, weight: FloatArray, n_fine: int, n_coarse: int) -> IndexArray:
    """Return for every fine slot the coarse one that it has most often; those without rows have the last one."""
    pairs, pair = np.unique(fine * n_coarse + coarse, return_inverse=True)
    together = np.bincount(pair, weight)
    # Ascending weight, so that the heaviest is written last; of equal ones the first.
    order = np.lexsort((-pairs, together))
    found = np.full(n_fine, n_coarse - 1)
    found[pairs[order] // n_coarse] = pairs[order] % n_coarse
    return found
