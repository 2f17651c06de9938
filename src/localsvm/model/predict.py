"""Prediction: rows grouped by cell, blocked kernels, all cores, bounded memory, row order kept.

Enters: a `LocalModel` and rows. Leaves: the scores or the probabilities of every row.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from localsvm.data.rows import ScaledRows
from localsvm.data.source import RowSource, block_rows, row_blocks
from localsvm.model.local_model import LocalModel
from localsvm.partition.base import AveragingPartition, Members, ThreadMap, for_each
from localsvm.partition.build import check_assignment

BLOCK_ROWS = 4096
"""Rows that are evaluated at a time."""

_GROUPED_ROWS = 1 << 20  # rows that are grouped by cell at a time: their numbers are what prediction holds in memory
_FEW_ROWS = 64  # not worth a thread


Judge = Callable[[NDArray[np.float64], int], NDArray[np.float64]]
"""What to make of scores in a cell."""


def predict_scores(model: LocalModel, X: RowSource, n_threads: int = 1) -> NDArray[np.float64]:
    """Return the scores (n_rows, n_scores) of every row of X."""
    return _predict(model, X, lambda scores, _: scores, model.reduction.n_scores, n_threads)


def predict_probabilities(model: LocalModel, X: RowSource, n_threads: int = 1) -> NDArray[np.float64]:
    """Return the probabilities (n_rows, n_classes) of the classes at every row of X."""
    calibration = model.calibration
    assert calibration is not None, "a model of classes has probabilities"
    n_classes = calibration.present.shape[1]

    def probabilities(scores: NDArray[np.float64], cell: int) -> NDArray[np.float64]:
        cells = np.full(len(scores), cell)
        if scores.shape[1] == n_classes:
            return calibration.probabilities(_of_present(scores, calibration.present[cell]), cells)
        positive = calibration.probability(scores[:, 0], cells)
        return np.column_stack([1.0 - positive, positive])

    return _predict(model, X, probabilities, n_classes, n_threads)


def assign_rows(model: LocalModel, X: RowSource, n_threads: int = 1) -> NDArray[np.intp]:
    """Return the cell of every row of X."""
    rows = ScaledRows(X, model.scaling)
    cells = np.empty(len(rows), dtype=np.intp)
    with ThreadPoolExecutor(max_workers=n_threads) as pool:
        _fill_cells(model, rows, slice(0, len(rows)), cells, pool.map)
    return cells


def _fill_cells(
    model: LocalModel, rows: ScaledRows, group: slice, cells: NDArray[np.intp], thread_map: ThreadMap
) -> None:
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


def _predict(model: LocalModel, X: RowSource, judge: Judge, n_columns: int, n_threads: int) -> NDArray[np.float64]:
    rows = ScaledRows(X, model.scaling)
    out = np.empty((len(rows), n_columns))
    if n_threads == 1 or len(rows) <= _FEW_ROWS:
        _fill(model, rows, judge, out, map)
    else:
        with ThreadPoolExecutor(max_workers=n_threads) as pool:
            _fill(model, rows, judge, out, pool.map)
    return out


def _fill(model: LocalModel, rows: ScaledRows, judge: Judge, out: NDArray[np.float64], thread_map: ThreadMap) -> None:
    if isinstance(model.partition, AveragingPartition):
        _fill_averages(model, model.partition, rows, judge, out, thread_map)
    else:
        for block in row_blocks(0, len(rows), _GROUPED_ROWS):
            _fill_from_own_cells(model, rows, block, judge, out, thread_map)


def _fill_from_own_cells(
    model: LocalModel,
    rows: ScaledRows,
    group: slice,
    judge: Judge,
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
            begin, end = np.clip(by_cell.span(cell), members.start, members.stop) - members.start
            if begin < end:
                out[numbers[begin:end]] = judge(cell_scores(model, cell, points[begin:end]), cell)

    _fill_cells(model, rows, group, labels, thread_map)
    by_cell = Members.of_labels(labels, n_cells)
    for_each(thread_map, evaluate_range, row_blocks(0, len(labels), block_rows(rows.n_features, BLOCK_ROWS)))


def _fill_averages(
    model: LocalModel,
    partition: AveragingPartition,
    rows: ScaledRows,
    judge: Judge,
    out: NDArray[np.float64],
    thread_map: ThreadMap,
) -> None:
    def average(block: slice) -> None:
        points = rows.take(block)
        voters = partition.voters(points)
        total = np.zeros((len(points), model.reduction.n_scores))
        for cell, votes in enumerate(voters.T):
            if votes.any():
                total[votes] += cell_scores(model, cell, points[votes])
        out[block] = judge(total / voters.sum(axis=1)[:, None], 0)

    for_each(thread_map, average, row_blocks(0, len(rows), block_rows(rows.n_features, BLOCK_ROWS)))


def cell_scores(model: LocalModel, cell: int, points: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the scores of scaled points by one cell."""
    return model.reduction.scores(model.cells[cell].functions.values(points))
