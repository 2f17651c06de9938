"""Folds of the training rows, for target means that a row's own target has no part in.

Enters: hashes of the distinct rows. Leaves: the fold of every row. Duplicates share a fold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.distinct import Inputs
from localsvm.data.encoding.signature import Hashes, mix
from localsvm.data.types import IndexArray
from localsvm.errors import InvalidParameter

N_FOLDS = 5


def content_folds(
    inputs: Inputs, hashes: Hashes, groups: NDArray[np.integer] | None = None, seed: int = 0
) -> NDArray[np.uint8]:
    """Return the fold of every row of a table: distinct hashes are dealt in turn, in a random order.

    Rows of a group share a fold, which depends on the content of all of them and not on its number.
    """
    hashes = mix(hashes ^ mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)))
    if groups is None:
        return _deal(hashes)[inputs.of_row]
    if groups.shape != inputs.of_row.shape:
        raise InvalidParameter(f"groups has shape {groups.shape}, expected {inputs.of_row.shape}: one per row.")
    numbers, group = np.unique(groups, return_inverse=True)
    members = np.unique(np.column_stack([group, inputs.of_row]), axis=0)
    return _deal(_group_hashes(members, hashes, len(numbers)))[group]


def _deal(hashes: Hashes) -> NDArray[np.uint8]:
    _, rank = np.unique(hashes, return_inverse=True)
    return (rank % N_FOLDS).astype(np.uint8)


def _group_hashes(members: IndexArray, hashes: Hashes, count: int) -> Hashes:
    """Return the sum of the hashes of each group, modulo 2^64; `members` has sorted pairs of group and input."""
    begins = np.searchsorted(members[:, 0], np.arange(count))
    return mix(np.add.reduceat(mix(hashes[members[:, 1]]), begins))
