"""What a frame of Spark gives: features, target and weight as columns of numbers.

Enters: a frame and the names of its columns. Leaves: a frame of three columns that Arrow carries. A column that is not
there, or has no numbers, is refused before any job runs.
"""

from __future__ import annotations

from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DataType, DoubleType, FloatType, NumericType

from localsvm.errors import InvalidData, InvalidParameter
from localsvm.spark.columns import FEATURES, TARGET, WEIGHT, FeatureColumns


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
        # Floats stay what they are: tasks widen them faster than Spark does.
        return found if isinstance(kind.elementType, FloatType | DoubleType) else found.cast("array<double>")
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
