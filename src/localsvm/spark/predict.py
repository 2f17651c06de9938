r"""Prediction, either with the model broadcast to the rows, or with the rows shuffled to the cells.

Input: a `DistributedModel` and a data frame. Output: the frame with the columns of the predictions added. A broadcast
model is the bytes of a model file, of which a task reads the cells it needs. In a shuffle a row is sent to the task
of its coarse cell, where the cells are sorted before the rows:

    rows  -> (coarse cell, scaled row, row) --\
                                               +-- one partition per coarse cell, cells first -> (row, predictions)
    cells -> (coarse cell, cell) -------------/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CalendarIntervalType,
    DataType,
    DoubleType,
    IntegerType,
    MapType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

from localsvm.data.scaling import Scaling, no_scaling
from localsvm.decision.calibration import Calibration
from localsvm.errors import InvalidData, InvalidParameter
from localsvm.model.local_model import LocalModel
from localsvm.model.predict import predict_classes, predict_scores
from localsvm.partition.base import Partition
from localsvm.partition.coarse import CoarseCells
from localsvm.partition.whole import WholePartition
from localsvm.spark.distributed import FINISHED, DistributedModel, read_row
from localsvm.spark.rows import Columns, FeatureColumns, matrix_of, quoted
from localsvm.spark.sending import SentModel
from localsvm.spark.training import frame_schema
from localsvm.storage.parts import PARTITION

BROADCAST_BYTES = 32 << 20
"""Size up to which a model is broadcast: every Python process of an executor opens it."""

_OUTPUTS = [
    StructField("prediction", DoubleType(), False),
    StructField("raw", ArrayType(DoubleType(), False), False),
    StructField("probability", ArrayType(DoubleType(), False), False),
]
_ARROW_LIST = pa.list_(pa.field("element", pa.float64(), nullable=False))
_ARROW_OUTPUTS = [
    pa.field("prediction", pa.float64(), nullable=False),
    pa.field("raw", _ARROW_LIST, nullable=False),
    pa.field("probability", _ARROW_LIST, nullable=False),
]
_ROUTED = [pa.field("coarse", pa.int32(), nullable=False), pa.field("x", pa.binary(), nullable=False)]
_CELL = {name: FINISHED[name] for name in ("cell", "place", "seconds", "record", "tree")}

Predictor = Callable[[Iterator[pa.Array]], Iterator[pa.Array]]


@dataclass(frozen=True)
class Outputs:
    """Names of the columns of predictions; a column without a name is omitted."""

    prediction: str
    raw: str = ""
    probability: str = ""

    def columns(self, parent: str) -> dict[str, Column]:
        """Return the columns by name, taken from the fields of a struct."""
        from pyspark.ml.functions import array_to_vector  # here, because tasks on the workers do without pyspark.ml

        found = {self.prediction: F.col(f"{parent}.prediction")}
        found |= {self.raw: array_to_vector(F.col(f"{parent}.raw"))}
        found |= {self.probability: array_to_vector(F.col(f"{parent}.probability"))}
        return {name: column for name, column in found.items() if name}


@dataclass(frozen=True)
class Reader:
    """Reads features, and predicts them with a model."""

    features: FeatureColumns
    n_features: int
    classes: tuple[float, ...] | None

    def matrix(self, column: pa.ListArray) -> NDArray[np.float64]:
        """Return the features of rows; raise if some are missing, of another number, or not finite."""
        lengths = column.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
        wrong = int((lengths != self.n_features).sum())
        if wrong:
            raise InvalidData(
                f"column {self.features!r} is null or does not have {self.n_features} features, as in training, in "
                f"{wrong} of the {len(column)} rows of a batch."
            )
        X = matrix_of(column, self.n_features)
        bad = int((~np.isfinite(X)).any(axis=1).sum())
        if bad:
            raise InvalidData(
                f"column {self.features!r} has null, NaN or infinite features in {bad} of the {len(column)} rows of a "
                "batch. Drop these rows, or impute them with Imputer."
            )
        return X

    def vector(self, x: Any) -> NDArray[np.float64]:
        """Return one vector as a matrix of one row; raise as `matrix` does."""
        X = np.asarray(x.toArray() if hasattr(x, "toArray") else x, dtype=np.float64)
        if X.shape != (self.n_features,):
            raise InvalidData(f"the vector has shape {X.shape}, but the model has {self.n_features} features.")
        if not np.isfinite(X).all():
            raise InvalidData(f"element {int(np.argmin(np.isfinite(X)))} of the vector is NaN or infinite.")
        return X[None, :]

    def outputs(self, model: LocalModel, X: NDArray[np.floating]) -> list[pa.Array]:
        """Return predictions, scores and probabilities; the latter two are empty for regression."""
        if self.classes is None:
            prediction, raw = predict_scores(model, X, _threads())[:, 0], np.empty((len(X), 0))
            probability = raw
        else:
            scores, probability = predict_classes(model, X, _threads())
            two = len(self.classes) == 2
            best = (scores[:, 0] >= 0).astype(np.intp) if two else scores.argmax(axis=1)
            prediction = np.asarray(self.classes)[best]
            raw = np.column_stack([-scores[:, 0], scores[:, 0]]) if two else scores
        return [pa.array(prediction), _list_array(raw), _list_array(probability)]


def _threads() -> int:
    context = TaskContext.get()
    return 1 if context is None else int(context.cpus())


def _list_array(values: NDArray[np.float64]) -> pa.ListArray:
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.ListArray.from_arrays(pa.array(offsets), flat, type=_ARROW_LIST)


def transform(
    model: DistributedModel, frame: DataFrame, features: FeatureColumns, names: Outputs, by: str
) -> DataFrame:
    """Return the frame with predictions, by "broadcast", "shuffle", or "auto" (broadcast if the model is small)."""
    reader = _reader(model, features)
    columns = Columns(frame)
    _check_new(names, columns)
    x = columns.features(features)
    if by == "shuffle":
        _check_shuffle(frame)
    elif by == "auto":
        by = "shuffle" if model.n_bytes > BROADCAST_BYTES and not _unshufflable(frame) else "broadcast"
    return (_by_shuffle if by == "shuffle" else _by_broadcast)(model, frame, x, reader, names)


def predict_vector(model: DistributedModel, x: Any) -> dict[str, Any]:
    """Return prediction, scores and probabilities of one vector; of a large model only its coarse cell is read."""
    reader = _reader(model, "features")
    X = reader.vector(x)
    if model.n_bytes <= BROADCAST_BYTES:
        outputs = reader.outputs(model.local.model_, X)
    else:
        route = _route(model, reader)
        scaled = route.scaling.apply(X)
        cells = model.cells.where(F.col("coarse") == int(route.coarse.assign(scaled)[0])).select(*_CELL)
        outputs = reader.outputs(_model_of(route, cells.toArrow().to_pylist()), scaled)
    names = (field.name for field in _ARROW_OUTPUTS)
    return {name: values[0].as_py() for name, values in zip(names, outputs, strict=True)}


def _reader(model: DistributedModel, features: FeatureColumns) -> Reader:
    labels = getattr(model.estimator, "classes_", None)
    classes = None if labels is None else tuple(labels.tolist())
    return Reader(features, model.headline.model.n_features, classes)


def _check_new(names: Outputs, columns: Columns) -> None:
    """Refuse columns of predictions that the frame has already: nothing of the caller's is replaced."""
    parameters = {"predictionCol": names.prediction, "rawPredictionCol": names.raw, "probabilityCol": names.probability}
    for parameter, name in parameters.items():
        if name and (found := columns.find(name)) is not None:
            raise InvalidParameter(
                f"{parameter}={name!r}, but the data frame has a column {found!r} already. Drop it, or choose "
                "another name."
            )


def _unshufflable(frame: DataFrame) -> str | None:
    """Return why rows of a frame cannot be shuffled to the cells; None if they can."""
    if frame.isStreaming:
        return "rows of a stream cannot be shuffled to the cells"
    found = ((field.name, _not_in_arrow(field.dataType)) for field in frame.schema.fields)
    return next((f"column {name!r} has {what}, which Arrow does not transfer" for name, what in found if what), None)


def _not_in_arrow(kind: DataType) -> str | None:
    """Return what Arrow does not transfer of a type, at any depth; None if it transfers all of it."""
    if isinstance(kind, CalendarIntervalType | YearMonthIntervalType):
        return "calendar intervals"
    if isinstance(kind, StructType):
        if len(set(kind.names)) < len(kind.names):
            return "structs with a name twice"
        parts = [field.dataType for field in kind.fields]
    elif isinstance(kind, ArrayType):
        parts = [kind.elementType]
    else:
        parts = [kind.keyType, kind.valueType] if isinstance(kind, MapType) else []
    return next(filter(None, map(_not_in_arrow, parts)), None)


def _check_shuffle(frame: DataFrame) -> None:
    if (why := _unshufflable(frame)) is not None:
        raise InvalidParameter(f"transform_by='shuffle', but {why}. Use transform_by='broadcast'.")


# ----------------------------------------------------------------------------------------- broadcast


def _by_broadcast(model: DistributedModel, frame: DataFrame, x: Column, reader: Reader, names: Outputs) -> DataFrame:
    predict = arrow_udf(_predictor(reader, model.file.sent_to(frame.sparkSession)), StructType(_OUTPUTS))
    hidden = _unused("predictions", frame)
    return frame.withColumn(hidden, predict(x)).withColumns(names.columns(hidden)).drop(hidden)


def _predictor(reader: Reader, sent: SentModel) -> Predictor:
    def predict(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        model = sent.open()
        for column in columns:
            yield pa.StructArray.from_arrays(reader.outputs(model, reader.matrix(column)), fields=_ARROW_OUTPUTS)

    return predict


def _unused(name: str, frame: DataFrame) -> str:
    while name in {column.lower() for column in frame.columns}:
        name += "_"
    return name


# ------------------------------------------------------------------------------------------- shuffle


@dataclass(frozen=True)
class _Route:
    """How rows are assigned to coarse cells, and the model that predicts them there."""

    reader: Reader
    coarse: CoarseCells
    scaling: Scaling
    model: LocalModel
    """For scaled rows; without cells, with the calibration of all cells."""


def _route(model: DistributedModel, reader: Reader) -> _Route:
    whole = model.headline.model
    return _Route(reader, model.coarse, whole.scaling, replace(whole, scaling=no_scaling(whole.n_features)))


def _by_shuffle(model: DistributedModel, frame: DataFrame, x: Column, reader: Reader, names: Outputs) -> DataFrame:
    route = _route(model, reader)
    hidden = _unused("features", frame)
    columns = [f"c{number}" for number in range(len(frame.columns))]  # unlike names, these are all different
    rows = _routed_rows(frame.withColumn(hidden, x).toDF(*columns, hidden), columns, hidden, route)
    cells = _routed_cells(model.cells, rows)
    meeting = rows.unionByName(cells).repartitionById(len(model.coarse), "coarse")
    predictions = meeting.sortWithinPartitions(F.col("cell").isNull()).mapInArrow(
        partial(_predict_partition, route), StructType([rows.schema["row"], StructField("out", StructType(_OUTPUTS))])
    )
    kept = [F.col("row").getField(column).alias(name) for column, name in zip(columns, frame.columns, strict=True)]
    return predictions.select(*kept, *(column.alias(name) for name, column in names.columns("out").items()))


def _routed_rows(frame: DataFrame, columns: list[str], x: str, route: _Route) -> DataFrame:
    kind = StructType([StructField("coarse", IntegerType(), False), StructField("x", BinaryType(), False)])
    routed = frame.select(
        arrow_udf(_router(route), kind)(F.col(quoted(x))).alias("to"), F.struct(*columns).alias("row")
    )
    no_cell = F.lit(None).cast(f"struct<{frame_schema(_CELL)}>").alias("cell")
    return routed.select("to.coarse", "to.x", "row", no_cell)


def _routed_cells(cells: DataFrame, rows: DataFrame) -> DataFrame:
    none = [F.lit(None).cast(rows.schema[name].dataType).alias(name) for name in ("x", "row")]
    return cells.select("coarse", *none, F.struct(*_CELL).alias("cell"))


def _router(route: _Route) -> Predictor:
    def assign(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for column in columns:
            X = route.scaling.apply(route.reader.matrix(column))
            x = pa.array([row.tobytes() for row in X], pa.binary())
            yield pa.StructArray.from_arrays([pa.array(route.coarse.assign(X), pa.int32()), x], fields=_ROUTED)

    return assign


def _predict_partition(route: _Route, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    cells: list[dict[str, Any]] = []
    model: LocalModel | None = None
    for batch in batches:
        is_cell = batch.column("cell").is_valid()
        cells += batch.column("cell").filter(is_cell).to_pylist()
        rows = batch.filter(pc.invert(is_cell))
        if rows.num_rows == 0:
            continue
        model = model or _model_of(route, cells)  # cells are sorted before rows, so that all are there
        X = np.frombuffer(b"".join(rows.column("x").to_pylist()), dtype=np.float32)
        out = pa.StructArray.from_arrays(
            route.reader.outputs(model, X.reshape(rows.num_rows, route.reader.n_features)), fields=_ARROW_OUTPUTS
        )
        yield pa.RecordBatch.from_arrays([rows.column("row"), out], names=["row", "out"])


def _model_of(route: _Route, rows: list[dict[str, Any]]) -> LocalModel:
    """Return the model of one coarse cell."""
    rows = sorted(rows, key=lambda row: int(row["place"]))
    whole, numbers = route.model, [row["cell"] for row in rows]
    calibration = whole.calibration
    if calibration is not None:
        calibration = Calibration(*(getattr(calibration, part.name)[numbers] for part in fields(Calibration)))
    cells = tuple(read_row(row, whole.reduction, whole.n_features) for row in rows)
    return replace(whole, cells=cells, partition=_tree(rows, whole.n_features), calibration=calibration)


def _tree(rows: list[dict[str, Any]], n_features: int) -> Partition:
    record = rows[0]["tree"]
    if record is None:
        return WholePartition(np.zeros((1, n_features), dtype=np.float32), np.zeros(1))
    return PARTITION.unpack(record, "a tree of the model", n_cells=len(rows), n_features=n_features)
