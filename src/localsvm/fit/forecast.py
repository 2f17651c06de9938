"""What a fit will take, before it is run: a few of its cells are trained.

Enters: validated rows and `FitSettings`. Leaves: a `Forecast`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import TrainedCell
from localsvm.fit.memory import resident_memory
from localsvm.fit.partial import PILOT_CELLS, CellChoice, fit_partially, spread_by_size, work_ratio
from localsvm.fit.prepare import Prepared, TargetRows
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import OnProgress

_LEAST_PER_PILOT = 4  # cells for each that is trained: a forecast is worth nothing if it takes as long as the fit
_SCORE_BYTES = 64  # per row: what calibration makes of out-of-fold scores


@dataclass(frozen=True)
class Forecast:
    """What a fit will take."""

    n_rows: int
    n_features: int
    n_cells: int
    largest_cell: int
    seconds: float
    """Of the whole fit, wall clock."""
    memory: int
    """Bytes of the process at the peak."""
    model_bytes: int
    """Of support vectors and coefficients."""
    pilot_cells: int
    pilot_seconds: float
    """What the forecast took."""

    def times(self, count: int) -> Forecast:
        """Return the forecast of several fits like this one, one after the other, whose models are kept."""
        others = (count - 1) * self.model_bytes
        return replace(
            self,
            n_cells=count * self.n_cells,
            seconds=count * self.seconds,
            memory=self.memory + others,
            model_bytes=self.model_bytes + others,
        )


def forecast_fit(data: TargetRows, settings: FitSettings, on_progress: OnProgress | None = None) -> Forecast:
    """Forecast the seconds and the memory of a fit."""
    begin = time.perf_counter()
    fit = fit_partially(data.present(), settings, _pilot_cells, on_progress)
    prepared, choice, sizes = fit.prepared, fit.choice, fit.prepared.sizes
    model_bytes = int(_model_bytes(fit.cells) * work_ratio(sizes[choice.all_cells], sizes[choice.chosen], growth=1.0))
    return Forecast(
        n_rows=prepared.n_rows,
        n_features=prepared.n_features,
        n_cells=len(sizes),
        largest_cell=int(sizes.max()),
        seconds=fit.fit_seconds,
        memory=_peak(prepared, settings.cell, model_bytes),
        model_bytes=model_bytes,
        pilot_cells=len(fit.cells),
        pilot_seconds=time.perf_counter() - begin,
    )


def _pilot_cells(prepared: Prepared) -> CellChoice:
    """Choose among cells whose targets differ: training the others takes no time. Of few cells a quarter will do."""
    differ = np.array([n for n in range(len(prepared.tasks)) if not prepared.tasks.agrees(n)], dtype=np.intp)
    count = min(PILOT_CELLS, max(1, len(differ) // _LEAST_PER_PILOT))
    return CellChoice(differ[spread_by_size(prepared.sizes[differ], count)], differ)


def _model_bytes(cells: Sequence[TrainedCell]) -> int:
    sums = [part for cell in cells for part in cell.functions.sums]
    return sum(4 * part.n_support * (part.support_vectors.shape[1] + len(part.outputs)) for part in sums)


def _peak(prepared: Prepared, settings: CellSettings, model_bytes: int) -> int:
    """Return the bytes of the process now, with the model, and with the larger of cells in training and calibration."""
    plan, largest = prepared.plan, int(prepared.sizes.max())
    threads = plan.n_threads if plan.folds_in_parallel else 1
    cell = settings.bytes_needed(largest, prepared.n_features, threads)
    stored = {"full": cell.full, "kernel": cell.kernel, "rows": plan.bytes_per_cell or cell.smallest}
    in_training = plan.cells_at_once * stored[cell.storage(plan.bytes_per_cell)]
    scores = _SCORE_BYTES * prepared.n_rows if settings.reduction.is_classification else 0
    return (resident_memory() or 0) + model_bytes + max(in_training, scores)
