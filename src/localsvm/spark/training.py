"""Training: one shuffle, then every task trains the coarse cell that it has received, with the code of `LocalSVC`.

Input: the rows of a fit and the coarse cells. Output: a data frame of trained cells, one row per cell: its summary, its
record, and what the driver needs for the decision. Tasks are numbered by size: the largest coarse cells start first.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import DataFrame

from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import PHASES, TrainedCell
from localsvm.data.content import content_hash
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import Scaling
from localsvm.fit.memory import MemoryLimit, MemoryPlan, available_memory, plan_memory
from localsvm.fit.prepare import CellTasks, TargetRows
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import train_cells
from localsvm.model.table import cell_row
from localsvm.partition.base import Members
from localsvm.partition.voronoi import SplitLimit, VoronoiPartition, build_voronoi
from localsvm.spark.coarse import Sized
from localsvm.spark.content import check_rows
from localsvm.spark.rows import BLOCK_SCHEMA, Block, Layout, Rows, read_blocks, write_blocks
from localsvm.storage.cell_record import CELL, OUT_OF_FOLD
from localsvm.storage.parts import PARTITION
from localsvm.storage.record import pack

COLUMNS = {
    "coarse": "int",
    "place": "int",  # number of the cell within its coarse cell
    "rows": "long",
    "radius": "double",
    "total_weight": "double",
    "risk": "double",
    "risk_error": "double",
    "width": "array<double>",
    "lam": "array<double>",
    "support_vectors": "long",
    "seconds": "array<double>",
    "host": "string",
    "attempt": "int",
    "finished": "double",
    "record": "binary",
    "tree": "binary",  # partition of the coarse cell, only in the row of its first cell
    "out_of_fold": "binary",  # scores, only of classifications
}
"""A trained cell as a row of a data frame."""

_ARROW_TYPES = {
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "array<double>": pa.list_(pa.float64()),
    "string": pa.string(),
    "binary": pa.binary(),
}


def frame_schema(columns: dict[str, str]) -> str:
    """Return columns as a schema of Spark."""
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def arrow_schema(columns: dict[str, str]) -> pa.Schema:
    """Return columns as a schema of Arrow."""
    return pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in columns.items()])


@dataclass(frozen=True)
class Training:
    """Everything a task needs to route rows to coarse cells, and to train them."""

    settings: FitSettings
    cell: CellSettings
    """Settings of the cells, with the kernel of the metric."""
    limit: SplitLimit
    """What a cell may not exceed."""
    scaling: Scaling
    sized: Sized
    layout: Layout
    trained: frozenset[int] = frozenset()
    """Coarse cells that a checkpoint has."""

    @property
    def coarse_of(self) -> NDArray[np.intp]:
        """Coarse cell of every task, in descending order of size."""
        order = np.argsort(-self.sized.sizes, kind="stable")
        return order[~np.isin(order, list(self.trained))]

    @property
    def n_tasks(self) -> int:
        """Number of coarse cells to train."""
        return len(self.sized.sizes) - len(self.trained)

    def without(self, trained: Iterable[int]) -> Training:
        """Return the training of all other coarse cells."""
        return replace(self, trained=frozenset(trained))

    def is_cell(self, coarse: int) -> bool:
        """Return whether a coarse cell is small enough to be a cell."""
        found = self.sized
        return bool(found.coarse.nodes) and self.limit.allows(int(found.sizes[coarse]), float(found.radii[coarse]))

    def check_content(self, coarse: int, block: Block) -> None:
        """Raise unless the rows of a coarse cell are those that were counted."""
        expected = int(self.sized.sizes[coarse]), int(self.sized.checksums[coarse])
        checksum = self.layout.checksums(block.rows, block.hashes).sum()
        check_rows(f"coarse cell {coarse}", expected, (len(block), int(checksum)))


def trained_cells(rows: Rows, training: Training) -> DataFrame:
    """Return the data frame of trained cells; Spark trains them when the frame is evaluated."""
    return shuffled_rows(rows, training).mapInArrow(partial(_train_partition, training), frame_schema(COLUMNS))


def shuffled_rows(rows: Rows, training: Training) -> DataFrame:
    """Return the rows of the coarse cells to train as blocks, one partition per task."""
    blocks = rows.frame.mapInArrow(partial(_assigned_blocks, training), BLOCK_SCHEMA)
    return blocks.repartitionById(training.n_tasks, "part")


def _assigned_blocks(training: Training, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    tasks = np.full(len(training.sized.sizes), -1, dtype=np.int32)
    tasks[training.coarse_of] = np.arange(training.n_tasks, dtype=np.int32)
    for rows in training.layout.rows(batches):
        X = training.scaling.apply(rows.X)
        hashes = content_hash(rows.X, training.settings.seed)
        block = Block(replace(rows, X=X), hashes, np.ones(len(X), dtype=np.int64))
        task = tasks[training.sized.coarse.assign(X)]
        if training.trained:
            block, task = block[task >= 0], task[task >= 0]
        yield from write_blocks(block, task, training.n_tasks)


def _train_partition(training: Training, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for ready in ready_coarse_cells(training, batches):
        yield from _train_coarse_cell(training, ready)


@dataclass(frozen=True)
class ReadyCoarseCell:
    """A coarse cell in its task, cut into cells that can be trained."""

    coarse: int
    tree: VoronoiPartition | None
    """None if the coarse cell is a cell."""
    sizes: NDArray[np.intp]
    """Rows of the cells."""
    tasks: CellTasks
    plan: MemoryPlan


def ready_coarse_cells(training: Training, batches: Iterable[pa.RecordBatch]) -> Iterator[ReadyCoarseCell]:
    """Yield the coarse cells of a partition of `shuffled_rows`, in its task; raise if their rows have changed."""
    coarse_of, settings, n_threads = training.coarse_of, training.settings, _context().cpus()
    for task, block in read_blocks(batches, training.layout.n_features, np.float32).items():
        coarse = int(coarse_of[task])
        training.check_content(coarse, block)
        rows = ScaledRows(block.rows.X)
        tree, members = _cut(training, coarse, rows, block.hashes, n_threads)
        memory = MemoryLimit.of(settings.max_memory or _memory_of_task(n_threads))
        plan = plan_memory(members.sizes, rows.n_features, training.cell, n_threads, memory)
        data = TargetRows(block.rows.X, block.rows.y, block.rows.weight, ties=training.layout.ties(block.rows))
        tasks = CellTasks(rows, data, members, settings)
        yield ReadyCoarseCell(coarse, tree, members.sizes, tasks, plan)


def _train_coarse_cell(training: Training, ready: ReadyCoarseCell) -> Iterator[pa.RecordBatch]:
    where = {"coarse": ready.coarse, "host": socket.gethostname(), "attempt": _context().attemptNumber()}
    for cell in train_cells(ready.tasks, ready.sizes, training.cell, ready.plan):
        tree = PARTITION.write(ready.tree) if cell.number == 0 and ready.tree is not None else None
        values = {**where, **_summary(cell), **_records(cell, training.settings, tree), "finished": time.time()}
        yield pa.RecordBatch.from_pylist([values], schema=arrow_schema(COLUMNS))


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context


def _cut(
    training: Training, coarse: int, rows: ScaledRows, hashes: NDArray[np.uint64], n_threads: int
) -> tuple[VoronoiPartition | None, Members]:
    if training.is_cell(coarse):
        return None, Members(np.arange(len(rows)), np.array([len(rows)]))
    with ThreadPoolExecutor(n_threads) as pool:
        return build_voronoi(rows, hashes, training.limit, pool.map)


def _memory_of_task(n_threads: int) -> int | None:
    """Return the memory of the worker in proportion to the cores of the task; None if it is unknown."""
    import joblib  # takes a moment, which only tasks that train need to wait

    available = available_memory()
    return None if available is None else available * n_threads // max(joblib.cpu_count(), n_threads)


def _summary(cell: TrainedCell) -> dict[str, Any]:
    row = cell_row(cell)
    return {"place": cell.number, "rows": row.pop("size"), **row, "seconds": [cell.seconds[phase] for phase in PHASES]}


def _records(cell: TrainedCell, settings: FitSettings, tree: dict[str, Any] | None) -> dict[str, bytes | None]:
    scores = cell.out_of_fold if settings.cell.reduction.is_classification else None
    return {
        "record": record_of(CELL.write(cell)),
        "out_of_fold": None if scores is None else record_of(OUT_OF_FOLD.write(scores)),
        "tree": None if tree is None else record_of(tree),
    }


def record_of(value: object) -> bytes:
    """Return a plain value as the bytes of a record."""
    return b"".join(pack(value))
