"""From trained cells to a model: what tasks left is gathered, the trees are joined, left-out samples decide.

Enters: the frame of trained cells. Leaves: `Assembled`: the model without its cells, and the frame of these. Cells come
to the driver at a glance, with the out-of-fold scores of classes, a few bytes for every row; their records come only if
they are few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from localsvm.cell.trained import PHASES
from localsvm.decision.decide import FittedDecision, OutOfFoldScores, fit_decision
from localsvm.errors import InvalidData
from localsvm.model.local_model import LocalModel
from localsvm.model.table import CellTable
from localsvm.partition.coarse import CoarseCells, join_trees
from localsvm.partition.voronoi import VoronoiPartition
from localsvm.spark.distributed import FINISHED, Finishing
from localsvm.spark.training import Training, arrow_schema
from localsvm.storage.cell_record import OUT_OF_FOLD
from localsvm.storage.parts import PARTITION

SMALL_MODEL = 64 << 20
"""Bytes up to which a model comes to the driver as soon as it is trained, so that no task is run twice for it."""

_BYTES_OF_A_CELL = 16 << 10  # beside its support vectors: risks and certificates of the grid

Row = dict[str, Any]


@dataclass(frozen=True)
class Trained:
    """Cells as tasks left them."""

    rows: list[Row]
    """In the order of coarse cells and places; with their records, or only the number of their bytes."""
    frame: DataFrame
    """Where they came from."""
    kept: bool
    """Whether the frame keeps the cells; if not, the driver has them."""

    @property
    def n_bytes(self) -> int:
        """Size of all records."""
        return sum(len(row["record"]) if "record" in row else row["bytes"] for row in self.rows)

    @property
    def seconds(self) -> dict[str, float]:
        """What training took, by phase, all cells together."""
        columns = zip(*(row["seconds"] for row in self.rows), strict=True)
        return dict(zip(PHASES, map(math.fsum, columns), strict=True))

    def report(self, training: Training) -> list[Row]:
        """Return rows, cells, seconds, place and attempt of every task, the largest first."""
        found: dict[int, Row] = {}
        for row in self.rows:
            task = found.setdefault(row["coarse"], {"cells": 0, "seconds": 0.0})
            task["cells"] += 1
            task["seconds"] += math.fsum(row["seconds"])
            task.update({name: row[name] for name in ("host", "attempt", "finished")})
        order = np.argsort(training.task_of).tolist()
        sizes = training.sized.sizes.tolist()
        return [{"task": task, "coarse": c, "rows": sizes[c], **found[c]} for task, c in enumerate(order)]


def gather(frame: DataFrame, training: Training, n_rows: int, checkpoint: str | None) -> Trained:
    """Train all cells: bring them to the driver if they are small, else keep them and bring what is needed."""
    n_columns = training.layout.n_features + training.settings.cell.reduction.columns_per_row
    bound = 4 * n_rows * n_columns + _BYTES_OF_A_CELL * len(training.sized.sizes)
    if checkpoint is None and bound <= SMALL_MODEL:
        return Trained(_rows(frame), frame, kept=False)
    if checkpoint is None:
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
    else:
        frame.write.mode("overwrite").parquet(checkpoint)
        kept = frame.sparkSession.read.parquet(checkpoint)
    return Trained(_rows(kept.withColumn("bytes", F.length("record")).drop("record")), kept, kept=True)


def _rows(frame: DataFrame) -> list[Row]:
    rows: list[Row] = frame.toArrow().to_pylist()
    return sorted(rows, key=lambda row: (row["coarse"], row["place"]))


@dataclass(frozen=True)
class Assembled:
    """A model, its cells apart."""

    model: LocalModel
    table: CellTable
    cells: DataFrame
    decision: FittedDecision
    coarse: CoarseCells


def assemble(trained: Trained, training: Training) -> Assembled:
    """Join the trees of all coarse cells, and let left-out samples decide."""
    reduction, n_features = training.settings.cell.reduction, training.layout.n_features
    partition, numbers = join_trees(training.sized.coarse, _trees(trained.rows, training))
    in_order = sorted(trained.rows, key=lambda row: int(numbers[row["coarse"]][row["place"]]))
    decision = _judge(in_order, training)
    light = FittedDecision(decision.reduction, machine=decision.machine)
    finishing = Finishing(numbers, reduction, light, n_features)
    if trained.kept:
        cells = finishing.cells_of(trained.frame)
        rows = in_order if decision.machine is None else _finished_rows(cells, in_order)
    else:
        rows = [finishing.row(row) for row in in_order]
        cells = _local_frame(rows, trained.frame.sparkSession)
    model = LocalModel(
        n_features, training.scaling, partition, decision.reduction, (), calibration=decision.calibration
    )
    return Assembled(
        model,
        CellTable.of_rows([{**row, "size": row["rows"]} for row in rows]),
        cells,
        decision,
        training.sized.coarse,
    )


def _trees(rows: list[Row], training: Training) -> list[VoronoiPartition]:
    """Return the tree of every coarse cell; that of one that is a cell has no nodes."""
    sized, n_features = training.sized, training.layout.n_features
    cells: dict[int, list[Row]] = {}
    for row in rows:
        cells.setdefault(row["coarse"], []).append(row)
    trees = []
    for coarse in range(len(sized.sizes)):
        if coarse not in cells:
            raise InvalidData(
                f"coarse cell {coarse} had {sized.sizes[coarse]} rows and has none now: the frame gives other rows "
                "when it is read again. Cache it, or write it to files first."
            )
        record = cells[coarse][0]["tree"]
        if record is None:
            centre = sized.coarse.center(coarse)[None, :]
            trees.append(VoronoiPartition(centre, sized.radii[[coarse]], ()))
        else:
            what = f"the tree of coarse cell {coarse}"
            tree = PARTITION.unpack(record, what, n_cells=len(cells[coarse]), n_features=n_features)
            assert isinstance(tree, VoronoiPartition)
            trees.append(tree)
    return trees


def _judge(rows: list[Row], training: Training) -> FittedDecision:
    settings = training.settings
    reduction = settings.cell.reduction
    if not reduction.is_classification:
        return FittedDecision(reduction)
    parts = [_left_out(row["left_out"], reduction.n_scores) for row in rows if row["left_out"] is not None]
    factors = settings.factors if settings.class_factor else None
    return fit_decision(
        OutOfFoldScores.of(parts, factors, averaged=False, cell_weight=1.0), reduction, settings.decision
    )


def _left_out(record: bytes, n_scores: int) -> Any:
    return OUT_OF_FOLD.unpack(record, "the out-of-fold scores of a cell", n_scores=n_scores)


def _finished_rows(cells: DataFrame, rows: list[Row]) -> list[Row]:
    """Return rows with the support vectors that are left when one machine of several stays."""
    counts = cells.select("cell", "support_vectors").toArrow().sort_by("cell").column("support_vectors").to_pylist()
    return [{**row, "support_vectors": count} for row, count in zip(rows, counts, strict=True)]


def _local_frame(rows: list[Row], session: SparkSession) -> DataFrame:
    columns = [{name: row[name] for name in FINISHED} for row in rows]
    return session.createDataFrame(pa.Table.from_pylist(columns, schema=arrow_schema(FINISHED)))
