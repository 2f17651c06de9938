"""Some cells of a fit, trained as the whole fit would train them, and what all of them would take.

Enters: rows, `FitSettings` and a choice of cells. Leaves: a `PartialFit`. Forecasts and trials are made of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import TrainedCell
from localsvm.fit.memory import MemoryLimit, MemoryPlan
from localsvm.fit.prepare import Prepared, TargetRows, check_memory, prepare
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import OnProgress, tell_stage, train_cells

PILOT_CELLS = 40
"""At most so many cells of a large fit are trained for its forecast."""

# The seconds of a cell grow with the square of its rows, less where solves are easy.
_GROWTH = 1.7


@dataclass(frozen=True)
class CellChoice:
    """Cells to train, and the cells that they stand for."""

    chosen: NDArray[np.intp]
    all_cells: NDArray[np.intp]


@dataclass(frozen=True)
class PartialFit:
    """Some trained cells of a fit."""

    prepared: Prepared
    choice: CellChoice
    cells: Sequence[TrainedCell]
    fit_seconds: float
    """Forecast for all cells, with what precedes their training."""


def fit_partially(
    data: TargetRows,
    settings: FitSettings,
    choose: Callable[[Prepared], CellChoice],
    on_progress: OnProgress | None = None,
) -> PartialFit:
    """Prepare a fit to rows of positive weight, train the cells that `choose` returns, and extrapolate the seconds."""
    begin = time.perf_counter()
    limit = MemoryLimit.of(settings.max_memory)
    check_memory(data.X.shape, settings, limit)
    tell_stage(on_progress, "scaling")
    prepared = prepare(data, data.hashes(settings.seed, settings.n_threads), settings, limit, on_progress)
    ready = time.perf_counter()
    choice = choose(prepared)
    sizes = prepared.sizes[choice.chosen]
    tasks = [prepared.tasks[number] for number in choice.chosen.tolist()]
    tell_stage(on_progress, "cells")
    cells = train_cells(tasks, sizes, prepared.cell, prepared.plan, on_progress)
    seconds = training_seconds(cells, time.perf_counter() - ready, prepared.plan)
    all_seconds = seconds * work_ratio(prepared.sizes[choice.all_cells], sizes)
    return PartialFit(prepared, choice, cells, ready - begin + all_seconds)


def spread_by_size(sizes: NDArray[np.intp], count: int = PILOT_CELLS) -> NDArray[np.intp]:
    """Return the numbers of some cells, evenly spread over the sorted sizes."""
    by_size = np.argsort(sizes, kind="stable")
    count = min(count, len(sizes))
    return by_size[((np.arange(count) + 0.5) * len(sizes) / count).astype(np.intp)]


def work_ratio(sizes: NDArray[np.intp], chosen: NDArray[np.intp], growth: float = _GROWTH) -> float:
    """Return the work of cells of all sizes, relative to those that were chosen."""
    total, part = ((numbers.astype(np.float64) ** growth).sum() for numbers in (sizes, chosen))
    return float(total / part) if part else 0.0


def training_seconds(cells: Sequence[TrainedCell], passed: float, plan: MemoryPlan) -> float:
    """Return the seconds of cells as a part of many; at the end of a few, threads wait for the last of them."""
    if plan.folds_in_parallel:
        return passed
    return min(passed, sum(sum(cell.seconds.values()) for cell in cells) / plan.cells_at_once)
