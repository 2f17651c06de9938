"""Cells that have nothing to train: their samples agree, or there are none.

Enters: a `CellTask`. Leaves: a `TrainedCell` whose functions are constants.
"""

from __future__ import annotations

import numpy as np

from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.trained import PHASES, CellFunctions, Certificates, OutOfFold, TrainedCell
from localsvm.tasks import unbounded


def constant_cell(task: CellTask, settings: CellSettings) -> TrainedCell:
    """Return a cell whose samples agree, or that has none: its functions are constants."""
    rows, reduction = task.rows, settings.reduction
    if len(rows.y):
        constants = reduction.constants(rows.y, rows.weight)
    else:
        constants = task.fallback if task.fallback is not None else np.ones(reduction.n_outputs)
    scores = np.tile(reduction.scores(constants[None, :]), (len(rows.y), 1)).astype(np.float32)
    none = np.zeros((0, 0, 0))
    return TrainedCell(
        number=task.number,
        functions=CellFunctions(settings.kernel, constants, unbounded(reduction.n_outputs)),
        width=np.zeros(0),
        lam=np.zeros(0),
        radius=task.radius,
        n_samples=len(rows.y),
        total_weight=float(rows.weight.sum()),
        risk=0.0,
        risk_error=0.0,
        widths=np.zeros(0),
        lams=np.zeros(0),
        risks=np.zeros((0, 0)),
        certificates=Certificates(none, none.astype(np.int8), none.astype(np.int64)),
        out_of_fold=OutOfFold(scores, rows.y, rows.weight),
        seconds=dict.fromkeys(PHASES, 0.0),
    )
