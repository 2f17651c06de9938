"""What the models of classification and regression share: a table of cells, saved, loaded, transformed with."""

from __future__ import annotations

from typing import Any

from pyspark.ml.base import Model
from pyspark.sql import DataFrame

from localsvm.errors import InvalidData
from localsvm.estimators.base import LocalEstimator
from localsvm.partition.coarse import CoarseCells
from localsvm.spark.distributed import DistributedModel
from localsvm.spark.params import LocalSVMParams
from localsvm.spark.persistence import ModelReader, ParamsWriter, Storable
from localsvm.spark.predict import Outputs, transform


class LocalSVMModel(Model, LocalSVMParams, Storable):  # type: ignore[misc]
    """A fitted model, whose cells are a frame."""

    def __init__(self, distributed: DistributedModel | None = None) -> None:
        super().__init__()
        self._distributed = distributed

    @property
    def _parts(self) -> DistributedModel:
        if self._distributed is None:
            raise InvalidData(f"this {type(self).__name__} is empty: fit makes a model, and load reads one.")
        return self._distributed

    @property
    def numFeatures(self) -> int:
        """Number of features."""
        return self._parts.headline.model.n_features

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self._parts.headline.table)

    @property
    def cells(self) -> DataFrame:
        """One row per cell: its number, coarse cell, rows, radius, width, lam, cross-validated risk, record."""
        return self._parts.cells

    @property
    def coarse_cells(self) -> CoarseCells:
        """The coarse cells; a fit of one machine with them as its partition gives this model."""
        return self._parts.coarse

    @property
    def task_report(self) -> list[dict[str, Any]]:
        """One dict per training task, the largest first: rows, cells, seconds, host, attempt, when it ended."""
        return [dict(task) for task in self._parts.tasks]

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by phase; those of training are the sum over all tasks."""
        return dict(self._parts.headline.seconds)

    def toLocal(self) -> LocalEstimator:
        """Return the fitted estimator of one machine, for prediction, reports and model files without Spark."""
        return self._parts.local

    def release(self) -> None:
        """Let executors forget the cells of a large model, once it is saved; asking for them would train them again."""
        if self._parts.kept is not None:
            self._parts.kept.unpersist()

    def write(self) -> ParamsWriter:
        """Return the writer of this model."""
        return ParamsWriter(self, self._parts)

    @classmethod
    def read(cls) -> ModelReader:
        """Return the reader of such models."""
        return ModelReader(cls)

    def _outputs(self) -> Outputs:
        return Outputs(self.getPredictionCol())

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return transform(self._parts, dataset, self.getFeaturesCol(), self._outputs(), self._way())
