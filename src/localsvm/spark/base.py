"""What estimators and models on Spark have in common: parameters, saving and loading, the API of a fitted model.

Parameters are those of `pyspark.ml`; their values are plain, so that they can be saved as JSON. Their defaults are
those of the estimators of `localsvm`, which also check the values. Estimators and models are written and read as data
frames, in a directory of any file system of Spark: this works in Connect mode and for models of any size.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
from pyspark.ml.base import Estimator, Model
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasWeightCol
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame, SparkSession

from localsvm.cell.grid import Grid
from localsvm.errors import InvalidData, InvalidFile, InvalidParameter
from localsvm.estimators.base import LocalEstimator
from localsvm.estimators.parameters import check_choice, check_integer
from localsvm.partition.coarse import CoarseCells
from localsvm.partition.voronoi import LARGEST_TRAVERSAL
from localsvm.spark.distributed import DistributedModel
from localsvm.spark.failures import errors_of_tasks
from localsvm.spark.fit import FitPlan, fit_distributed
from localsvm.spark.forecast import DistributedForecast, forecast_distributed
from localsvm.spark.predict import Outputs, predict_vector, transform
from localsvm.spark.rows import FeatureColumns, TieColumn
from localsvm.spark.saved import Version, find_version, load_model, save_model, save_parameters
from localsvm.spark.summary import TrainingSummary

# ------------------------------------------------------------------------------------- parameters


def param(name: str, doc: str, convert: Any = None) -> Param[Any]:
    """Return a parameter; `convert` returns its values as JSON can hold them."""
    return Param(Params._dummy(), name, doc, typeConverter=convert or _plain)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _grid(value: Any) -> Any:
    return asdict(value) if isinstance(value, Grid) else _plain(value)


def _numbers(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else np.asarray(value, dtype=np.float64).tolist()


def _name(value: Any) -> str:
    return "" if value is None else str(value)  # as in Spark, where "" is no column


def _names(value: Any) -> FeatureColumns:
    return value if isinstance(value, str) else [str(name) for name in value]


class LocalSVMParams(HasLabelCol, HasPredictionCol, HasWeightCol):  # type: ignore[misc]
    """Parameters of all estimators and models."""

    _local: ClassVar[type[LocalEstimator]]
    """Estimator of `localsvm` whose defaults these are."""

    featuresCol = param("featuresCol", "features: a column of vectors or arrays, or a list of columns", _names)
    groupsCol = param("groupsCol", "groups, whose rows share a fold", _name)
    timeCol = param("timeCol", "times, whose blocks are folds", _name)
    cell_size = param("cell_size", "maximum number of rows of a cell; 'auto': 5000, down to 2000 beyond 50 000 rows")
    coarse_size = param("coarse_size", "maximum number of rows of a coarse cell, which one task trains")
    n_folds = param("n_folds", "number of folds of the cross-validation in a cell")
    grid = param("grid", "grid of widths and lams: 10, 15, 20, a Grid, or None", _grid)
    kernel = param("kernel", "'auto', 'gauss', 'laplace' or 'manhattan'")
    relevance = param("relevance", "'auto', None, or a weight for every feature", _numbers)
    scaling = param("scaling", "'auto', 'minmax', 'standard', 'quantile' or None")
    search = param("search", "'auto', 'full' or 'racing'")
    refit = param("refit", "'combine', 'retrain', or 'blend' for regression")
    max_memory = param("max_memory", "memory of a task, such as '4GB'; None: in proportion to its cores")
    random_state = param("random_state", "seed, an integer")
    checkpoint = param("checkpoint", "directory of trained cells, with which an interrupted fit continues")
    transform_by = param("transform_by", "'auto', 'broadcast' or 'shuffle'")

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            featuresCol="features", groupsCol="", timeCol="", coarse_size=LARGEST_TRAVERSAL, transform_by="auto"
        )
        self._setDefault(**{name: value for name, value in self._local().get_params().items() if self.hasParam(name)})

    def setParams(self, **values: Any) -> Self:
        """Set parameters by name."""
        unknown = sorted(name for name in values if not self.hasParam(name))
        if unknown:
            known = ", ".join(param.name for param in self.params)
            raise InvalidParameter(f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {known}.")
        if values.get("weightCol", "") is None:
            values["weightCol"] = ""  # as in Spark: all weights are 1
        self._set(**values)
        return self

    def getFeaturesCol(self) -> FeatureColumns:
        """Return the name of the column of features, or the names of several."""
        found: FeatureColumns = self.getOrDefault(self.featuresCol)
        return found

    def setFeaturesCol(self, value: FeatureColumns) -> Self:
        """Set the column of features, or a list of columns."""
        return self.setParams(featuresCol=value)

    def setLabelCol(self, value: str) -> Self:
        """Set the column of labels or targets."""
        return self.setParams(labelCol=value)

    def setWeightCol(self, value: str) -> Self:
        """Set the column of weights."""
        return self.setParams(weightCol=value)

    def setGroupsCol(self, value: str | None) -> Self:
        """Set the column of groups."""
        return self.setParams(groupsCol=value)

    def setTimeCol(self, value: str | None) -> Self:
        """Set the column of times."""
        return self.setParams(timeCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """Set the column of predictions."""
        return self.setParams(predictionCol=value)

    def _fit_plan(self) -> FitPlan:
        weight = self.getOrDefault(self.weightCol) if self.isDefined(self.weightCol) else None
        return FitPlan(
            features=self.getFeaturesCol(),
            label=self.getLabelCol(),
            weight=weight or None,
            tie=self._tie_column(),
            coarse_size=check_integer("coarse_size", self.getOrDefault(self.coarse_size), 1),
            checkpoint=self.getOrDefault(self.checkpoint),
        )

    def _tie_column(self) -> TieColumn | None:
        groups, time = self.getOrDefault(self.groupsCol), self.getOrDefault(self.timeCol)
        if groups and time:
            raise InvalidParameter(
                f"groupsCol={groups!r} and timeCol={time!r} are both set: a fold is of groups or of a block of time. "
                "Set one."
            )
        return TieColumn(groups or time, ordered=not groups) if groups or time else None

    def _parameters_of(self, kind: type[LocalEstimator]) -> dict[str, Any]:
        """Return the parameters for an estimator of `localsvm`, of one model; tasks write its checkpoints."""
        names = [name for name in kind().get_params() if self.hasParam(name) and name != "checkpoint"]
        values = {name: self.getOrDefault(name) for name in names}
        grid = Grid(**values["grid"]) if isinstance(values["grid"], dict) else values["grid"]
        return {**values, "grid": grid, "members": 1}


# ------------------------------------------------------------------------------- saving and loading


def read_metadata(path: str, session: SparkSession) -> tuple[dict[str, Any], Version | None]:
    """Return class and parameters of what was saved, and the version of it if it is a model."""
    saved = find_version(path, session)
    if saved is None:
        return DefaultParamsReader.loadMetadata(path, session), None
    return DefaultParamsReader._parseMetaData(saved.metadata), saved


class ParamsWriter(MLWriter):  # type: ignore[misc]
    """Writes the parameters of an estimator as JSON, and the tables of a model as parquet."""

    def __init__(self, instance: Any, distributed: DistributedModel | None = None) -> None:
        super().__init__()
        self._instance, self._distributed = instance, distributed

    def save(self, path: str) -> None:
        """Write to a directory; an existing one is an error unless `overwrite` was called."""
        session, overwrite = self.sparkSession, self.shouldOverwrite
        metadata = DefaultParamsWriter._get_metadata_to_save(self._instance, session)
        if self._distributed is None:
            save_parameters(path, metadata, session, overwrite=overwrite)
        else:
            save_model(self._distributed, path, metadata, session, overwrite=overwrite)


class ParamsReader(MLReader):  # type: ignore[misc]
    """Reads an estimator or a model."""

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        """Read what `ParamsWriter` wrote; the cells of a large model are read when they are needed."""
        metadata, saved = read_metadata(path, self.sparkSession)
        name = f"{self._kind.__module__}.{self._kind.__name__}"
        if metadata["class"] != name:
            raise InvalidFile(f"{path!r} contains a {metadata['class']}, not a {name}.")
        instance = self._kind()
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        if isinstance(instance, LocalSVMModel):
            if saved is None:
                raise InvalidFile(f"{path!r} has no complete model: the program that saved it was interrupted.")
            instance._distributed = load_model(saved, path, self.sparkSession)
        return instance


class Storable(MLReadable, MLWritable):  # type: ignore[misc]
    """Can be saved and loaded."""

    def write(self) -> ParamsWriter:
        """Return the writer of this instance."""
        return ParamsWriter(self)

    @classmethod
    def read(cls) -> ParamsReader:
        """Return the reader of this class."""
        return ParamsReader(cls)


# --------------------------------------------------------------------------------------- estimators


class LocalSVMEstimator(Estimator, LocalSVMParams, Storable):  # type: ignore[misc]
    """An estimator, which fits a model to a data frame, or forecasts what that will take."""

    _model: ClassVar[type[LocalSVMModel]]

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self.setParams(**params)

    def _estimator(self) -> LocalEstimator:
        """Return the estimator of `localsvm` with these parameters."""
        raise NotImplementedError

    def _fit(self, dataset: DataFrame) -> Any:
        with errors_of_tasks():
            model = self._model(fit_distributed(dataset, self._estimator(), self._fit_plan()))
        return self._copyValues(model._resetUid(self.uid))

    def forecast(self, dataset: DataFrame) -> DistributedForecast:
        """Forecast what `fit` will take: rows are read as in a fit, and a few cells are trained.

        Parameters
        ----------
        dataset : DataFrame
            Training rows.

        Returns
        -------
        DistributedForecast
            Number of tasks, bytes of the shuffle, memory of tasks and of the driver, seconds.

        Examples
        --------
        .. code-block:: python

            from localsvm.spark import LocalSVMClassifier

            forecast = LocalSVMClassifier(featuresCol=["x1", "x2"], labelCol="y").forecast(frame)
            forecast.n_tasks, forecast.shuffle_bytes, forecast.driver_memory, forecast.seconds
        """
        with errors_of_tasks():
            return forecast_distributed(dataset, self._estimator(), self._fit_plan())


# ------------------------------------------------------------------------------------ fitted models


class LocalSVMModel(Model, LocalSVMParams, Storable):  # type: ignore[misc]
    """A fitted model whose cells are a data frame."""

    def __init__(self, distributed: DistributedModel | None = None) -> None:
        super().__init__()
        self._distributed = distributed

    @property
    def _parts(self) -> DistributedModel:
        if self._distributed is None:
            raise InvalidData(f"this {type(self).__name__} is empty: get a model from fit or load.")
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
        """The coarse cells; a fit without Spark that has them as its partition gives this model."""
        return self._parts.coarse

    @property
    def task_report(self) -> list[dict[str, Any]]:
        """One dict per training task, largest first: rows, cells, seconds, host, attempt, time of its end."""
        return [dict(task) for task in self._parts.tasks]

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by phase; those of training are summed over all tasks."""
        return dict(self._parts.headline.seconds)

    @property
    def summary(self) -> TrainingSummary:
        """Sizes, seconds and out-of-fold measures of the fit."""
        raise NotImplementedError

    @property
    def hasSummary(self) -> bool:
        """Return True: a saved model contains its summary."""
        return True

    def predict(self, value: Any) -> float:
        """Return the prediction of one vector; for many, `transform` a data frame."""
        return float(predict_vector(self._parts, value)["prediction"])

    def toLocal(self) -> LocalEstimator:
        """Return the fitted estimator of `localsvm`, for prediction, reports and model files without Spark."""
        return self._parts.local

    def release(self) -> None:
        """Free the cells of a large model in the executors, once it is saved; to use it, load the saved model."""
        if self._parts.kept is not None:
            self._parts.kept.unpersist()

    def write(self) -> ParamsWriter:
        """Return the writer of this model."""
        return ParamsWriter(self, self._parts)

    def _outputs(self) -> Outputs:
        return Outputs(self.getPredictionCol())

    def _transform(self, dataset: DataFrame) -> DataFrame:
        by: str = self.getOrDefault(self.transform_by)
        check_choice("transform_by", by, ("auto", "broadcast", "shuffle"))
        return transform(self._parts, dataset, self.getFeaturesCol(), self._outputs(), by)
