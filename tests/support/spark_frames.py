"""Data frames from arrays, predictions as arrays in the order of the rows, and models as bytes to compare."""

import numpy as np
import pyarrow as pa
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F

from localsvm.storage.model_file import model_bytes


def columns_of(X):
    return [f"x{j}" for j in range(X.shape[1])]


def frame_of(session, X, n_partitions=3, **columns):
    """Return rows with a number, a column for each feature, and all of them as a vector."""
    names = columns_of(X)
    arrays = {"row": np.arange(len(X)), **dict(zip(names, np.asarray(X, dtype=np.float64).T, strict=True)), **columns}
    frame = session.createDataFrame(pa.table({name: pa.array(values) for name, values in arrays.items()}))
    return frame.repartition(n_partitions, "row").withColumn("features", array_to_vector(F.array(*names)))


def in_order(frame, *names):
    """Return columns as arrays, rows in the order of their numbers; vectors as rows of an array."""
    rows = frame.select("row", *names).collect()
    rows.sort(key=lambda row: row["row"])
    return tuple(np.array([_plain(row[name]) for row in rows]) for name in names)


def without_seconds(model):
    """Return the bytes of the model file of a model whose timings are set to 0."""
    for cell in model.cells:
        cell.seconds.update(dict.fromkeys(cell.seconds, 0.0))
    return model_bytes(model)


def _plain(value):
    return value.toArray() if hasattr(value, "toArray") else value
