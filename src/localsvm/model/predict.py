"""Prediction: rows grouped by cell, blocked kernels, all cores, bounded memory, row order kept.

Enters: a `LocalModel` and rows. Leaves: the scores or the probabilities of every row.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.rows import PreparedRows, ScaledRows
from localsvm.data.source import RowSource, block_rows, row_blocks
from localsvm.decision.calibration import Calibration
from localsvm.model.local_model import LocalModel
from localsvm.partition.base import Members, ThreadMap, for_each
from localsvm.partition.build import check_assignment

BLOCK_ROWS = 4096
"""Rows that are evaluated at a time."""

_GROUPED_ROWS = 1 << 20  # rows that are grouped by cell at a time: their numbers are what prediction holds in memory
_FEW_ROWS = 64  # not worth a thread

Rows = RowSource | PreparedRows
"""As users give them, or scaled already."""
Scaled = ScaledRows | PreparedRows

Judge = Callable[[NDArray[np.float64], int], NDArray[np.float64]]
"""What to make of what is said in a cell."""


@dataclass(frozen=True)
class Quantity:
    """What prediction computes for every row: `judge` of what its cell says, or of the mean of all that have a say."""

    of_cell: Callable[[int, NDArray[np.float32]], NDArray[np.float64]]
    """What a cell says of scaled points, (n_points, *cell_shape)."""
    cell_shape: tuple[int, ...]
    judge: Judge
    shape: tuple[int, ...]
    """Of what it makes of a point."""
    block_rows: int
    """Rows at a time."""


def predict_scores(model: LocalModel, X: Rows, n_threads: int = 1) -> NDArray[np.float64]:
    """Return the scores (n_rows, n_scores) of every row of X."""
    return predict_rows(model, X, _of_scores(model, lambda scores, _: scores, model.reduction.n_scores), n_threads)


def predict_probabilities(model: LocalModel, X: Rows, n_threads: int = 1) -> NDArray[np.float64]:
    """Return the probabilities (n_rows, n_classes) of the classes at every row of X."""
    calibration = _calibration(model)
    quantity = _of_scores(model, partial(_probabilities, calibration), calibration.present.shape[1])
    return predict_rows(model, X, quantity, n_threads)


def _of_scores(model: LocalModel, judge: Judge, n_columns: int) -> Quantity:
    rows = block_rows(model.n_features, BLOCK_ROWS)
    return Quantity(partial(cell_scores, model), (model.reduction.n_scores,), judge, (n_columns,), rows)


def predict_classes(model: LocalModel, X: Rows, n_threads: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores and the probabilities of every row of X, for the cost of one of them."""
    calibration, n_scores = _calibration(model), model.reduction.n_scores

    def both(scores: NDArray[np.float64], cell: int) -> NDArray[np.float64]:
        return np.column_stack([scores, _probabilities(calibration, scores, cell)])

    quantity = _of_scores(model, both, n_scores + calibration.present.shape[1])
    columns = predict_rows(model, X, quantity, n_threads)
    return columns[:, :n_scores], columns[:, n_scores:]


def _calibration(model: LocalModel) -> Calibration:
    assert model.calibration is not None, "a model of classes has probabilities"
    return model.calibration


def _probabilities(calibration: Calibration, scores: NDArray[np.float64], cell: int) -> NDArray[np.float64]:
    cells = np.full(len(scores), cell)
    if scores.shape[1] == calibration.present.shape[1]:
        return calibration.probabilities(_of_present(scores, calibration.present[cell]), cells)
    positive = calibration.probability(scores[:, 0], cells)
    return np.column_stack([1.0 - positive, positive])


def assign_rows(model: LocalModel, X: Rows, n_threads: int = 1) -> NDArray[np.intp]:
    """Return the cell of every row of X."""
    rows = _scaled(model, X)
    cells = np.empty(len(rows), dtype=np.intp)
    with ThreadPoolExecutor(max_workers=n_threads) as pool:
        _fill_cells(model, rows, slice(0, len(rows)), cells, pool.map)
    return cells


def _fill_cells(model: LocalModel, rows: Scaled, group: slice, cells: NDArray[np.intp], thread_map: ThreadMap) -> None:
    def assign(block: slice) -> None:
        found = model.partition.assign(rows.take(block))
        checked = check_assignment(found, block.stop - block.start, len(model.cells))
        cells[block.start - group.start : block.stop - group.start] = checked

    size = block_rows(rows.n_features, BLOCK_ROWS)
    for_each(thread_map, assign, row_blocks(group.start, group.stop, size))


def _of_present(scores: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return NaN for classes of which a cell has no samples; a cell without any knows only which class it predicts."""
    kept = present if present.any() else scores == scores.max(axis=1, keepdims=True)
    return np.where(kept, scores, np.nan)


def _scaled(model: LocalModel, X: Rows) -> Scaled:
    return X if isinstance(X, PreparedRows) else ScaledRows(X, model.scaling)


def predict_rows(model: LocalModel, X: Rows, quantity: Quantity, n_threads: int) -> NDArray[np.float64]:
    """Return the quantity at every row of X."""
    rows = _scaled(model, X)
    out = np.empty((len(rows), *quantity.shape))
    if n_threads == 1 or len(rows) <= _FEW_ROWS:
        _fill(model, rows, quantity, out, map)
    else:
        with ThreadPoolExecutor(max_workers=n_threads) as pool:
            _fill(model, rows, quantity, out, pool.map)
    return out


def _fill(
    model: LocalModel,
    rows: Scaled,
    quantity: Quantity,
    out: NDArray[np.float64],
    thread_map: ThreadMap,
) -> None:
    if model.averages:
        _fill_averages(model.partition, rows, quantity, out, thread_map)
    else:
        for block in row_blocks(0, len(rows), _GROUPED_ROWS):
            _fill_from_own_cells(model, rows, block, quantity, out, thread_map)


def _fill_from_own_cells(
    model: LocalModel,
    rows: Scaled,
    group: slice,
    quantity: Quantity,
    out: NDArray[np.float64],
    thread_map: ThreadMap,
) -> None:
    n_cells = len(model.cells)
    labels = np.empty(group.stop - group.start, dtype=np.intp)

    def evaluate_range(members: slice) -> None:
        numbers = group.start + by_cell.order[members]
        first, last = (int(labels[by_cell.order[i]]) for i in (members.start, members.stop - 1))
        points = rows.take(numbers)
        for cell in range(first, last + 1):
            begin, end = (min(max(at, members.start), members.stop) - members.start for at in by_cell.span(cell))
            if begin < end:
                out[numbers[begin:end]] = quantity.judge(quantity.of_cell(cell, points[begin:end]), cell)

    _fill_cells(model, rows, group, labels, thread_map)
    by_cell = Members.of_labels(labels, n_cells)
    for_each(thread_map, evaluate_range, row_blocks(0, len(labels), quantity.block_rows))


def _fill_averages(
    partition: Any,
    rows: Scaled,
    quantity: Quantity,
    out: NDArray[np.float64],
    thread_map: ThreadMap,
) -> None:
    def average(block: slice) -> None:
        points = rows.take(block)
        voters = partition.voters(points)
        total = np.zeros((len(points), *quantity.cell_shape))
        for cell, votes in enumerate(voters.T):
            if votes.any():
                total[votes] += quantity.of_cell(cell, points[votes])
        out[block] = quantity.judge((total.T / voters.sum(axis=1)).T, 0)

    for_each(thread_map, average, row_blocks(0, len(rows), quantity.block_rows))


def cell_scores(model: LocalModel, cell: int, points: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the scores of scaled points by one cell."""
    return model.reduction.scores(model.cells[cell].functions.values(points))
