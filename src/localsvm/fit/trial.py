"""What a way to cut the rows is worth, without training all of it: some cells are, and predict rows that were held out.

Enters: rows to train on, rows held out, and `FitSettings`. Leaves: a `Trial`. The cells are those of the whole fit,
not of a smaller one: what cells gain from more rows is seen.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import TrainedCell
from localsvm.data.rows import ScaledRows
from localsvm.data.source import RowSource, RowSubset
from localsvm.fit.forecast import spread_by_size, training_seconds, work_ratio
from localsvm.fit.prepare import FitSettings, Prepared, prepare
from localsvm.fit.training import OnProgress, train_cells
from localsvm.partition.base import Members, averages
from localsvm.tasks import Reduction

FloatArray = NDArray[np.float64]

_FEWEST_CELLS = 8  # whatever their size: cells differ


@dataclass(frozen=True)
class TargetRows:
    """Rows with targets and weights."""

    X: RowSource
    y: FloatArray
    weight: FloatArray

    def some(self, numbers: NDArray[np.intp]) -> TargetRows:
        """Return the rows of these numbers."""
        return TargetRows(RowSubset(self.X, numbers), self.y[numbers], self.weight[numbers])


@dataclass(frozen=True)
class Trial:
    """Losses of held-out rows, and what all cells would take."""

    n_cells: int
    tried_cells: int
    number: NDArray[np.intp]
    """Which held-out rows were predicted."""
    loss: FloatArray
    """Theirs."""
    cell: NDArray[np.intp]
    """Which of the tried cells has predicted them; zeros where all have."""
    fit_seconds: float
    predict_seconds: float
    """Of a row."""


def run_trial(
    rows: TargetRows,
    held_out: TargetRows,
    settings: FitSettings,
    most_rows: int,
    on_progress: OnProgress | None = None,
) -> Trial:
    """Cut the rows into cells, train cells of about `most_rows` rows in all, and predict the held-out rows in them.

    Where cells predict together, as chunks do, all are trained.
    """
    begin = time.perf_counter()
    prepared = prepare(rows.X, rows.y, rows.weight, settings)
    ready = time.perf_counter()
    together = averages(prepared.partition)
    chosen = np.arange(len(prepared.sizes)) if together else _some_cells(prepared.sizes, most_rows)
    sizes = prepared.sizes[chosen]
    tasks = [prepared.tasks[number] for number in chosen.tolist()]
    cells = train_cells(tasks, sizes, prepared.cell, prepared.plan, on_progress)
    trained = time.perf_counter()
    seconds = training_seconds(cells, trained - ready, prepared.plan)
    predict = _predict_together if together else _predict_own
    found = predict(prepared, chosen, cells, held_out, settings.cell.reduction)
    predicted = time.perf_counter()
    return Trial(
        n_cells=len(prepared.sizes),
        tried_cells=len(chosen),
        number=np.concatenate([numbers for numbers, _ in found]),
        loss=np.concatenate([loss for _, loss in found]),
        cell=np.repeat(np.arange(len(found)), [len(loss) for _, loss in found]),
        fit_seconds=ready - begin + seconds * work_ratio(prepared.sizes, sizes),
        predict_seconds=(predicted - trained) / max(1, sum(len(loss) for _, loss in found)),
    )


def _some_cells(sizes: NDArray[np.intp], most_rows: int) -> NDArray[np.intp]:
    count = round(most_rows / max(float(sizes.mean()), 1.0))
    return spread_by_size(sizes, max(count, _FEWEST_CELLS))


Found = list[tuple[NDArray[np.intp], FloatArray]]
"""Numbers of held-out rows, and their losses, by cell."""


def _predict_own(
    prepared: Prepared,
    chosen: NDArray[np.intp],
    cells: Sequence[TrainedCell],
    held_out: TargetRows,
    reduction: Reduction,
) -> Found:
    """Let every cell predict the rows that fall into it."""
    rows = ScaledRows(held_out.X, prepared.scaling)
    labels = np.concatenate([prepared.partition.assign(rows.take(block)) for block in rows.blocks(0, len(rows))])
    members = Members.of_labels(labels, len(prepared.sizes))
    found = []
    for number, cell in zip(chosen.tolist(), cells, strict=True):
        own = members.rows(number)
        scores = reduction.scores(cell.functions.values(rows.take(own)))
        found.append((own, reduction.risk(held_out.y[own], scores)))
    return found


def _predict_together(
    prepared: Prepared,
    chosen: NDArray[np.intp],
    cells: Sequence[TrainedCell],
    held_out: TargetRows,
    reduction: Reduction,
) -> Found:
    """Let all cells predict all rows; the mean of their scores counts."""
    points = ScaledRows(held_out.X, prepared.scaling).take(np.arange(len(held_out.y)))
    scores = np.mean([reduction.scores(cell.functions.values(points)) for cell in cells], axis=0)
    return [(np.arange(len(points)), reduction.risk(held_out.y, scores))]
