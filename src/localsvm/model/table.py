"""The table of the cells of a model: a few numbers of each, as columns.

Enters: trained cells. Leaves: a `CellTable`; that of a stored model is read without reading its cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import TrainedCell


@dataclass(frozen=True)
class CellTable:
    """One row per cell; width and lam have one number for every problem of a cell, all cells in one column."""

    size: NDArray[np.int64]
    radius: NDArray[np.float64]
    total_weight: NDArray[np.float64]
    risk: NDArray[np.float64]
    risk_error: NDArray[np.float64]
    support_vectors: NDArray[np.int64]
    n_problems: NDArray[np.int64]
    width: NDArray[np.float64]
    lam: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.size)

    @classmethod
    def of(cls, cells: Sequence[TrainedCell]) -> CellTable:
        """Gather the numbers of all cells."""
        none = [np.zeros(0)]
        return cls(
            size=np.array([cell.n_samples for cell in cells], dtype=np.int64),
            radius=np.array([cell.radius for cell in cells], dtype=np.float64),
            total_weight=np.array([cell.total_weight for cell in cells], dtype=np.float64),
            risk=np.array([cell.risk for cell in cells], dtype=np.float64),
            risk_error=np.array([cell.risk_error for cell in cells], dtype=np.float64),
            support_vectors=np.array([cell.n_support for cell in cells], dtype=np.int64),
            n_problems=np.array([len(cell.width) for cell in cells], dtype=np.int64),
            width=np.concatenate(none + [cell.width for cell in cells]),
            lam=np.concatenate(none + [cell.lam for cell in cells]),
        )

    def records(self) -> list[dict[str, Any]]:
        """Return a dict for every cell, as estimators show them."""
        ends = np.cumsum(self.n_problems)
        spans = [slice(end - count, end) for end, count in zip(ends.tolist(), self.n_problems.tolist(), strict=True)]
        columns = {
            "size": self.size.tolist(),
            "radius": self.radius.tolist(),
            "width": [_one_or_all(self.width[span]) for span in spans],
            "lam": [_one_or_all(self.lam[span]) for span in spans],
            "cv_risk": self.risk.tolist(),
            "support_vectors": self.support_vectors.tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _one_or_all(values: NDArray[np.float64]) -> float | list[float]:
    """Return what all problems of a cell share, or a list with each one's."""
    if len(values) == 0:
        return math.nan
    return float(values[0]) if (values == values[0]).all() else values.tolist()
