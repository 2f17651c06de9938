"""The loss of a partition on held-out rows, without training all of its cells.

Enters: rows to train on, held-out rows, and `FitSettings`. Leaves: a `Trial`. The cells are those of the whole fit,
not of a smaller one, so that the effect of the cell size is seen.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.rows import ScaledRows
from localsvm.data.types import FloatArray
from localsvm.fit.partial import CellChoice, PartialFit, fit_partially, spread_by_size
from localsvm.fit.prepare import Prepared, TargetRows
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import OnProgress
from localsvm.partition.base import Members, averages
from localsvm.tasks import Reduction

_FEWEST_CELLS = 8  # whatever their size: cells differ


@dataclass(frozen=True)
class Trial:
    """Losses of held-out rows, and the forecast seconds of the whole fit."""

    n_cells: int
    tried_cells: int
    number: NDArray[np.intp]
    """Which held-out rows were predicted."""
    loss: FloatArray
    """Losses of these rows."""
    cell: NDArray[np.intp]
    """Which of the tried cells has predicted them; zeros if all have."""
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
    """Partition the rows, train cells of about `most_rows` rows in all, and predict the held-out rows in them.

    If cells are averaged in prediction, as chunks are, all are trained.
    """

    def choose(prepared: Prepared) -> CellChoice:
        everything = np.arange(len(prepared.sizes))
        if averages(prepared.partition):
            return CellChoice(everything, everything)
        count = round(most_rows / max(float(prepared.sizes.mean()), 1.0))
        return CellChoice(spread_by_size(prepared.sizes, max(count, _FEWEST_CELLS)), everything)

    fit = fit_partially(rows, settings, choose, on_progress)
    trained = time.perf_counter()
    averaged = averages(fit.prepared.partition)
    found = (_averaged_losses if averaged else _cell_losses)(fit, held_out, settings.cell.reduction)
    predicted = time.perf_counter()
    return Trial(
        n_cells=len(fit.prepared.sizes),
        tried_cells=len(fit.choice.chosen),
        number=np.concatenate([numbers for numbers, _ in found]),
        loss=np.concatenate([loss for _, loss in found]),
        cell=np.repeat(np.arange(len(found)), [len(loss) for _, loss in found]),
        fit_seconds=fit.fit_seconds,
        predict_seconds=(predicted - trained) / max(1, sum(len(loss) for _, loss in found)),
    )


Found = list[tuple[NDArray[np.intp], FloatArray]]
"""Numbers of held-out rows, and their losses, by cell."""


def _cell_losses(fit: PartialFit, held_out: TargetRows, reduction: Reduction) -> Found:
    """Predict the rows of every trained cell by that cell."""
    prepared = fit.prepared
    rows = ScaledRows(held_out.X, prepared.scaling)
    labels = np.concatenate([prepared.partition.assign(rows.take(block)) for block in rows.blocks(0, len(rows))])
    members = Members.of_labels(labels, len(prepared.sizes))
    found = []
    for number, cell in zip(fit.choice.chosen.tolist(), fit.cells, strict=True):
        own = members.rows(number)
        scores = reduction.scores(cell.functions.values(rows.take(own)))
        found.append((own, reduction.risk(held_out.y[own], scores)))
    return found


def _averaged_losses(fit: PartialFit, held_out: TargetRows, reduction: Reduction) -> Found:
    """Predict all rows by the mean score of all cells."""
    points = ScaledRows(held_out.X, fit.prepared.scaling).take(np.arange(len(held_out)))
    scores = np.mean([reduction.scores(cell.functions.values(points)) for cell in fit.cells], axis=0)
    return [(np.arange(len(points)), reduction.risk(held_out.y, scores))]
