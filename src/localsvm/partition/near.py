"""The rows nearest to a point, and the cells of a few rows, without a whole partition."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from localsvm import _native
from localsvm.partition.base import ThreadMap

_CENTRES = 16  # at most, of a split


def nearest_rows(X: NDArray[np.float32], centre: NDArray[np.float32], count: int) -> tuple[NDArray[np.intp], float]:
    """Return where the at most `count` rows nearest to the centre are, and how far the farthest of them is.

    Of rows that are equally far all are taken or none, so that their order does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.partition.near import nearest_rows
    >>> X = np.array([[0.0], [3.0], [1.0], [-3.0]], dtype=np.float32)
    >>> nearest_rows(X, X[0], 3)
    (array([0, 2]), 1.0)
    """
    if count <= 0 or len(X) == 0:
        return np.arange(0), 0.0
    _, squared = _native.nearest_centres(X, np.ascontiguousarray(centre)[None, :])
    inside = np.arange(len(X))
    if len(X) > count:
        inside = np.flatnonzero(squared < np.partition(squared, count)[count])
    return inside, float(np.sqrt(squared[inside].max())) if len(inside) else 0.0


def random_cells(
    X: NDArray[np.float32], rows: Iterable[int], size: int, thread_map: ThreadMap = map
) -> list[NDArray[np.intp]]:
    """Return the members of the cell of each of these rows, at most `size`, in ascending order.

    Centres are the first rows of all, and of cells that are too large again the first of theirs. Rows in the order of
    their hashes are in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.partition.near import random_cells
    >>> X = np.array([[0.0], [5.0], [1.0], [6.0]], dtype=np.float32)
    >>> [cell.tolist() for cell in random_cells(X, [0, 1], 3)]
    [[0], [1, 3]]
    """
    everything = np.arange(len(X))
    nearest = _nearest_centres(X, everything, size)

    def cell(row: int) -> NDArray[np.intp]:
        return _cell_within(X, row, np.flatnonzero(nearest == nearest[row]), size)

    return list(thread_map(cell, rows))


def _cell_within(X: NDArray[np.float32], row: int, members: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    while len(members) > size:
        nearest = _nearest_centres(X, members, size)
        own = members[nearest == nearest[np.searchsorted(members, row)]]
        if len(own) == len(members):  # the centres are equal
            return members[:size]
        members = own
    return members


def _nearest_centres(X: NDArray[np.float32], members: NDArray[np.intp], size: int) -> NDArray[np.integer]:
    count = min(_CENTRES, -(-2 * len(members) // size))
    return _native.nearest_centres(X[members], X[members[:count]])[0]
