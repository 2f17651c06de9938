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
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, NumericType

from localsvm.errors import InvalidData, InvalidParameter

ESTIMATORS: dict[str, Any] = {"classify": LocalSVMClassifier, "regress": LocalSVMRegressor}

# Integers of more values than this are amounts rather than classes.
_MOST_CLASSES = 50


@dataclass(frozen=True)
class Source:
    """Rows in files."""

    spark: SparkSession
    path: str
    format: str = "parquet"

    def read(self) -> DataFrame:
        """Return a frame; types of csv columns are found by looking at all of them."""
        options = {"header": "true", "inferSchema": "true"} if self.format == "csv" else {}
        return self.spark.read.format(self.format).options(**options).load(self.path)


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


def train_model(source: Source, training: Training, output: str, *, overwrite: bool) -> dict[str, Any]:
    """Read, fit, save, and return what came out."""
    begin = time.perf_counter()
    if not overwrite:
        _check_free(source.spark, output)
    frame = source.read()
    task = _task(frame, training)
    model = _estimator(task, frame, training).fit(frame)
    writer = model.write()
    (writer.overwrite() if overwrite else writer).save(output)
    return {"model": output, "task": task, **_summary(model), "seconds": round(time.perf_counter() - begin, 3)}


def _estimator(task: str, frame: DataFrame, training: Training) -> Any:
    kind = ESTIMATORS[task]
    foreign = [name for name in training.parameters if not kind().hasParam(name)]
    if foreign:
        flags = ", ".join("--" + name.replace("_", "-") for name in foreign)
        raise InvalidParameter(f"{flags}: not an option of --task {task}.")
    columns = {"featuresCol": _features(frame, training), "labelCol": training.target}
    if training.weight is not None:
        columns["weightCol"] = training.weight
    return kind(**columns, **training.parameters)


def _features(frame: DataFrame, training: Training) -> str | list[str]:
    if training.features is not None:
        return training.features[0] if len(training.features) == 1 else list(training.features)
    others = [column for column in frame.schema if column.name not in (training.target, training.weight)]
    vectors = [column.name for column in others if isinstance(column.dataType, VectorUDT | ArrayType)]
    if len(vectors) == 1:
        return vectors[0]
    numbers = [column.name for column in others if isinstance(column.dataType, NumericType)]
    if not numbers:
        raise InvalidData(f"there is no column of numbers beside {training.target!r}: nothing to learn from.")
    return numbers
