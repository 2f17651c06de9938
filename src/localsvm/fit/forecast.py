"""What a fit will take, before it is run: rows are scaled and cut into cells, a few cells are trained.

Enters: validated rows and `FitSettings`. Leaves: a `Forecast`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import TrainedCell
from localsvm.data.source import RowSource
from localsvm.fit.memory import resident_memory
from localsvm.fit.prepare import FitSettings, Prepared, prepare, present_rows
from localsvm.fit.training import MemoryPlan, OnProgress, train_cells

_PILOT_CELLS = 40
# The seconds of a cell grow with the square of its rows, less where solves are easy.
_GROWTH = 1.7
_LEFT_OUT_BYTES = 64  # per row: what calibration makes of out-of-fold scores


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


def forecast_fit(
    X: RowSource,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    settings: FitSettings,
    on_progress: OnProgress | None = None,
) -> Forecast:
    """Forecast the seconds and the memory of a fit."""
    begin = time.perf_counter()
    prepared = prepare(*present_rows(X, y, weight), settings)
    ready = time.perf_counter()
    to_train = np.array([n for n in range(len(prepared.tasks)) if not prepared.tasks.agrees(n)], dtype=np.intp)
    all_sizes = prepared.sizes[to_train]
    chosen = spread_by_size(all_sizes)
    sizes = all_sizes[chosen]
    tasks = [prepared.tasks[number] for number in to_train[chosen].tolist()]
    cells = train_cells(tasks, sizes, prepared.cell, prepared.plan, on_progress)
    seconds = training_seconds(cells, time.perf_counter() - ready, prepared.plan)
    model_bytes = int(_model_bytes(cells) * work_ratio(all_sizes, sizes, growth=1.0))
    return Forecast(
        n_rows=prepared.n_rows,
        n_features=prepared.n_features,
        n_cells=len(prepared.sizes),
        largest_cell=int(prepared.sizes.max()),
        seconds=ready - begin + seconds * work_ratio(all_sizes, sizes),
        memory=_peak(prepared, settings.cell, model_bytes),
        model_bytes=model_bytes,
        pilot_cells=len(cells),
        pilot_seconds=time.perf_counter() - begin,
    )


def spread_by_size(sizes: NDArray[np.intp], count: int = _PILOT_CELLS) -> NDArray[np.intp]:
    """Return some cells, of all sizes alike."""
    by_size = np.argsort(sizes, kind="stable")
    count = min(count, len(sizes))
    return by_size[((np.arange(count) + 0.5) * len(sizes) / count).astype(np.intp)]


def work_ratio(sizes: NDArray[np.intp], chosen: NDArray[np.intp], growth: float = _GROWTH) -> float:
    """Return how much more work cells of all sizes are than those that were chosen."""
    total, part = ((numbers.astype(np.float64) ** growth).sum() for numbers in (sizes, chosen))
    return float(total / part) if part else 0.0


def training_seconds(cells: Sequence[TrainedCell], passed: float, plan: MemoryPlan) -> float:
    """Return what cells take as a part of many: at the end of a few, threads wait for the last of them."""
    if plan.folds_side_by_side:
        return passed
    return min(passed, sum(sum(cell.seconds.values()) for cell in cells) / plan.cells_at_once)


def _model_bytes(cells: Sequence[TrainedCell]) -> int:
    sums = [part for cell in cells for part in cell.functions.sums]
    return sum(4 * part.n_support * (part.support_vectors.shape[1] + len(part.outputs)) for part in sums)


def _peak(prepared: Prepared, settings: CellSettings, model_bytes: int) -> int:
    """Return what there is now, with the cells at work, and then with the model and what calibration makes."""
    plan, largest = prepared.plan, int(prepared.sizes.max())
    threads = plan.n_threads if plan.folds_side_by_side else 1
    cell = settings.bytes_needed(largest, prepared.n_features, threads)
    stored = {"full": cell.full, "kernel": cell.kernel, "rows": plan.bytes_per_cell or cell.smallest}
    at_work = plan.cells_at_once * stored[cell.storage(plan.bytes_per_cell)]
    left_out = _LEFT_OUT_BYTES * prepared.n_rows if settings.reduction.is_classification else 0
    return (resident_memory() or 0) + model_bytes + max(at_work, left_out)
