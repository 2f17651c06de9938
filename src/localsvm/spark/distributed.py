"""The distributed model: a data frame of cells, and on the driver everything that the cells share.

Input: the data frame of trained cells. Output: `Assembled`, from which a fit makes a `DistributedModel`. The driver
collects a summary of every cell and, for classifications, the out-of-fold scores of all rows; it collects the records
of the cells only if they are small. A `DistributedModel` is converted on demand to the fitted estimator of `localsvm`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from localsvm.cell.trained import PHASES, TrainedCell
from localsvm.decision.decide import FittedDecision, OutOfFoldScores, fit_decision
from localsvm.errors import InvalidData, InvalidFile
from localsvm.model.local_model import LocalModel
from localsvm.model.table import CellTable
from localsvm.partition.coarse import CoarseCells, join_trees
from localsvm.partition.voronoi import VoronoiPartition
from localsvm.spark.checkpoint import train_missing
from localsvm.spark.folders import files_in
from localsvm.spark.results import collect_rows
from localsvm.spark.rows import Rows
from localsvm.spark.sending import ModelFile
from localsvm.spark.summary import class_measures
from localsvm.spark.training import COLUMNS, Training, arrow_schema, frame_schema, record_of, trained_cells
from localsvm.storage.cell_record import CELL, OUT_OF_FOLD
from localsvm.storage.model_file import StoredModel, model_bytes
from localsvm.storage.parts import PARTITION
from localsvm.tasks import Reduction

if TYPE_CHECKING:
    from localsvm.estimators.base import LocalEstimator

SMALL_MODEL = 64 << 20
"""Bytes up to which the driver holds the cells: no task runs twice for them, and no file is read again."""

FINISHED = {"cell": "int", **{name: kind for name, kind in COLUMNS.items() if name != "out_of_fold"}}
"""A cell of the model as a row of a data frame; `cell` is its number in the model."""

_BYTES_PER_CELL = 16 << 10  # besides support vectors: risks and certificates of the grid

Row = dict[str, Any]


# ----------------------------------------------------------------------------------- trained cells


@dataclass(frozen=True)
class Trained:
    """Trained cells."""

    rows: list[Row]
    """In the order of coarse cells and places; with the records of the cells, or only their sizes in bytes."""
    frame: DataFrame
    kept: bool
    """Whether executors or files store the cells; if not, the driver has them."""

    @property
    def n_bytes(self) -> int:
        """Size of all records."""
        return sum(len(row["record"]) if "record" in row else row["bytes"] for row in self.rows)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of training by phase, summed over all cells."""
        columns = zip(*(row["seconds"] for row in self.rows), strict=True)
        return dict(zip(PHASES, map(math.fsum, columns), strict=True))

    def report(self, training: Training) -> list[Row]:
        """Return rows, cells, seconds, host and attempt of every task, largest first."""
        found: dict[int, Row] = {}
        for row in self.rows:
            task = found.setdefault(row["coarse"], {"cells": 0, "seconds": 0.0})
            task["cells"] += 1
            task["seconds"] += math.fsum(row["seconds"])
            task.update({name: row[name] for name in ("host", "attempt", "finished")})
        sizes = training.sized.sizes.tolist()
        order = training.coarse_of.tolist()
        return [{"task": task, "coarse": c, "rows": sizes[c], **found[c]} for task, c in enumerate(order)]


def gather(rows: Rows, training: Training, checkpoint: str | None) -> Trained:
    """Train all cells; collect them on the driver if they are small, else store them and collect their summaries."""
    frame = trained_cells(rows, training) if checkpoint is None else train_missing(checkpoint, rows, training)
    n_columns = training.layout.n_features + training.settings.cell.reduction.columns_per_row
    if is_small(4 * rows.n_rows * n_columns + _BYTES_PER_CELL * len(training.sized.sizes)):
        return Trained(_in_order(frame.toArrow().to_pylist()), frame, kept=False)
    kept = frame.persist(StorageLevel.MEMORY_AND_DISK) if checkpoint is None else frame
    summaries = kept.withColumn("bytes", F.length("record")).drop("record")
    return Trained(_in_order(collect_rows(summaries, "coarse", ["tree", "out_of_fold"])), kept, kept=True)


def is_small(n_bytes: int) -> bool:
    """Return whether the driver holds cells of this size."""
    return n_bytes <= SMALL_MODEL


def _in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["coarse"], row["place"]))


# --------------------------------------------------------------------------------------- assembly


@dataclass(frozen=True)
class Assembled:
    """A model and, apart from it, its cells."""

    model: LocalModel
    table: CellTable
    cells: DataFrame
    decision: FittedDecision
    measures: dict[str, Any] | None
    """Of out-of-fold predictions, for classifications."""
    coarse: CoarseCells


def assemble(trained: Trained, training: Training) -> Assembled:
    """Join the trees of all coarse cells, and fit the decision to the out-of-fold scores."""
    settings, n_features = training.settings, training.layout.n_features
    reduction = settings.cell.reduction
    partition, numbers = join_trees(training.sized.coarse, _trees(trained.rows, training))
    in_order = sorted(trained.rows, key=lambda row: int(numbers[row["coarse"]][row["place"]]))
    scores = _out_of_fold_scores(in_order, training)
    decision = FittedDecision(reduction) if scores is None else fit_decision(scores, reduction, settings.decision)
    n_classes = len(training.layout.classes or ())
    measures = None if scores is None else class_measures(scores, decision, n_classes)
    light = FittedDecision(decision.reduction, machine=decision.machine)  # tasks need no scores
    finishing = Finishing(numbers, reduction, light, n_features)
    if trained.kept:
        cells = finishing.cells_of(trained.frame)
        rows = in_order if decision.machine is None else _with_support_vectors(in_order, cells)
    else:
        rows = [finishing.row(row) for row in in_order]
        cells = _local_frame(rows, trained.frame.sparkSession)
    model = LocalModel(
        n_features, training.scaling, partition, decision.reduction, (), calibration=decision.calibration
    )
    table = CellTable.of_rows([{**row, "size": row["rows"]} for row in rows])
    return Assembled(model, table, cells, decision, measures, training.sized.coarse)


def _trees(rows: list[Row], training: Training) -> list[VoronoiPartition]:
    """Return the tree of every coarse cell; without nodes if the coarse cell is a cell."""
    sized, n_features = training.sized, training.layout.n_features
    cells: dict[int, list[Row]] = {}
    for row in rows:
        cells.setdefault(row["coarse"], []).append(row)
    trees = []
    for coarse in range(len(sized.sizes)):
        if coarse not in cells:
            raise InvalidData(
                f"coarse cell {coarse} had {sized.sizes[coarse]} rows at first, and none in training: the data frame "
                "is not deterministic. Cache it, or write it to files first."
            )
        record = cells[coarse][0]["tree"]
        if record is None:
            center = sized.coarse.center(coarse)[None, :]
            trees.append(VoronoiPartition(center, sized.radii[[coarse]], ()))
        else:
            what = f"the tree of coarse cell {coarse}"
            tree = PARTITION.unpack(record, what, n_cells=len(cells[coarse]), n_features=n_features)
            assert isinstance(tree, VoronoiPartition)
            trees.append(tree)
    return trees


def _out_of_fold_scores(rows: list[Row], training: Training) -> OutOfFoldScores | None:
    settings = training.settings
    reduction = settings.cell.reduction
    if not reduction.is_classification:
        return None
    parts = [_out_of_fold(row["out_of_fold"], reduction.n_scores) for row in rows if row["out_of_fold"] is not None]
    factors = settings.factors if settings.class_factor else None
    return OutOfFoldScores.of(parts, factors, averaged=False, cell_weight=1.0)


def _out_of_fold(record: bytes, n_scores: int) -> Any:
    return OUT_OF_FOLD.unpack(record, "the out-of-fold scores of a cell", n_scores=n_scores)


def _with_support_vectors(rows: list[Row], cells: DataFrame) -> list[Row]:
    """Return rows with the numbers of support vectors after the operating point has selected one function."""
    counts = cells.select("cell", "support_vectors").toArrow().sort_by("cell").column("support_vectors").to_pylist()
    return [{**row, "support_vectors": count} for row, count in zip(rows, counts, strict=True)]


def _local_frame(rows: list[Row], session: SparkSession) -> DataFrame:
    columns = [{name: row[name] for name in FINISHED} for row in rows]
    return session.createDataFrame(pa.Table.from_pylist(columns, schema=arrow_schema(FINISHED)))


@dataclass(frozen=True)
class Finishing:
    """Turns trained cells into cells of the model: numbers them, and keeps the functions that the decision selected."""

    numbers: list[NDArray[np.int64]]
    """By coarse cell and place."""
    reduction: Reduction
    """Of the training."""
    decision: FittedDecision
    n_features: int

    def cells_of(self, trained: DataFrame) -> DataFrame:
        """Return the data frame of the model's cells."""
        return trained.mapInArrow(partial(_finish_partition, self), frame_schema(FINISHED))

    def row(self, row: Row) -> Row:
        """Return a trained cell's row as a row of the model."""
        number = int(self.numbers[row["coarse"]][row["place"]])
        cell = self.decision.of_cell(read_row({**row, "cell": number}, self.reduction, self.n_features))
        record = record_of(CELL.write(replace(cell, number=number)))
        return {**row, "cell": number, "record": record, "support_vectors": cell.n_support}


def _finish_partition(finishing: Finishing, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(FINISHED)
    for batch in batches:
        for row in batch.to_pylist():
            values = finishing.row(row)
            yield pa.RecordBatch.from_pylist([{name: values[name] for name in FINISHED}], schema=schema)


def read_row(row: Mapping[str, Any], reduction: Reduction, n_features: int) -> TrainedCell:
    """Return the cell of a row."""
    what = f"cell {row['cell']} of the model"
    cell = CELL.unpack(row["record"], what, n_features=n_features, n_outputs=reduction.n_outputs)
    return replace(cell, seconds=dict(zip(PHASES, row["seconds"], strict=True)))


# ------------------------------------------------------------------------------------------ model


@dataclass(frozen=True)
class CellFiles:
    """Where a loaded model reads its cells, if the driver does not hold them."""

    folder: str
    copied: DataFrame | None
    """A copy in the executors, for models whose files a writer of Spark may delete before they are saved again."""


@dataclass(eq=False)
class DistributedModel:
    """A fitted model whose cells are a data frame; it changes only where it reads them, when its files are replaced."""

    headline: StoredModel
    """Everything but the cells."""
    coarse: CoarseCells
    frame: DataFrame
    """The cells, with the columns of `FINISHED`."""
    n_bytes: int
    """Size of the records of all cells."""
    tasks: list[Row]
    """Rows, cells, seconds, host and attempt of every task."""
    kept: DataFrame | None = None
    """The frame that executors keep, if there is one."""
    files: CellFiles | None = None
    """Files of the cells, of a large model that was loaded."""

    @property
    def cells(self) -> DataFrame:
        """The data frame of the cells; their copy, if there is one and the files are gone."""
        copied = None if self.files is None else self.files.copied
        if self.files is None or copied is None or files_in(self.files.folder, self.frame.sparkSession):
            return self.frame
        return copied

    @cached_property
    def estimator(self) -> LocalEstimator:
        """The fitted estimator of `localsvm`, without cells."""
        return _estimator_of(self.headline)

    @cached_property
    def local(self) -> LocalEstimator:
        """The fitted estimator of `localsvm`, in the memory of the driver."""
        reduction, n_features = self.headline.model.reduction, self.headline.model.n_features
        frame = self.cells.select("cell", "seconds", "record")
        small = is_small(self.n_bytes)
        rows = frame.toArrow().to_pylist() if small else collect_rows(frame, "cell", ["record"])
        rows.sort(key=lambda row: int(row["cell"]))
        self.check_cells([row["cell"] for row in rows])
        cells = tuple(read_row(row, reduction, n_features) for row in rows)
        return _estimator_of(replace(self.headline, model=replace(self.headline.model, cells=cells)))

    @cached_property
    def file(self) -> ModelFile:
        """The model file, for tasks that predict."""
        return ModelFile(model_bytes(self.local.model_))

    def check_cells(self, numbers: list[int]) -> None:
        """Raise unless these are the numbers of all cells, each once."""
        n_cells, present = len(self.headline.table), set(numbers)
        if sorted(numbers) != list(range(n_cells)):
            twice = f", and {len(numbers) - len(present)} more than once" if len(numbers) > len(present) else ""
            raise InvalidFile(
                f"the model has {len(present)} of its {n_cells} cells{twice}. Save the model again, or copy all of it."
            )


def _estimator_of(stored: StoredModel) -> LocalEstimator:
    from localsvm.estimators.stored import estimator_of  # imports scikit-learn, which tasks do not need

    return estimator_of(stored, "the model")
