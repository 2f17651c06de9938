"""Fits a LocalSVC and predicts, in a process of its own: a JSON task comes in, a line of JSON goes out."""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generated import GENERATORS
from benchmarks.workers import peak_bytes
from localsvm import Grid, LocalSVC

PHASES = ("partition", "kernel", "solver", "validation", "selection")
Arrays = dict[str, NDArray[Any]]


def _arrays(task: dict[str, Any]) -> Arrays:
    if "file" in task:
        with np.load(task["file"]) as arrays:
            return {name: arrays[name] for name in arrays}
    generate = GENERATORS[task["generate"]]
    X, y = generate(task["n_train"], 0)
    X_test, y_test = generate(task["n_test"], 1)
    return {"X": X, "y": y, "X_test": X_test, "y_test": y_test}


def _measure(data: Arrays, parameters: dict[str, Any]) -> dict[str, Any]:
    if "grid" in parameters:  # by the name of its rule, as JSON has it
        parameters["grid"] = Grid(rule=parameters["grid"])
    clf = LocalSVC(**parameters)
    begin, cpu = time.perf_counter(), time.process_time()
    clf.fit(data["X"], data["y"])
    fitted, cpu = time.perf_counter(), time.process_time() - cpu
    labels = clf.predict(data["X_test"])
    predicted = time.perf_counter()
    wrong = labels != data["y_test"]
    return {
        **{phase: clf.timings_[phase] for phase in PHASES},
        "train": fitted - begin,
        "cpu": cpu,
        "predict": predicted - fitted,
        "error": float(wrong.mean()),
        "error_unseen": float(wrong[~data["seen"]].mean()) if "seen" in data else None,
        "cells": clf.n_cells_,
        "largest_cell": max(cell["size"] for cell in clf.cells_),
        "support_vectors": sum(cell["support_vectors"] for cell in clf.cells_),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.loads(sys.stdin.readline())
    begin = time.perf_counter()
    data = _arrays(task)
    generated = time.perf_counter()
    figures = _measure(data, task["parameters"])
    print(json.dumps(figures | {"generate": generated - begin, "peak": peak_bytes()}))


if __name__ == "__main__":
    main()
