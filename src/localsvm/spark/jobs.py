"""What the application does on a cluster: train, predict, evaluate, take a model home.

Enters: a source of rows, a path of a model, options. Leaves: what there is to tell, as plain values.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.util import DefaultParamsReader
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, NumericType

from localsvm.errors import InvalidData, InvalidFile, InvalidParameter
from localsvm.spark.base import LocalSVMModel
from localsvm.spark.classifier import LocalSVMClassificationModel, LocalSVMClassifier
from localsvm.spark.regressor import LocalSVMRegressionModel, LocalSVMRegressor
from localsvm.spark.rows import number_column, quoted

ESTIMATORS: dict[str, Any] = {"classify": LocalSVMClassifier, "regress": LocalSVMRegressor}
MODELS: tuple[Any, ...] = (LocalSVMClassificationModel, LocalSVMRegressionModel)

# Integers of more values than this are amounts rather than classes.
_MOST_CLASSES = 50


@dataclass(frozen=True)
class Source:
    """Rows in files."""

    spark: SparkSession
    path: str
    format: str = "parquet"

    def read(self) -> DataFrame:
        """Return a frame; types of csv columns are found by looking at all rows."""
        options = {"header": "true", "inferSchema": "true"} if self.format == "csv" else {}
        return self.spark.read.format(self.format).options(**options).load(self.path)


@dataclass(frozen=True)
class Destination:
    """A directory to be written."""

    path: str
    format: str = "parquet"
    overwrite: bool = False

    def check(self, spark: SparkSession) -> None:
        """Refuse a directory that is there, before hours of work."""
        if not self.overwrite and _exists(spark, self.path):
            raise InvalidParameter(f"--output {self.path} exists: give another name, or --overwrite.")


def _exists(spark: SparkSession, path: str) -> bool:
    try:
        # Twice: of a single path that is not there Spark logs a page of Java first, and refuses it then.
        return bool(spark.read.text([path, path]).columns)
    except AnalysisException:
        return False


@dataclass(frozen=True)
class Training:
    """What is to be learned."""

    target: str
    weight: str | None = None
    features: tuple[str, ...] | None = None
    """Columns of numbers, or one column of vectors; None: all but target and weight."""
    task: str = "auto"
    parameters: dict[str, Any] = field(default_factory=dict)
    """Of the estimator."""


def train_model(source: Source, training: Training, output: Destination) -> dict[str, Any]:
    """Read, fit, save, and return what came out."""
    begin = time.perf_counter()
    output.check(source.spark)
    frame = source.read()
    task = _task(frame, training)
    model = _estimator(task, frame, training).fit(frame)
    writer = model.write()
    (writer.overwrite() if output.overwrite else writer).save(output.path)
    return {"model": output.path, "task": task, **_summary(model), "seconds": round(time.perf_counter() - begin, 3)}


def _task(frame: DataFrame, training: Training) -> str:
    """Return the task, guessed from the target if it was not given."""
    target = number_column(frame, training.target, "--target")
    if training.task != "auto":
        return training.task
    values = [row[0] for row in frame.select(target).distinct().limit(_MOST_CLASSES + 1).collect()]
    few = len(values) <= _MOST_CLASSES and all(value is None or value == int(value) for value in values)
    return "classify" if few else "regress"


def _estimator(task: str, frame: DataFrame, training: Training) -> Any:
    kind = ESTIMATORS[task]
    foreign = [name for name in training.parameters if not kind().hasParam(name)]
    if foreign:
        flags = ", ".join("--" + name.replace("_", "-") for name in foreign)
        raise InvalidParameter(f"{flags}: not an option of --task {task}.")
    columns = {"featuresCol": _features(frame, training), "labelCol": training.target, "weightCol": training.weight}
    return kind(**columns, **training.parameters)


def _features(frame: DataFrame, training: Training) -> str | list[str]:
    if training.features is not None:
        return training.features[0] if len(training.features) == 1 else list(training.features)
    others = [column for column in frame.schema if column.name not in (training.target, training.weight)]
    vectors: list[str] = [column.name for column in others if isinstance(column.dataType, VectorUDT | ArrayType)]
    numbers: list[str] = [column.name for column in others if isinstance(column.dataType, NumericType)]
    if len(vectors) == 1 and not numbers:
        return vectors[0]
    if not numbers:
        raise InvalidData(f"beside {training.target!r} there is no column of numbers. Name vectors with --features.")
    return numbers


def _summary(model: LocalSVMModel) -> dict[str, Any]:
    tasks = model.task_report
    return {
        "rows": sum(task["rows"] for task in tasks),
        "features": model.numFeatures,
        **({"classes": model.classes.tolist()} if isinstance(model, LocalSVMClassificationModel) else {}),
        "cells": model.n_cells,
        "tasks": len(tasks),
        "largest task": max(task["rows"] for task in tasks),
        "trained again": sum(task["attempt"] > 0 for task in tasks),
    }


@dataclass(frozen=True)
class Wanted:
    """What predictions are written."""

    keep: tuple[str, ...] | None = None
    """Columns that are passed through; None: all."""
    probabilities: bool = False
    transform_by: str = "auto"


def predict_rows(source: Source, path: str, output: Destination, wanted: Wanted) -> dict[str, Any]:
    """Predict into a directory."""
    begin = time.perf_counter()
    output.check(source.spark)
    model = load_model(source.spark, path).setParams(transform_by=wanted.transform_by)
    frame = source.read()
    names = [*(frame.columns if wanted.keep is None else wanted.keep), model.getPredictionCol()]
    if wanted.probabilities:
        names.append(_probability_column(model))
    unknown = set(names[: -1 - wanted.probabilities]) - set(frame.columns)
    if unknown:
        raise InvalidParameter(f"--keep {min(unknown)}: the columns are {', '.join(frame.columns)}.")
    predictions = model.transform(frame).select(*map(quoted, names))
    _check_writable(predictions, output.format)
    mode = "overwrite" if output.overwrite else "error"
    options = {"header": "true"} if output.format == "csv" else {}
    predictions.write.format(output.format).options(**options).mode(mode).save(output.path)
    return {"predictions": output.path, "columns": names, "seconds": round(time.perf_counter() - begin, 3)}


def _probability_column(model: LocalSVMModel) -> str:
    if not isinstance(model, LocalSVMClassificationModel):
        raise InvalidParameter("--probabilities: the model predicts numbers, not classes.")
    return str(model.getProbabilityCol())


def _check_writable(frame: DataFrame, format: str) -> None:
    """Refuse what a text format cannot hold."""
    vectors = [column.name for column in frame.schema if isinstance(column.dataType, VectorUDT | ArrayType)]
    if vectors and format == "csv":
        raise InvalidParameter(
            f"csv cannot hold the vectors of column {vectors[0]!r}: write parquet, or --keep other columns."
        )


def evaluate_model(source: Source, path: str, target: str) -> dict[str, Any]:
    """Compare predictions with the truth."""
    model, frame = load_model(source.spark, path), source.read()
    truth = number_column(frame, target, "--target")
    rows = model.transform(frame).select(truth.alias("true"), F.col(quoted(model.getPredictionCol())).alias("said"))
    if isinstance(model, LocalSVMClassificationModel):
        counts = {(row["true"], row["said"]): row["count"] for row in rows.groupBy("true", "said").count().collect()}
        return class_measures(counts, model.classes.tolist())
    return _number_measures(rows)


def class_measures(counts: dict[tuple[float, float], int], classes: list[float]) -> dict[str, Any]:
    """Return the error, and of two classes the rates at which they are found, from counts by (true, predicted).

    Examples
    --------
    >>> from localsvm.spark.jobs import class_measures
    >>> class_measures({(0.0, 0.0): 6, (0.0, 1.0): 2, (1.0, 1.0): 2}, [0.0, 1.0])
    {'rows': 10, 'error': 0.2, 'tpr': 1.0, 'tnr': 0.75, 'tpr_tnr': 0.75}
    """
    total = sum(counts.values())
    if total == 0:
        raise InvalidData("there are no rows to evaluate.")
    wrong = sum(count for (true, said), count in counts.items() if true != said)
    found = {"rows": total, "error": wrong / total}
    if len(classes) == 2:
        of_class = [sum(count for (true, _), count in counts.items() if true == label) for label in classes]
        if all(of_class):
            tnr, tpr = (counts.get((label, label), 0) / n for label, n in zip(classes, of_class, strict=True))
            found |= {"tpr": tpr, "tnr": tnr, "tpr_tnr": tpr * tnr}
    return found


def _number_measures(rows: DataFrame) -> dict[str, Any]:
    residual = F.col("true") - F.col("said")
    sums = {"mse": F.avg(residual * residual), "mae": F.avg(F.abs(residual)), "variance": F.var_pop("true")}
    row = rows.agg(F.count("*").alias("rows"), *(column.alias(name) for name, column in sums.items())).first()
    if row is None or row["rows"] == 0:
        raise InvalidData("there are no rows to evaluate.")
    explained = {"r2": 1 - row["mse"] / row["variance"]} if row["variance"] > 0 else {}
    return {"rows": row["rows"], "rmse": row["mse"] ** 0.5, "mae": row["mae"], **explained}


def take_home(spark: SparkSession, path: str, output: Path) -> dict[str, Any]:
    """Write the model as a file of one machine."""
    begin = time.perf_counter()
    estimator = load_model(spark, path).toLocal()
    estimator.save(output)
    size = output.stat().st_size
    return {
        "model": str(output),
        "cells": estimator.n_cells_,
        "bytes": size,
        "seconds": round(time.perf_counter() - begin, 3),
    }


def load_model(spark: SparkSession, path: str) -> Any:
    """Return a saved model of either kind."""
    name = DefaultParamsReader.loadMetadata(path, spark)["class"]
    for kind in MODELS:
        if name == f"{kind.__module__}.{kind.__name__}":
            return kind.load(path)
    raise InvalidFile(f"{path!r} has a {name}, not a model of localsvm.")
