"""Prediction: decision values of many rows in blocks, on all cores, in bounded memory, row order kept.

Enters: a `LocalModel` and rows. Leaves: one decision value per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from localsvm._native import evaluate
from localsvm.cell.train import TrainedCell
from localsvm.model.local_model import LocalModel

BLOCK_ROWS = 4096


def decision_values(model: LocalModel, X: NDArray[np.floating], n_threads: int = 1) -> NDArray[np.float64]:
    """Return f(x) for every row of X."""
    (cell,) = model.cells
    out = np.empty(len(X), dtype=np.float64)

    def fill(rows: slice) -> None:
        out[rows] = cell_values(cell, model.scaling.apply(X[rows]))

    with ThreadPoolExecutor(max_workers=n_threads) as pool:
        for _ in pool.map(fill, _blocks(len(X))):
            pass
    return out


def cell_values(cell: TrainedCell, points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the decision values of scaled points in one cell."""
    if len(cell.coefficients) == 0:
        return np.full(len(points), cell.constant, dtype=np.float32)
    values = evaluate(
        np.ascontiguousarray(points),
        cell.support_vectors,
        cell.coefficients[None, :],
        cell.kernel,
        cell.width,
    )
    return values[:, 0]


def _blocks(n_rows: int) -> Iterator[slice]:
    for begin in range(0, n_rows, BLOCK_ROWS):
        yield slice(begin, min(begin + BLOCK_ROWS, n_rows))
