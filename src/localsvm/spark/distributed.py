"""A fitted model that stays where it was trained: a frame of cells, and on the driver all that they share.

Enters: trained cells. Leaves: a `DistributedModel`, which is saved and loaded as parquet, and comes to the driver as
the estimator of one machine when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from localsvm.cell.trained import PHASES, TrainedCell
from localsvm.decision.decide import FittedDecision
from localsvm.errors import InvalidFile
from localsvm.partition.coarse import CoarseCells
from localsvm.spark.training import COLUMNS, arrow_schema, frame_schema, record_of
from localsvm.storage.cell_record import CELL
from localsvm.storage.model_file import StoredModel, headline_values, read_headline
from localsvm.storage.parts import COARSE
from localsvm.storage.record import unpack
from localsvm.storage.schema import Fields, integer, maybe
from localsvm.tasks import Reduction

if TYPE_CHECKING:
    from localsvm.estimators.base import LocalEstimator

FINISHED = {"cell": "int", **{name: kind for name, kind in COLUMNS.items() if name != "left_out"}}
"""A cell of a model as a row of a frame: `cell` is its number among all."""

_DAMAGED = "Save the model again, or copy all of it."


def _estimator_of(stored: StoredModel) -> LocalEstimator:
    from localsvm.estimators.stored import estimator_of  # with scikit-learn, which tasks on the workers do without

    return estimator_of(stored, "the model")


@dataclass(frozen=True)
class DistributedModel:
    """All of a model."""

    headline: StoredModel
    """Without cells."""
    coarse: CoarseCells
    cells: DataFrame
    """As `FINISHED` has them."""
    n_bytes: int
    """Of the records of all cells."""
    tasks: list[dict[str, Any]]
    """Rows, cells, seconds and place of every task."""
    kept: DataFrame | None = None
    """What executors keep of the cells."""

    @cached_property
    def estimator(self) -> LocalEstimator:
        """The estimator of one machine, fitted, but without cells."""
        return _estimator_of(self.headline)

    @cached_property
    def local(self) -> LocalEstimator:
        """The estimator of one machine, fitted; its cells are in the memory of the driver."""
        reduction, n_features = self.headline.model.reduction, self.headline.model.n_features
        rows = self.cells.select("cell", "seconds", "record").toArrow().sort_by("cell").to_pylist()
        if [row["cell"] for row in rows] != list(range(len(self.headline.table))):
            raise InvalidFile(f"the model has {len(rows)} of its {len(self.headline.table)} cells. {_DAMAGED}")
        cells = tuple(read_row(row, reduction, n_features) for row in rows)
        return _estimator_of(replace(self.headline, model=replace(self.headline.model, cells=cells)))

    def save(self, path: str, mode: str, session: SparkSession) -> None:
        """Write the cells and the headline, each as parquet."""
        self.cells.write.mode(mode).parquet(f"{path}/cells")
        values = {
            **headline_values(self.headline),
            "coarse": COARSE.write(self.coarse) if self.coarse.nodes else None,
            "n_bytes": self.n_bytes,
            "tasks": self.tasks,
        }
        row = pa.table({"headline": pa.array([record_of(values)], pa.binary())})
        session.createDataFrame(row).coalesce(1).write.mode(mode).parquet(f"{path}/headline")

    @classmethod
    def load(cls, path: str, session: SparkSession) -> DistributedModel:
        """Read what `save` wrote; the cells stay in their files until they are asked for."""
        record = session.read.parquet(f"{path}/headline").toArrow().column("headline").to_pylist()
        if len(record) != 1:
            raise InvalidFile(f"{path!r} has {len(record)} headlines of a model instead of one. {_DAMAGED}")
        fields = Fields(unpack(record[0], f"the headline of {path!r}"), repr(path))
        headline = read_headline(fields)
        return cls(
            headline=headline,
            coarse=fields.read("coarse", maybe(COARSE), n_features=headline.model.n_features) or CoarseCells(),
            cells=session.read.parquet(f"{path}/cells"),
            n_bytes=fields.read("n_bytes", integer()),
            tasks=fields.typed("tasks", list),
        )


def read_row(row: Mapping[str, Any], reduction: Reduction, n_features: int) -> TrainedCell:
    """Return the cell of a row."""
    what = f"cell {row['cell']} of the model"
    cell = CELL.unpack(row["record"], what, n_features=n_features, n_outputs=reduction.n_outputs)
    return replace(cell, seconds=dict(zip(PHASES, row["seconds"], strict=True)))


@dataclass(frozen=True)
class Finishing:
    """What becomes of trained cells when all are known: a number among all, and one machine of several."""

    numbers: list[NDArray[np.int64]]
    """By coarse cell and place."""
    reduction: Reduction
    """That the cells were trained for."""
    decision: FittedDecision
    n_features: int

    def cells_of(self, trained: DataFrame) -> DataFrame:
        """Return the cells of the model, made of trained ones when they are asked for."""
        return trained.mapInArrow(partial(_finish_partition, self), frame_schema(FINISHED))

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row of the model of that of a trained cell."""
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
