"""The table of the cells of a model: a few numbers of each, as columns.

Enters: trained cells. Leaves: a `CellTable`; that of a stored model is read without reading its cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import TrainedCell

_COLUMNS = {
    "size": np.int64,
    "radius": np.float64,
    "total_weight": np.float64,
    "risk": np.float64,
    "risk_error": np.float64,
    "support_vectors": np.int64,
}


def cell_row(cell: TrainedCell) -> dict[str, Any]:
    """Return the row of a cell in a `CellTable`, as plain numbers; width and lam are lists."""
    return {
        "size": int(cell.n_samples),
        "radius": float(cell.radius),
        "total_weight": float(cell.total_weight),
        "risk": float(cell.risk),
        "risk_error": float(cell.risk_error),
        "support_vectors": cell.n_support,
        "width": cell.width.tolist(),
        "lam": cell.lam.tolist(),
    }


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
        return cls.of_rows([cell_row(cell) for cell in cells])

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> CellTable:
        """Gather what `cell_row` returned for all cells."""
        columns: dict[str, Any] = {
            name: np.array([row[name] for row in rows], dtype) for name, dtype in _COLUMNS.items()
        }
        return cls(
            **columns,
            n_problems=np.array([len(row["width"]) for row in rows], dtype=np.int64),
            width=np.array([width for row in rows for width in row["width"]], dtype=np.float64),
            lam=np.array([lam for row in rows for lam in row["lam"]], dtype=np.float64),
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
    """Return the value that all problems of a cell have, or the list of their values."""
    if len(values) == 0:
        return math.nan
    return float(values[0]) if (values == values[0]).all() else values.tolist()
