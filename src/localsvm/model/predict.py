"""Prediction: rows are scaled and assigned a group at a time, then each cell evaluates its rows.

Enters: a `LocalModel` and rows. Leaves: the scores or the probabilities of every row, in the order of the rows. Memory
is bounded by the size of a group; blocks of rows are evaluated in parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.rows import ModelRows, ScaledRows
from localsvm.data.source import RowSource, block_rows, row_blocks
from localsvm.data.types import FloatArray
from localsvm.decision.calibration import Calibration
from localsvm.model.local_model import LocalModel
from localsvm.partition.base import Members, ThreadMap, for_each, thread_map
from localsvm.partition.build import check_assignment
from localsvm.tasks import Probabilities

BLOCK_ROWS = 4096
"""Rows that are evaluated at a time."""

_GROUP_VALUES = 1 << 24  # numbers that are scaled and grouped by cell at a time: 64 MB
_FEW_ROWS = 64  # too few for a second thread

Evaluate = Callable[[int, NDArray[np.float32]], FloatArray]
"""Takes the number of a cell and rows in the metric of the model; returns an array for every row."""


def predict_scores(model: LocalModel, X: RowSource | ScaledRows, n_threads: int = 1) -> FloatArray:
    """Return the scores (n_rows, n_scores) of every row of X."""
    return evaluate_rows(model, X, partial(cell_scores, model), (model.reduction.n_scores,), n_threads)[0]


def predict_probabilities(model: LocalModel, X: RowSource | ScaledRows, n_threads: int = 1) -> FloatArray:
    """Return the probabilities (n_rows, n_classes) of the classes at every row of X."""
    return predict_classes(model, X, n_threads)[1]


def predict_classes(model: LocalModel, X: RowSource | ScaledRows, n_threads: int = 1) -> tuple[FloatArray, FloatArray]:
    """Return the scores and the probabilities of every row of X, for the cost of one of them."""
    shape = (model.reduction.n_scores,)
    scores, cells = evaluate_rows(model, X, partial(cell_scores, model), shape, n_threads)
    if isinstance(model.reduction, Probabilities):
        return scores, model.reduction.probabilities(scores)
    assert model.calibration is not None, "other classifiers are calibrated"
    return scores, _probabilities(model.calibration, scores, cells, n_threads)


def assign_rows(model: LocalModel, X: RowSource | ScaledRows, n_threads: int = 1) -> NDArray[np.intp]:
    """Return the cell of every row of X."""
    rows = X if isinstance(X, ScaledRows) else ScaledRows(X, model.scaling)
    cells = np.empty(len(rows), dtype=np.intp)

    def assign(block: slice) -> None:
        found = model.partition.assign(rows.take(block))
        cells[block] = check_assignment(found, block.stop - block.start, len(model.cells))

    with thread_map(n_threads if len(rows) > _FEW_ROWS else 1) as each:
        for_each(each, assign, row_blocks(0, len(rows), block_rows(rows.n_features, BLOCK_ROWS)))
    return cells


def cell_scores(model: LocalModel, cell: int, points: NDArray[np.float32]) -> FloatArray:
    """Return the scores of scaled points by one cell."""
    return model.reduction.scores(model.cells[cell].functions.values(points))


def evaluate_rows(
    model: LocalModel,
    X: RowSource | ScaledRows,
    evaluate: Evaluate,
    shape: tuple[int, ...],
    n_threads: int,
    width: int | None = None,
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the values of every row by its cell, and the cells; where cells are averaged, the mean and cell 0.

    The result of a row has a shape; to evaluate it takes `width` numbers, as many as it has features by default.
    """
    rows = X if isinstance(X, ScaledRows) else ScaledRows(X, model.scaling)
    values, cells = np.empty((len(rows), *shape)), np.zeros(len(rows), dtype=np.intp)
    size = block_rows(width or rows.n_features, BLOCK_ROWS)
    with thread_map(n_threads if len(rows) > _FEW_ROWS else 1) as each:
        if model.averages:
            _fill_means(model, rows, evaluate, values, size, each)
        else:
            for group in row_blocks(0, len(rows), max(1, _GROUP_VALUES // rows.n_features)):
                _fill_group(model, rows, group, evaluate, values[group], cells[group], size, each)
    return values, cells


def _fill_group(
    model: LocalModel,
    rows: ModelRows,
    group: slice,
    evaluate: Evaluate,
    values: FloatArray,
    cells: NDArray[np.intp],
    size: int,
    each: ThreadMap,
) -> None:
    """Scale a group of rows once, assign them to cells, and evaluate cell after cell; fills `values` and `cells`."""
    points = np.empty((len(cells), rows.n_features), dtype=np.float32)

    def assign(block: slice) -> None:
        points[block] = rows.take(slice(group.start + block.start, group.start + block.stop))
        found = model.partition.assign(points[block])
        cells[block] = check_assignment(found, block.stop - block.start, len(model.cells))

    for_each(each, assign, row_blocks(0, len(cells), block_rows(rows.n_features, BLOCK_ROWS)))
    by_cell = Members.of_labels(cells, len(model.cells))

    def evaluate_range(members: slice) -> None:
        for cell, numbers in by_cell.within(members):
            values[numbers] = evaluate(cell, np.take(points, numbers, axis=0))

    for_each(each, evaluate_range, row_blocks(0, len(cells), size))


def _fill_means(
    model: LocalModel, rows: ModelRows, evaluate: Evaluate, values: FloatArray, size: int, each: ThreadMap
) -> None:
    """Fill in the mean of all cells that predict a row."""
    partition: Any = model.partition

    def average(block: slice) -> None:
        points = rows.take(block)
        voters = partition.voters(points)
        total = np.zeros((len(points), *values.shape[1:]))
        for cell, votes in enumerate(voters.T):
            if votes.any():
                total[votes] += evaluate(cell, points[votes])
        values[block] = (total.T / voters.sum(axis=1)).T

    for_each(each, average, row_blocks(0, len(rows), size))


def _probabilities(calibration: Calibration, scores: FloatArray, cells: NDArray[np.intp], n_threads: int) -> FloatArray:
    """Return the probabilities of scores by cells."""
    n_classes = calibration.present.shape[1]
    found = np.empty((len(scores), n_classes))

    def calibrate(block: slice) -> None:
        if scores.shape[1] == n_classes:
            known = _of_present_classes(scores[block], calibration.present[cells[block]])
            found[block] = calibration.probabilities(known, cells[block])
        else:
            positive = calibration.probability(scores[block, 0], cells[block])
            found[block] = np.column_stack([1.0 - positive, positive])

    with thread_map(1 if len(scores) <= BLOCK_ROWS else n_threads) as each:
        for_each(each, calibrate, row_blocks(0, len(scores), BLOCK_ROWS))
    return found


def _of_present_classes(scores: FloatArray, present: NDArray[np.bool_]) -> FloatArray:
    """Return NaN for classes that a cell has no samples of; a cell without samples knows only the predicted class."""
    largest = scores == scores.max(axis=1, keepdims=True)
    return np.where(np.where(present.any(axis=1, keepdims=True), present, largest), scores, np.nan)
