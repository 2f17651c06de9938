"""Fits on Spark or on one machine and predicts, in a process of its own: a JSON task comes in, a line of JSON goes out.

Rows come from parquet files with a column of arrays, `features`, and one of numbers, `label`. A fit on Spark includes
reading, the shuffle and the start of Python on the workers, but not that of the session and its executors, nor the
types of the columns; a fit on one machine does not include reading.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
import warnings
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from localsvm import LocalSVC
from localsvm.spark import LocalSVMClassifier

Figures = dict[str, float]


def on_one_machine(task: dict[str, Any]) -> Figures:
    begin = time.perf_counter()
    X, y = _arrays(task["train"])
    X_test, y_test = _arrays(task["test"])
    read = time.perf_counter()
    clf = LocalSVC(members=1, **task["parameters"], n_jobs=task["cores"]).fit(X, y)
    fitted = time.perf_counter()
    predicted = clf.predict(X_test)
    done = time.perf_counter()
    pairs, counts = np.unique(np.column_stack([y_test, predicted]), axis=0, return_counts=True)
    confusion = {(float(true), float(found)): int(n) for (true, found), n in zip(pairs, counts, strict=True)}
    seconds = {"start": read - begin, "train": fitted - read, "predict": done - fitted}
    return seconds | rates(confusion) | {"cells": clf.n_cells_}


def on_spark(task: dict[str, Any]) -> Figures:
    begin = time.perf_counter()
    spark = _session(task["settings"])
    _wait_for_executors(spark, task["cores"])
    train = spark.read.parquet(task["train"])
    started = time.perf_counter()
    model = LocalSVMClassifier(**task["parameters"]).fit(train)
    fitted = time.perf_counter()
    shuffled = _shuffle_bytes(spark)
    confusion = _confusion(model.transform(spark.read.parquet(task["test"])))
    done = time.perf_counter()
    figures = {
        **{"start": started - begin, "train": fitted - started, "predict": done - fitted},
        **rates(confusion),
        **{"shuffle": shuffled, "predict_shuffle": _shuffle_bytes(spark) - shuffled},
        "cells": model.n_cells,
    }
    spark.stop()
    return figures


def rates(confusion: dict[tuple[float, float], int]) -> Figures:
    """Return the error and the rates at which positives and negatives are found, from counts of (true, predicted)."""
    total = sum(confusion.values())
    right = {label: confusion.get((label, label), 0) for label in (-1.0, 1.0)}
    rows = {label: sum(n for (true, _), n in confusion.items() if true == label) for label in right}
    return {
        "error": 1 - sum(right.values()) / total,
        "tpr": right[1.0] / max(rows[1.0], 1),
        "tnr": right[-1.0] / max(rows[-1.0], 1),
    }


def _arrays(folder: str) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    table = pq.read_table(folder)
    y = table["label"].to_numpy()
    features = table["features"].combine_chunks()
    return features.flatten().to_numpy().reshape(len(y), -1), y


def _session(settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("benchmarks.spark_scale")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _confusion(predicted: DataFrame) -> dict[tuple[float, float], int]:
    rows = predicted.groupBy("label", "prediction").count().collect()
    return {(row["label"], row["prediction"]): row["count"] for row in rows}


def _shuffle_bytes(spark: SparkSession) -> int:
    """Return what all stages so far have written for others to read."""
    return sum(stage["shuffleWriteBytes"] for stage in _told(spark, "stages"))


def _wait_for_executors(spark: SparkSession, count: int) -> None:
    while sum(executor["id"] != "driver" for executor in _told(spark, "executors")) < count:
        time.sleep(0.1)


def _told(spark: SparkSession, what: str) -> Any:
    """Return what the application's own page knows."""
    context = spark.sparkContext
    with urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}") as answer:
        return json.load(answer)


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.loads(sys.stdin.readline())
    print(json.dumps(on_spark(task) if "settings" in task else on_one_machine(task)))


if __name__ == "__main__":
    main()
