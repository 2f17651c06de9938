"""The flow of a fit: scale -> partition -> train cells -> model.

Enters: validated rows and `FitSettings`. Leaves: a `LocalModel` and the seconds of each phase. Work runs in threads
that release the interpreter's lock; the calling thread only waits, so that Ctrl-C is seen at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm._native import CancelToken
from localsvm.cell.train import PHASES, CellSettings, CellTask, TrainedCell, train_cell
from localsvm.data.content import Rows, canonical_rows
from localsvm.data.scaling import fit_scaling
from localsvm.model.local_model import LocalModel

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class FitSettings:
    """How to fit: the settings of a cell, and those around it."""

    cell: CellSettings
    scaling: str | None
    seed: int
    n_threads: int


@dataclass(frozen=True)
class Progress:
    """One step of a fit, for callbacks."""

    cells_done: int
    n_cells: int
    samples_done: int
    n_samples: int
    seconds: float


@dataclass(frozen=True)
class FitResult:
    """The model and the seconds spent in each phase."""

    model: LocalModel
    seconds: dict[str, float]


def available_threads() -> int:
    """Return the number of cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def fit_model(
    X: NDArray[np.floating],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    settings: FitSettings,
    on_progress: Callable[[Progress], None] | None = None,
) -> FitResult:
    """Fit a local model to rows of finite features with positive weights."""
    begin = time.perf_counter()
    present = weight > 0
    if not present.all():
        X, y, weight = X[present], y[present], weight[present]
    scaling = fit_scaling(settings.scaling, X, weight)
    rows = canonical_rows(scaling.apply(X), y, weight, settings.seed)
    tasks = [CellTask(rows, radius=cell_radius(rows))]
    partitioned = time.perf_counter()

    cells = _train_all(tasks, settings, on_progress)
    seconds = {"partition": partitioned - begin}
    for phase in PHASES:
        seconds[phase] = sum(cell.seconds[phase] for cell in cells)
    seconds["total"] = time.perf_counter() - begin
    return FitResult(LocalModel(X.shape[1], scaling, tuple(cells)), seconds)


def cell_radius(rows: Rows) -> float:
    """Return the largest distance of a sample from the mean of the distinct samples."""
    X = rows.X.astype(np.float64)
    radius = float(np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).max()))
    return radius if radius > 0 else 1.0


def _train_all(
    tasks: list[CellTask],
    settings: FitSettings,
    on_progress: Callable[[Progress], None] | None,
) -> list[TrainedCell]:
    begin = time.perf_counter()
    token = CancelToken()
    n_samples = sum(len(task.rows.y) for task in tasks)
    with ThreadPoolExecutor(settings.n_threads) as folds, ThreadPoolExecutor(1) as cells:
        futures = [
            cells.submit(train_cell, task, settings.cell, token, folds.map) for task in tasks
        ]
        try:
            for done in _as_they_finish(futures):
                if on_progress is not None:
                    samples = sum(future.result().n_samples for future in done)
                    seconds = time.perf_counter() - begin
                    on_progress(Progress(len(done), len(tasks), samples, n_samples, seconds))
        except BaseException:
            # Ctrl-C, or a failing cell: stop the others, then let the pools empty.
            token.cancel()
            cells.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _as_they_finish(futures: list[Future[TrainedCell]]):  # type: ignore[no-untyped-def]
    """Yield the list of finished futures whenever it grows; raise what a future raised."""
    pending = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED")
        for future in finished:
            future.result()
        if finished:
            yield [future for future in futures if future.done()]
