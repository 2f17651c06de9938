"""What a fit on a cluster will take, before it is run: its tasks, its shuffle, memory and seconds.

Input: a data frame and an estimator of `localsvm` that has the parameters. Output: a `DistributedForecast`. Rows are
surveyed, sampled and counted as in a fit. Then a few coarse cells are shuffled to tasks, which train some of their
cells; everything else is proportional to the rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark.sql import DataFrame

from localsvm.estimators.base import LocalEstimator
from localsvm.fit.memory import resident_memory
from localsvm.spark.fit import FitPlan, prepare_distributed
from localsvm.spark.pilots import train_pilots
from localsvm.spark.training import Training

_ROW_BYTES = 32  # of target, weight, hash and count
_PYTHON_BYTES = 150 << 20  # of a process with NumPy and pyarrow
_SCORE_BYTES = 64  # per row: what calibration makes of out-of-fold scores
_CELL_BYTES = 512  # of the row of a cell on the driver, beside its center
_COPIES = 3  # of results on the driver: as they arrive, as rows, and joined
_TASK_SECONDS = 0.1  # that Spark takes to start a task in Python


@dataclass(frozen=True)
class DistributedForecast:
    """What a fit on a cluster will take."""

    n_rows: int
    n_features: int
    n_cells: int
    n_tasks: int
    """Tasks of the training, one per coarse cell."""
    largest_task: int
    """Rows of the largest task."""
    largest_cell: int
    shuffle_bytes: int
    """Of the rows, as tasks write them; Spark compresses them."""
    task_memory: int
    """Bytes of the Python process of the largest task, outside the heap of its executor."""
    driver_memory: int
    """Bytes of the Python process of the driver at the peak."""
    result_bytes: int
    """What tasks return to the driver, in parts of at most half of spark.driver.maxResultSize."""
    model_bytes: int
    """Of the records of all cells."""
    n_workers: int
    """Python processes that have read the rows: tasks that run at the same time."""
    seconds: float
    """Of the whole fit, with as many workers."""
    pilot_cells: int
    pilot_seconds: float
    """What the forecast took."""


def forecast_distributed(dataset: DataFrame, estimator: LocalEstimator, plan: FitPlan) -> DistributedForecast:
    """Forecast tasks, bytes and seconds of a fit."""
    begin = time.perf_counter()
    prepared = prepare_distributed(dataset, estimator, plan)
    ready = time.perf_counter()
    pilots = train_pilots(prepared.problem.rows, prepared.training)
    total = {name: sum(pilot[name] for pilot in pilots) for name in ("rows", "cells", "trained", "seconds")}
    training, sizes = prepared.training, prepared.training.sized.sizes
    n_rows, n_features = prepared.problem.rows.n_rows, training.layout.n_features
    of_rows = n_rows / total["rows"]
    n_cells, largest = max(round(of_rows * total["cells"]), len(sizes)), int(sizes.max())
    n_workers = len(prepared.problem.survey.workers)
    training_seconds = max(of_rows / n_workers, largest / total["rows"]) * total["seconds"]
    result_bytes = _result_bytes(training, n_rows, n_cells)
    return DistributedForecast(
        n_rows=n_rows,
        n_features=n_features,
        n_cells=n_cells,
        n_tasks=len(sizes),
        largest_task=largest,
        largest_cell=max(pilot["largest_cell"] for pilot in pilots),
        shuffle_bytes=n_rows * (4 * n_features + _ROW_BYTES + (0 if training.layout.tie is None else 8)),
        # The blocks of a task and the array of its rows, later the array and the support vectors of its cells.
        task_memory=_PYTHON_BYTES
        + 2 * largest * (4 * n_features + _ROW_BYTES)
        + max(pilot["cell_bytes"] for pilot in pilots),
        driver_memory=(resident_memory() or 0) + _COPIES * result_bytes + _score_bytes(training, n_rows),
        result_bytes=result_bytes,
        model_bytes=int(of_rows * sum(pilot["model_bytes"] for pilot in pilots)),
        n_workers=n_workers,
        seconds=ready - begin + training_seconds + _TASK_SECONDS * len(sizes) / n_workers,
        pilot_cells=total["trained"],
        pilot_seconds=time.perf_counter() - begin,
    )


def _result_bytes(training: Training, n_rows: int, n_cells: int) -> int:
    """Return the bytes of trees and, for classifications, of out-of-fold scores, targets and weights."""
    reduction = training.settings.cell.reduction
    per_row = 4 * reduction.n_scores + 16 if reduction.is_classification else 0
    return n_rows * per_row + n_cells * (4 * training.layout.n_features + _CELL_BYTES)


def _score_bytes(training: Training, n_rows: int) -> int:
    return _SCORE_BYTES * n_rows if training.settings.cell.reduction.is_classification else 0
