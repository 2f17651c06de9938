"""Prediction: rows are scaled and assigned to cells a group at a time, then the core evaluates each by its cell.

Enters: a `LocalModel` and rows. Leaves: the scores or the probabilities of every row, in the order of the rows. Memory
is bounded by the size of a group; blocks of rows are evaluated in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

_GROUP_VALUES = 1 << 24  # numbers that are scaled, or evaluated, and grouped by cell at a time: 64 or 128 MB
FEW_ROWS = 64
"""Rows that are too few for a second thread."""

Evaluate = Callable[[int, NDArray[np.float32]], FloatArray]
"""Takes the number of a cell and rows in the metric of the model; returns an array for every row."""


def predict_scores(model: LocalModel, X: RowSource | ScaledRows, n_threads: int = 1) -> FloatArray:
    """Return the scores (n_rows, n_scores) of every row of X."""
    return _scores_and_cells(model, X, n_threads)[0]


def predict_probabilities(model: LocalModel, X: RowSource | ScaledRows, n_threads: int = 1) -> FloatArray:
    """Return the probabilities (n_rows, n_classes) of the classes at every row of X."""
    return predict_classes(model, X, n_threads)[1]


def predict_classes(model: LocalModel, X: RowSource | ScaledRows, n_threads: int = 1) -> tuple[FloatArray, FloatArray]:
    """Return the scores and the probabilities of every row of X, for the cost of one of them."""
    scores, cells = _scores_and_cells(model, X, n_threads)
    if isinstance(model.reduction, Probabilities):
        return scores, model.reduction.probabilities(scores)
    assert model.calibration is not None, "other classifiers are calibrated"
    return scores, _probabilities(model.calibration, scores, cells, n_threads)


def _scores_and_cells(
    model: LocalModel, X: RowSource | ScaledRows, n_threads: int
) -> tuple[FloatArray, NDArray[np.integer]]:
    """Return the scores of every row, and its cell; where cells are averaged, cell 0."""
    if model.averages:
        return evaluate_rows(model, X, partial(cell_scores, model), (model.reduction.n_scores,), n_threads)
    rows = X if isinstance(X, ScaledRows) else ScaledRows(X, model.scaling)
    n_rows = len(X)
    if n_rows <= FEW_ROWS:
        points = rows.take(slice(0, n_rows))
        labels = _assign(model, points)
        return model.reduction.scores(model.packed.values(points, labels)), labels
    scores, cells = np.empty((len(rows), model.reduction.n_scores)), np.empty(len(rows), dtype=np.int32)
    size = block_rows(max(rows.n_features, model.reduction.n_outputs), BLOCK_ROWS)
    with thread_map(n_threads) as each:
        for group in _groups(model, rows):
            points, cells[group] = _scale_and_assign(model, rows, group, each)
            values = model.packed.values(points, cells[group], n_threads)
            _fill_scores(model, values, scores[group], size, each)
    return scores, cells


def _fill_scores(model: LocalModel, values: FloatArray, scores: FloatArray, size: int, each: ThreadMap) -> None:
    def fill(block: slice) -> None:
        scores[block] = model.reduction.scores(values[block])

    for_each(each, fill, row_blocks(0, len(scores), size))


def _groups(model: LocalModel, rows: ModelRows) -> Iterator[slice]:
    """Yield the rows that are in memory at a time."""
    width = max(rows.n_features, model.reduction.n_outputs)
    return row_blocks(0, len(rows), max(1, _GROUP_VALUES // width))


def _assign(model: LocalModel, points: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the cells of scaled points."""
    found = check_assignment(model.partition.assign(points), len(points), len(model.cells))
    return np.ascontiguousarray(found, dtype=np.int32)


def _scale_and_assign(
    model: LocalModel, rows: ModelRows, group: slice, each: ThreadMap
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the rows of a group, scaled, and their cells."""
    n_rows = group.stop - group.start
    points, cells = np.empty((n_rows, rows.n_features), dtype=np.float32), np.empty(n_rows, dtype=np.int32)

    def assign(block: slice) -> None:
        points[block] = rows.take(slice(group.start + block.start, group.start + block.stop))
        cells[block] = _assign(model, points[block])

    for_each(each, assign, row_blocks(0, n_rows, block_rows(rows.n_features, BLOCK_ROWS)))
    return points, cells


def assign_rows(model: LocalModel, X: RowSource | ScaledRows, n_threads: int = 1) -> NDArray[np.intp]:
    """Return the cell of every row of X."""
    rows = X if isinstance(X, ScaledRows) else ScaledRows(X, model.scaling)
    cells = np.empty(len(rows), dtype=np.intp)

    def assign(block: slice) -> None:
        cells[block] = _assign(model, rows.take(block))

    with thread_map(n_threads if len(rows) > FEW_ROWS else 1) as each:
        for_each(each, assign, row_blocks(0, len(rows), block_rows(rows.n_features, BLOCK_ROWS)))
    return cells


def cell_distances(model: LocalModel, X: RowSource, n_threads: int = 1) -> FloatArray:
    """Return the distance of every row of X from the center of its cell, in radii of that cell."""
    rows, found = ScaledRows(X, model.scaling), np.empty(len(X))
    centers, radii = model.partition.centers, np.asarray(model.partition.radii, dtype=np.float64)

    def measure(block: slice) -> None:
        points = rows.take(block)
        cells = _assign(model, points)
        distance = np.sqrt(np.square(points.astype(np.float64) - centers[cells]).sum(axis=1))
        # A cell of equal rows has radius 0: all others are infinitely far.
        far = np.where(distance > 0, np.inf, 0.0)
        found[block] = np.divide(distance, radii[cells], out=far, where=radii[cells] > 0)

    with thread_map(n_threads if len(rows) > FEW_ROWS else 1) as each:
        for_each(each, measure, row_blocks(0, len(rows), block_rows(rows.n_features, BLOCK_ROWS)))
    return found


def cell_scores(model: LocalModel, cell: int, points: NDArray[np.float32]) -> FloatArray:
    """Return the scores of scaled points by one cell."""
    return model.reduction.scores(model.packed.values(points, np.full(len(points), cell, dtype=np.int32)))


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
    with thread_map(n_threads if len(rows) > FEW_ROWS else 1) as each:
        if model.averages:
            _fill_means(model, rows, evaluate, values, size, each)
        else:
            for group in _groups(model, rows):
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
    """Evaluate a group of rows cell after cell; fills `values` and `cells`."""
    points, cells[:] = _scale_and_assign(model, rows, group, each)
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


def _probabilities(
    calibration: Calibration, scores: FloatArray, cells: NDArray[np.integer], n_threads: int
) -> FloatArray:
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
