"""Test results by cell, and the cells with the highest loss.

Enters: cell, loss and class of every row. Leaves: `CellTotals`, and a `CellResult` for each of the worst cells.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import FloatArray
from localsvm.evaluation.places import Places
from localsvm.evaluation.result import CellResult, CellTotals

IntArray = NDArray[np.intp]

WORST_CELLS = 20
"""Number of worst cells in an evaluation."""

_PRIOR_ROWS = 20.0  # losses are shrunk towards the mean by this many rows
_MOST_NUMBERS = 1_000_000  # most entries of the table of cells and classes


class CellSums:
    """Sums over the rows of every cell."""

    def __init__(self, n_cells: int, n_classes: int) -> None:
        self._n_rows = np.zeros(n_cells, dtype=np.intp)
        self._weight = np.zeros(n_cells)
        self._loss = np.zeros(n_cells)
        has_classes = 0 < n_cells * n_classes <= _MOST_NUMBERS
        self._classes = np.zeros((n_cells, n_classes)) if has_classes else None

    def add(self, cell: IntArray, loss: FloatArray, weight: FloatArray, label: IntArray | None) -> None:
        """Add rows; a label that the model does not know is the number of classes."""
        n_cells = len(self._weight)
        self._n_rows += np.bincount(cell[weight > 0], minlength=n_cells)
        self._weight += np.bincount(cell, weight, n_cells)
        self._loss += np.bincount(cell, weight * loss, n_cells)
        if self._classes is not None and label is not None:
            n_classes = self._classes.shape[1]
            known = label < n_classes
            place = cell[known] * n_classes + label[known]
            self._classes += np.bincount(place, weight[known], self._classes.size).reshape(self._classes.shape)

    def totals(self) -> CellTotals:
        """Return number of rows, mean loss and classes of all cells."""
        return CellTotals(
            n_rows=tuple(self._n_rows.tolist()),
            loss=tuple(_known(loss) for loss in self._mean_loss().tolist()),
            classes=None if self._classes is None else tuple(tuple(row) for row in self._classes.tolist()),
        )

    def worst(self, estimator: Any) -> tuple[CellResult, ...]:
        """Return the cells with the highest shrunk loss."""
        places = Places(estimator)
        worst = worst_cells(self._mean_loss(), self._n_rows)[:WORST_CELLS]
        return tuple(self._result(int(cell), estimator.cells_[cell], places) for cell in worst)

    def _mean_loss(self) -> FloatArray:
        """Return the mean loss per cell, NaN without rows."""
        none = np.full(len(self._loss), np.nan)
        return np.asarray(np.divide(self._loss, self._weight, out=none, where=self._weight > 0))

    def _result(self, cell: int, record: dict[str, Any], places: Places) -> CellResult:
        return CellResult(
            cell=cell,
            n_rows=int(self._n_rows[cell]),
            loss=float(self._loss[cell] / self._weight[cell]),
            size=record["size"],
            radius=record["radius"],
            width=_known(record["width"]),
            lam=_known(record["lam"]),
            cv_risk=_known(record["cv_risk"]),
            support_vectors=record["support_vectors"],
            place=places.of(cell),
        )


def worst_cells(loss: FloatArray, n_rows: IntArray) -> IntArray:
    """Return the cells with rows in descending order of their loss, shrunk towards the mean.

    >>> worst_cells(np.array([0.1, 1.0, 0.4, np.nan]), np.array([500, 1, 500, 0])).tolist()
    [2, 1, 0]
    """
    known = np.flatnonzero(np.isfinite(loss) & (n_rows > 0))
    loss, n_rows = loss[known], n_rows[known]
    mean = loss @ n_rows / max(n_rows.sum(), 1)
    shrunk = (n_rows * loss + _PRIOR_ROWS * mean) / (n_rows + _PRIOR_ROWS)
    return known[np.argsort(-shrunk, kind="stable")]


def _known(value: Any) -> Any:
    """Return None for NaN, which JSON does not have."""
    return None if isinstance(value, float) and math.isnan(value) else value
