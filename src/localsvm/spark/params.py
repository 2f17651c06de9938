"""Parameters of the estimators and models on Spark, as `pyspark.ml` has them.

Enters: what a user sets. Leaves: values that JSON can hold, so that they are saved with a model. What they mean, and
which values make no sense, the estimators of one machine know.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Self

import numpy as np
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import (
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasWeightCol,
)

from localsvm.cell.grid import Grid
from localsvm.errors import InvalidParameter
from localsvm.estimators.parameters import check_choice, check_integer
from localsvm.partition.voronoi import LARGEST_TRAVERSAL
from localsvm.spark.fit import FitPlan
from localsvm.spark.rows import FeatureColumns

TRANSFORMS = ("auto", "broadcast", "shuffle")


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold; NumPy's numbers are what they hold."""
    return value.item() if isinstance(value, np.generic) else value


def _grid(value: Any) -> Any:
    return asdict(value) if isinstance(value, Grid) else _plain(value)


def _numbers(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else np.asarray(value, dtype=np.float64).tolist()


def _names(value: Any) -> FeatureColumns:
    return value if isinstance(value, str) else [str(name) for name in value]


def _weights(value: Any) -> Any:
    """Return factors by label; JSON makes text of the labels."""
    return {float(label): float(factor) for label, factor in value.items()} if isinstance(value, dict) else value


def _param(name: str, doc: str, convert: Any = _plain) -> Param[Any]:
    return Param(Params._dummy(), name, doc, typeConverter=convert)


class LocalSVMParams(HasLabelCol, HasPredictionCol, HasWeightCol):  # type: ignore[misc]
    """What all of them share."""

    featuresCol = _param("featuresCol", "features: a column of vectors or arrays, or a list of columns", _names)
    cell_size = _param("cell_size", "most rows of a cell; 'auto': 5000, and down to 2000 beyond 50 000 rows")
    coarse_size = _param("coarse_size", "most rows of a coarse cell, which one task trains")
    n_folds = _param("n_folds", "folds of the cross-validation in a cell")
    grid = _param("grid", "widths and lams to try: 10, 15, 20, or a Grid", _grid)
    kernel = _param("kernel", "'auto', 'gauss', 'laplace' or 'manhattan'")
    relevance = _param("relevance", "'auto', None, or a weight for every feature", _numbers)
    scaling = _param("scaling", "'auto', 'minmax', 'standard', 'quantile' or None")
    search = _param("search", "'full' or 'racing'")
    refit = _param("refit", "'combine', 'retrain', or 'blend' for numbers")
    max_memory = _param(
        "max_memory", "memory that a task may take, like '4GB'; None: its cores' share of the machine's"
    )
    random_state = _param("random_state", "seed, an integer")
    checkpoint = _param("checkpoint", "path to which tasks write trained cells; None: they stay in executors")
    transform_by = _param("transform_by", "'auto', 'broadcast' or 'shuffle'")

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            featuresCol="features",
            cell_size="auto",
            coarse_size=LARGEST_TRAVERSAL,
            n_folds=5,
            grid=10,
            kernel="auto",
            relevance="auto",
            scaling="auto",
            search="full",
            refit="combine",
            max_memory=None,
            random_state=None,
            checkpoint=None,
            transform_by="auto",
        )

    def setParams(self, **values: Any) -> Self:
        """Set parameters by their names."""
        unknown = sorted(name for name in values if not self.hasParam(name))
        if unknown:
            known = ", ".join(param.name for param in self.params)
            raise InvalidParameter(f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {known}.")
        if values.get("weightCol", "") is None:
            values["weightCol"] = ""  # as in Spark: all weights are 1
        self._set(**values)
        return self

    def getFeaturesCol(self) -> FeatureColumns:
        """Return the column of features, or the columns."""
        found: FeatureColumns = self.getOrDefault(self.featuresCol)
        return found

    def setFeaturesCol(self, value: FeatureColumns) -> Self:
        """Set the column of features, or the columns."""
        return self.setParams(featuresCol=value)

    def setLabelCol(self, value: str) -> Self:
        """Set the column of labels or targets."""
        return self.setParams(labelCol=value)

    def setWeightCol(self, value: str) -> Self:
        """Set the column of weights."""
        return self.setParams(weightCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """Set the column that predictions go to."""
        return self.setParams(predictionCol=value)

    def _fit_plan(self) -> FitPlan:
        weight = self.getOrDefault(self.weightCol) if self.isDefined(self.weightCol) else None
        return FitPlan(
            features=self.getFeaturesCol(),
            label=self.getLabelCol(),
            weight=weight or None,
            coarse_size=check_integer("coarse_size", self.getOrDefault(self.coarse_size), 1),
            checkpoint=self.getOrDefault(self.checkpoint),
        )

    def _way(self) -> str:
        by: str = self.getOrDefault(self.transform_by)
        check_choice("transform_by", by, TRANSFORMS)
        return by

    def _common(self) -> dict[str, Any]:
        """Return the parameters of an estimator of one machine that all have."""
        names = (
            "cell_size",
            "n_folds",
            "kernel",
            "relevance",
            "scaling",
            "search",
            "refit",
            "max_memory",
            "random_state",
        )
        grid = self.getOrDefault(self.grid)
        values = {name: self.getOrDefault(name) for name in names}
        return {**values, "grid": Grid(**grid) if isinstance(grid, dict) else grid}


class ClassifierParams(LocalSVMParams, HasRawPredictionCol, HasProbabilityCol):  # type: ignore[misc]
    """What classifiers and their models have, too."""

    class_weight = _param("class_weight", "factors of the classes: a dict, 'balanced' or None", _weights)
    multiclass = _param("multiclass", "'ovo' or 'ovr'")
    loss = _param("loss", "'hinge' or 'squared'")
    objective = _param("objective", "'accuracy', 'balanced_accuracy', 'tpr_tnr' or 'f1'")
    false_alarm = _param("false_alarm", "largest share of the first class that may be taken for the second")

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(class_weight=None, multiclass="ovo", loss="hinge", objective="accuracy", false_alarm=None)

    def setRawPredictionCol(self, value: str) -> Self:
        """Set the column that decision values go to; '' for none."""
        return self.setParams(rawPredictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Set the column that probabilities go to; '' for none."""
        return self.setParams(probabilityCol=value)


class RegressorParams(LocalSVMParams):
    """What regressors and their models have, too."""

    loss = _param("loss", "'squared', 'epsilon_insensitive', 'quantile' or 'expectile'")
    epsilon = _param("epsilon", "half the width of the tube of 'epsilon_insensitive'")
    level = _param("level", "level of 'quantile' and 'expectile'")

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(loss="squared", epsilon=0.1, level=0.5, refit="blend")
