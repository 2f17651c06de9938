"""The rows nearest to a point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localsvm import _native


def nearest_rows(X: NDArray[np.float32], center: NDArray[np.float32], count: int) -> tuple[NDArray[np.intp], float]:
    """Return where the at most `count` rows nearest to the center are, and how far the farthest of them is.

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
    _, squared = _native.nearest_centers(X, np.ascontiguousarray(center)[None, :])
    inside = np.arange(len(X))
    if len(X) > count:
        inside = np.flatnonzero(squared < np.partition(squared, count)[count])
    return inside, float(np.sqrt(squared[inside].max())) if len(inside) else 0.0
