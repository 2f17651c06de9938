"""How large a cell is: its radius, and a typical distance of its samples.

Enters: rows of a cell. Leaves: the units of its grid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localsvm._native import nearest_centres
from localsvm.data.content import Rows
from localsvm.data.rows import mean_ball


def cell_radius(rows: Rows) -> float:
    """Return the largest distance of a sample from the mean of the distinct samples."""
    _, radius = mean_ball(rows.X)
    return radius if radius > 0 else 1.0


def median_distance(X: NDArray[np.float32]) -> float:
    """Return the median distance of the cell's samples to at most 32 of them, the unit of the default grid."""
    some = X[:: max(1, len(X) // 32)][:32]
    squared = np.concatenate([nearest_centres(X, row[None, :])[1] for row in some])
    positive = squared[squared > 0]
    return float(np.sqrt(np.median(positive.astype(np.float64)))) if len(positive) else 1.0
