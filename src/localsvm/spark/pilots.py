"""Some cells of a few coarse cells, trained in tasks as a fit would train them.

Input: the rows of a fit and its coarse cells. Output: rows, cells, seconds and bytes of each of these coarse cells, if
all of its cells were trained. A forecast consists of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from localsvm.fit.partial import spread_by_size, training_seconds, work_ratio
from localsvm.fit.training import train_cells
from localsvm.spark.rows import Rows
from localsvm.spark.training import (
    ReadyCoarseCell,
    Training,
    arrow_schema,
    frame_schema,
    ready_coarse_cells,
    record_of,
    shuffled_rows,
)
from localsvm.storage.cell_record import CELL

_PILOT_TASKS, _PILOT_CELLS = 8, 4  # coarse cells, and cells of each of them

_PILOT = {
    "rows": "long",
    "cells": "long",
    "largest_cell": "long",
    "trained": "long",
    "seconds": "double",
    "model_bytes": "double",
    "cell_bytes": "long",  # memory of the cells that are trained at once
}


def train_pilots(rows: Rows, training: Training) -> list[dict[str, Any]]:
    """Train some cells of a few coarse cells; return what was seen of each coarse cell."""
    sizes = training.sized.sizes
    chosen = spread_by_size(sizes, _PILOT_TASKS)
    pilots = training.without(np.setdiff1d(np.arange(len(sizes)), chosen).tolist())
    frame = shuffled_rows(rows, pilots).mapInArrow(partial(_pilot_partition, pilots), frame_schema(_PILOT))
    found: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return found


def _pilot_partition(training: Training, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    begin = time.perf_counter()
    for ready in ready_coarse_cells(training, batches):
        values = _pilot(training, ready, time.perf_counter() - begin)
        yield pa.RecordBatch.from_pylist([values], schema=arrow_schema(_PILOT))


def _pilot(training: Training, ready: ReadyCoarseCell, passed: float) -> dict[str, Any]:
    """Train some cells whose targets differ: training the others takes no time."""
    sizes, plan = ready.sizes, ready.plan
    differ = np.array([n for n in range(len(sizes)) if not ready.tasks.agrees(n)], dtype=np.intp)
    chosen = differ[spread_by_size(sizes[differ], _PILOT_CELLS)]
    begin = time.perf_counter()
    cells = train_cells([ready.tasks[n] for n in chosen.tolist()], sizes[chosen], training.cell, plan)
    seconds = training_seconds(cells, time.perf_counter() - begin, plan)
    records = sum(len(record_of(CELL.write(cell))) for cell in cells)
    largest = int(sizes.max())
    n_threads = plan.n_threads if plan.folds_in_parallel else 1
    one = training.cell.bytes_needed(largest, training.layout.n_features, n_threads)
    stored = {"full": one.full, "kernel": one.kernel, "rows": plan.bytes_per_cell or one.smallest}
    return {
        "rows": int(sizes.sum()),
        "cells": len(sizes),
        "largest_cell": largest,
        "trained": len(cells),
        "seconds": passed + seconds * work_ratio(sizes[differ], sizes[chosen]),
        "model_bytes": records * work_ratio(sizes[differ], sizes[chosen], growth=1.0),
        "cell_bytes": plan.cells_at_once * stored[one.storage(plan.bytes_per_cell)],
    }
