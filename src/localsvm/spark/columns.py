"""What a frame of Spark gives: features, target and weight as columns of numbers, and as arrays on the workers.

Enters: a frame and the names of its columns. Leaves: a frame of three columns that Arrow carries, and the rows of its
batches. A column that is not there, or has no numbers, is refused before any job runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DataType, NumericType

from localsvm.errors import InvalidData, InvalidParameter

FEATURES, TARGET, WEIGHT = "features", "target", "weight"

FeatureColumns = str | list[str]
"""A column of vectors or of arrays of numbers, or several columns of numbers."""


@dataclass(frozen=True)
class TrainingRows:
    """Some rows of positive weight."""

    X: NDArray[np.floating]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]

    def __getitem__(self, rows: Any) -> TrainingRows:
        """Return some of them."""
        return TrainingRows(self.X[rows], self.y[rows], self.weight[rows])


def training_frame(frame: DataFrame, features: FeatureColumns, label: str, weight: str | None) -> DataFrame:
    """Return the columns that training needs, as numbers."""
    weights = F.lit(1.0) if weight is None else number_column(frame, weight, "weightCol")
    return frame.select(
        feature_column(frame, features).alias(FEATURES),
        number_column(frame, label, "labelCol").alias(TARGET),
        weights.alias(WEIGHT),
    )


def feature_column(frame: DataFrame, features: FeatureColumns) -> Column:
    """Return the features of every row as an array of numbers; null where a vector is null."""
    if not isinstance(features, str):
        if not features:
            raise InvalidParameter("featuresCol=[] names no columns.")
        return F.array(*(number_column(frame, name, "featuresCol") for name in features))
    found, kind = _column(frame, features, "featuresCol")
    if isinstance(kind, VectorUDT):
        return F.when(found.isNotNull(), vector_to_array(found))
    if isinstance(kind, ArrayType) and _is_number(kind.elementType):
        return found.cast("array<double>")
    if _is_number(kind):
        return F.array(found.cast("double"))
    raise InvalidData(
        f"column {features!r} has type {kind.simpleString()}: give a column of vectors (VectorAssembler makes them) or "
        "of arrays of numbers, or a list of columns of numbers."
    )


def number_column(frame: DataFrame, name: str, parameter: str) -> Column:
    """Return a column of numbers, which False and True are, too."""
    found, kind = _column(frame, name, parameter)
    if not _is_number(kind):
        raise InvalidData(
            f"column {name!r} has type {kind.simpleString()}, but {parameter} needs numbers. StringIndexer makes them "
            "of text."
        )
    return found.cast("double")


def _column(frame: DataFrame, name: str, parameter: str) -> tuple[Column, DataType]:
    if name not in frame.columns:
        raise InvalidParameter(f"{parameter}={name!r}, but the columns are {', '.join(map(repr, frame.columns))}.")
    return F.col(quoted(name)), frame.schema[name].dataType


def quoted(name: str) -> str:
    """Return the name of a column such that dots in it are no paths."""
    return "`" + name.replace("`", "``") + "`"


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, NumericType | BooleanType)


def matrix_of(column: pa.ListArray, n_features: int) -> NDArray[np.float64]:
    """Return the features of rows without nulls as a matrix."""
    return np.asarray(floats(column.flatten()).reshape(len(column), n_features))


def floats(values: pa.Array) -> NDArray[np.float64]:
    """Return numbers; null is NaN."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


@dataclass(frozen=True)
class Layout:
    """How to read the columns of a training: features by row, and the labels of classes in their order."""

    n_features: int
    classes: tuple[float, ...] | None = None

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TrainingRows]:
        """Yield the rows of positive weight, batch by batch; they were surveyed before."""
        for batch in batches:
            X = matrix_of(batch.column(FEATURES), self.n_features)
            rows = TrainingRows(X, self._targets(floats(batch.column(TARGET))), floats(batch.column(WEIGHT)))
            yield rows if rows.weight.all() else rows[rows.weight > 0]

    def _targets(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers as they are, two classes as -1 and 1, more as 0, 1, 2, ..."""
        if self.classes is None:
            return y
        index = np.searchsorted(self.classes, y)
        return np.where(index == 1, 1.0, -1.0) if len(self.classes) == 2 else index.astype(np.float64)
