"""The width of a cell of many classes, chosen by least squares on a few combinations of their indicators.

Enters: the folded rows of a cell with indicators as targets. Leaves: the best width and the risks of all. The
functions of all classes are then trained at that width only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from localsvm.cell.columns import Columns
from localsvm.cell.folds import FoldedRows
from localsvm.cell.outputs import Outputs
from localsvm.cell.search import GridSearch
from localsvm.cell.select import Best, CommonWidth
from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import TrainedCell
from localsvm.data.types import FloatArray
from localsvm.tasks import Regression, project_targets


@dataclass(frozen=True)
class RankedWidths:
    """The best width, and the risks of all grid points as the mean over the classes (width, lam)."""

    best: int
    risks: FloatArray
    seconds: dict[str, float]

    def complete(self, cell: TrainedCell) -> TrainedCell:
        """Return a cell that was trained at the best width with the risks, and the seconds, of all."""
        risks = np.where(np.isfinite(cell.risks), cell.risks, self.risks)
        return replace(
            cell, risks=risks, seconds={phase: cell.seconds[phase] + self.seconds[phase] for phase in self.seconds}
        )


def rank_widths(
    settings: CellSettings, rows: FoldedRows, start: Callable[[CellSettings, Outputs], GridSearch]
) -> RankedWidths | None:
    """Return the order of the widths for rows of many classes; None where there are few. `start` begins a search."""
    assert isinstance(settings.reduction, Regression), "least squares on indicators"
    present = rows.y[:, np.ptp(rows.y, axis=0) > 0]
    projected = project_targets(present)
    n_classes, n_targets = present.shape[1], projected.shape[1]
    if n_targets == n_classes or rows.n_folds == 1:
        return None
    rows = replace(rows, y=projected)
    reduction = replace(settings.reduction, n_targets=n_targets)
    problems = reduction.problems(rows.y, rows.weight)
    outputs = Outputs.of(replace(settings, reduction=reduction), rows, Columns.of(problems, rows))
    search = start(replace(settings, reduction=reduction), outputs)
    selection = CommonWidth.none(Best.none(search.record, outputs, settings.own_lams), search.widths)
    for w in range(len(search.widths)):
        search.set_width(w)
        selection.update(w, *search.solve_paths(w))
    units = np.array([problem.risk_unit for problem in problems])
    risks = np.tensordot(units, search.record.mean_risk, 1) / n_classes
    return RankedWidths(int(selection.choice().width[0]), risks, search.clock.seconds)
