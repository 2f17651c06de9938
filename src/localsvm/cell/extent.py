"""How large a cell is: its radius, and a typical distance of its samples.

Enters: rows of a cell. Leaves: the units of its grid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localsvm import _native
from localsvm.data.content import Samples
from localsvm.data.rows import mean_ball


def cell_radius(rows: Samples) -> float:
    """Return the largest distance of a sample from the mean of the distinct samples."""
    _, radius = mean_ball(rows.X)
    return radius if radius > 0 else 1.0


def median_distance(X: NDArray[np.float32], kernel: str) -> float:
    """Return the median distance of the cell's samples to at most 32 of them, the unit of the default grid."""
    some = range(0, len(X), max(1, len(X) // 32))[:32]
    distances = _native.distances(X, some, kernel)
    median = _median(distances[distances > 0])
    return median if kernel == "manhattan" else float(np.sqrt(median))


def _median(values: NDArray[np.float32]) -> float:
    """Return the median, or the mean of the two that share the middle, in double precision; 1 of nothing."""
    if len(values) == 0:
        return 1.0
    middle = [(len(values) - 1) // 2, len(values) // 2]
    return float(np.partition(values, middle)[middle].mean(dtype=np.float64))
