"""Prediction: rows grouped by cell, blocked kernels, all cores, bounded memory, row order kept.

Enters: a `LocalModel` and rows. Leaves: one decision value per row.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from localsvm._native import evaluate
from localsvm.cell.train import TrainedCell
from localsvm.data.rows import ScaledRows
from localsvm.data.source import RowSource, block_rows, row_blocks
from localsvm.model.local_model import LocalModel
from localsvm.partition.base import AveragingPartition, Members, ThreadMap, for_each
from localsvm.partition.build import check_assignment

BLOCK_ROWS = 4096
"""Rows that are evaluated at a time."""

_GROUPED_ROWS = 1 << 20  # rows that are grouped by cell at a time: their numbers are what prediction holds in memory
_FEW_ROWS = 64  # not worth a thread


def decision_values(model: LocalModel, X: RowSource, n_threads: int = 1) -> NDArray[np.float64]:
    """Return f(x) for every row of X."""
    rows = ScaledRows(X, model.scaling)
    if n_threads == 1 or len(rows) <= _FEW_ROWS:
        return _values(model, rows, map)
    with ThreadPoolExecutor(max_workers=n_threads) as pool:
        return _values(model, rows, pool.map)


def _values(model: LocalModel, rows: ScaledRows, thread_map: ThreadMap) -> NDArray[np.float64]:
    out = np.empty(len(rows), dtype=np.float64)
    if isinstance(model.partition, AveragingPartition):
        _fill_averages(model, model.partition, rows, out, thread_map)
    else:
        for block in row_blocks(0, len(rows), _GROUPED_ROWS):
            _fill_from_own_cells(model, rows, block, out, thread_map)
    return out


def _fill_from_own_cells(
    model: LocalModel, rows: ScaledRows, group: slice, out: NDArray[np.float64], thread_map: ThreadMap
) -> None:
    n_cells = len(model.cells)
    labels = np.empty(group.stop - group.start, dtype=np.int64)

    def assign(block: slice) -> None:
        found = model.partition.assign(rows.take(block))
        n_rows = block.stop - block.start
        labels[block.start - group.start : block.stop - group.start] = check_assignment(found, n_rows, n_cells)

    def evaluate_range(members: slice) -> None:
        numbers = group.start + by_cell.order[members]
        first, last = (int(labels[by_cell.order[i]]) for i in (members.start, members.stop - 1))
        points = rows.take(numbers)
        for cell in range(first, last + 1):
            begin, end = np.clip(by_cell.span(cell), members.start, members.stop) - members.start
            if begin < end:
                out[numbers[begin:end]] = cell_values(model.cells[cell], points[begin:end])

    for_each(thread_map, assign, rows.blocks(group.start, group.stop))
    by_cell = Members.of_labels(labels, n_cells)
    for_each(thread_map, evaluate_range, row_blocks(0, len(labels), block_rows(rows.n_features, BLOCK_ROWS)))


def _fill_averages(
    model: LocalModel,
    partition: AveragingPartition,
    rows: ScaledRows,
    out: NDArray[np.float64],
    thread_map: ThreadMap,
) -> None:
    def average(block: slice) -> None:
        points = rows.take(block)
        voters = partition.voters(points)
        total = np.zeros(len(points))
        for cell, votes in zip(model.cells, voters.T, strict=True):
            if votes.any():
                total[votes] += cell_values(cell, points[votes])
        out[block] = total / voters.sum(axis=1)

    for_each(thread_map, average, row_blocks(0, len(rows), block_rows(rows.n_features, BLOCK_ROWS)))


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
