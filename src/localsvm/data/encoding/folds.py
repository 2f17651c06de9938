"""Folds of the training rows, for target means that a row's own target has no part in.

Enters: hashes of the distinct rows. Leaves: the fold of every row. Duplicates share a fold, or rows that are tied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.distinct import Inputs
from localsvm.data.encoding.signature import Hashes, mix
from localsvm.data.ties import Ties
from localsvm.data.types import IndexArray

N_FOLDS = 5


def content_folds(inputs: Inputs, hashes: Hashes, ties: Ties | None = None, seed: int = 0) -> NDArray[np.uint8]:
    """Return the fold of every row of a table: distinct hashes are dealt in turn, in a random order.

    Rows of a group share a fold, which depends on the content of all of them and not on its number. Time is cut into
    blocks. Rows of weight zero have any fold.
    """
    hashes = mix(hashes ^ mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)))
    if ties is None:
        return _deal(hashes)[inputs.of_row]
    present = np.flatnonzero(ties.number >= 0)
    numbers, group = np.unique(ties.number[present], return_inverse=True)
    members = np.unique(np.column_stack([group, inputs.of_row[present]]), axis=0)
    if ties.ordered:
        of_group = np.zeros(len(numbers), dtype=np.uint8)
        of_group[members[:, 0]] = Ties(members[:, 0], ordered=True).folds(N_FOLDS)
    else:
        of_group = _deal(_group_hashes(members, hashes, len(numbers)))
    fold = np.zeros(len(ties.number), dtype=np.uint8)
    fold[present] = of_group[group]
    return fold


def _deal(hashes: Hashes) -> NDArray[np.uint8]:
    _, rank = np.unique(hashes, return_inverse=True)
    return (rank % N_FOLDS).astype(np.uint8)


def _group_hashes(members: IndexArray, hashes: Hashes, count: int) -> Hashes:
    """Return the sum of the hashes of each group, modulo 2^64; `members` has sorted pairs of group and input."""
    begins = np.searchsorted(members[:, 0], np.arange(count))
    return mix(np.add.reduceat(mix(hashes[members[:, 1]]), begins))
