"""Runs inside the environment of LightGBM or xRFM: fits, and saves predictions for arrays from a file.

Reads a JSON object from the standard input: "file", the path of an .npz (X, y, X_test), "program", "task" ("classes" or
"mean"), "parameters", and "predictions", where to save. Answers with a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

import numpy as np


def _lightgbm(task, data):
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if task["task"] == "classes" else LGBMRegressor
    model = kind(n_jobs=-1, random_state=0, verbose=-1, **task["parameters"])
    begin = time.perf_counter()
    model.fit(data["X"], data["y"])
    return time.perf_counter() - begin, lambda: model.predict(data["X_test"])


def _xrfm(task, data):
    """Its defaults on the processor, on standardised columns; a fifth of the rows validates, as its manual does."""
    from sklearn.model_selection import train_test_split
    from xrfm import xRFM

    begin = time.perf_counter()
    mean, spread = data["X"].mean(axis=0), data["X"].std(axis=0)
    X, X_test = ((data[name] - mean) / np.where(spread > 0, spread, 1) for name in ("X", "X_test"))
    classes, y = data["y"], data["y"].astype(np.float32)
    if task["task"] == "classes":
        classes, y = np.unique(data["y"], return_inverse=True)
    else:
        y = y[:, None]
    X, X_val, y, y_val = train_test_split(X.astype(np.float32), y, test_size=0.2, random_state=0)
    model = xRFM(device="cpu", random_state=0, verbose=False, **task["parameters"])
    model.fit(X, y, X_val, y_val)
    fitted = time.perf_counter() - begin

    def predict():
        values = np.asarray(model.predict(X_test.astype(np.float32)))
        return classes[values.ravel().astype(int)] if task["task"] == "classes" else values

    return fitted, predict


def main():
    warnings.simplefilter("ignore")
    # Peers write to the standard output as they like: the answer goes to a copy of it.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    task = json.loads(sys.stdin.readline())
    with np.load(task["file"]) as arrays:
        data = {name: arrays[name] for name in arrays}
    train, predict = {"lightgbm": _lightgbm, "xrfm": _xrfm}[task["program"]](task, data)
    begin = time.perf_counter()
    predictions = predict()
    np.save(task["predictions"], predictions.reshape(len(predictions), -1))
    print(json.dumps({"train": train, "predict": time.perf_counter() - begin}), file=answers, flush=True)


if __name__ == "__main__":
    main()
