"""Frames of Spark from arrays, and predictions back as arrays in the order of the rows."""

import numpy as np
import pyarrow as pa
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F


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


def _plain(value):
    return value.toArray() if hasattr(value, "toArray") else value
