"""Runs inside LightGBM's environment: fits and predicts on arrays from a file.

Reads a JSON object from the standard input: "file", the path of an .npz (X, y, X_test, y_test, seen), and
"parameters" of LGBMClassifier. Answers with a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
from lightgbm import LGBMClassifier


def _peak_bytes():
    with open("/proc/self/status") as status:
        return 1024 * int(status.read().partition("VmHWM:")[2].split()[0])


def main():
    warnings.simplefilter("ignore")
    task = json.loads(sys.stdin.readline())
    with np.load(task["file"]) as arrays:
        data = {name: arrays[name] for name in arrays}
    model = LGBMClassifier(n_jobs=-1, random_state=0, verbose=-1, **task["parameters"])
    begin, cpu = time.perf_counter(), time.process_time()
    model.fit(data["X"], data["y"])
    fitted, cpu = time.perf_counter(), time.process_time() - cpu
    wrong = model.predict(data["X_test"]) != data["y_test"]
    predicted = time.perf_counter()
    figures = {
        "train": fitted - begin,
        "cpu": cpu,
        "predict": predicted - fitted,
        "error": float(wrong.mean()),
        "error_unseen": float(wrong[~data["seen"]].mean()),
        "peak": _peak_bytes(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
