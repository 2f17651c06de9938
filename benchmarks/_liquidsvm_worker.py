"""Runs inside liquidSVM's environment: trains, selects and tests on arrays from a file.

Reads one JSON object per line of the standard input: "file", the path of an .npz (X, y, X_test,
y_test, and perhaps seen, the test rows that are training rows, too), "options" for liquidSVM, and
perhaps "minmax", whether to scale first, "scenario", the kind of machine (classification), and
"predictions", where to save a column for each of its weights. Answers each with a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import time
import warnings

import numpy as np

# Columns of the table that its train() returns.
_CELL, _WIDTH, _LAM, _STEPS = 1, 3, 5, 9


def _import_liquidsvm():
    # liquidSVM looks for its library under a name that Python 3.11 no longer has.
    original = sysconfig.get_config_var
    sysconfig.get_config_var = lambda name: original("EXT_SUFFIX" if name == "SO" else name)
    warnings.simplefilter("ignore")
    import liquidSVM

    return liquidSVM


def _load(file, minmax):
    with np.load(file) as arrays:
        data = {name: arrays[name] for name in arrays}
    if minmax:
        low, span = data["X"].min(axis=0), np.ptp(data["X"], axis=0)
        span[span == 0] = 1
        for name in ("X", "X_test"):
            data[name] -= low
            data[name] /= span
    return data


def _run(liquidsvm, data, task):
    options, scenario = task["options"], task.get("scenario", "MC")
    n_weights = len(options.get("weights", ()))
    # It keeps copies of its own in double precision: ours go first, so that they do not count.
    model = liquidsvm.SVM(data.pop("X"), data.pop("y"), scenario=scenario, **{"random_seed": 1, **options})
    begin, cpu = time.perf_counter(), time.process_time()
    table = model.train()
    trained = time.perf_counter()
    _select(model, n_weights)
    selected, cpu = time.perf_counter(), time.process_time() - cpu
    predictions, errors = model.test(data["X_test"], data["y_test"])
    tested = time.perf_counter()
    if "predictions" in task:
        np.save(task["predictions"], predictions[:, : max(1, n_weights)])
    wrong = predictions[:, 0] != data["y_test"]
    return {
        "train": trained - begin,
        "select": selected - trained,
        "cpu": cpu,
        "test": tested - selected,
        "steps": float(table[:, _STEPS].sum()),
        "cells": len(np.unique(table[:, _CELL])),
        "error": float(errors[0, 0]),
        "error_unseen": float(wrong[~data["seen"]].mean()) if "seen" in data else None,
        "peak": _peak_bytes(),
        "widths": np.unique(table[:, _WIDTH]).tolist(),
        "lams": np.unique(table[:, _LAM]).tolist(),
    }


def _select(model, n_weights):
    if n_weights == 0:
        model.select()
    for number in range(1, n_weights + 1):
        model.set("WEIGHT_NUMBER", number)
        model.select()


def _peak_bytes():
    with open("/proc/self/status") as status:
        return 1024 * int(status.read().partition("VmHWM:")[2].split()[0])


def main():
    # liquidSVM writes to the standard output as it likes: answers go to a copy of it.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    liquidsvm = _import_liquidsvm()
    for line in sys.stdin:
        task = json.loads(line)
        data = _load(task["file"], task.get("minmax", False))
        print(json.dumps(_run(liquidsvm, data, task)), file=answers, flush=True)


if __name__ == "__main__":
    main()
