"""Runs inside LightGBM's environment with lleaves: trains, compiles and predicts on arrays from a file.

Reads a JSON object from the standard input: "file", the path of an .npz (X, y, X_test, y_test), "model", where the
trained model is kept, "parameters" of LGBMClassifier, and "compile", whether to compile it, too. Answers with a line of
JSON: processor seconds of predicting X_test in one thread, the least of several, and the error.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import lightgbm
import numpy as np


def _least(predict, repeats=3):
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        predict()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def _trained(task, X, y):
    file = Path(task["model"])
    if not file.exists():
        model = lightgbm.LGBMClassifier(n_jobs=-1, random_state=0, verbose=-1, **task["parameters"]).fit(X, y)
        model.booster_.save_model(file)
    return lightgbm.Booster(model_file=str(file))


def _compiled(task):
    import lleaves

    file, begin = Path(task["model"]), time.perf_counter()
    model = lleaves.Model(model_file=str(file))
    model.compile(cache=str(file.with_suffix(".o")), fblocksize=10)
    return model, time.perf_counter() - begin


def main():
    warnings.simplefilter("ignore")
    task = json.loads(sys.stdin.readline())
    with np.load(task["file"]) as arrays:
        X, y, X_test, y_test = (arrays[name] for name in ("X", "y", "X_test", "y_test"))
    booster = _trained(task, X, y)
    given = booster.predict(X_test, num_threads=1)
    chosen = given.argmax(axis=1) if given.ndim == 2 else (given > 0.5).astype(int)
    figures = {
        "own": _least(lambda: booster.predict(X_test, num_threads=1)),
        "error": float((chosen != y_test).mean()),
        "row": min(_least(lambda: booster.predict(X_test[:1], num_threads=1), 200), 1.0),
    }
    if task["compile"]:
        model, figures["compiling"] = _compiled(task)
        wide = X_test.astype(np.float64)
        np.testing.assert_allclose(model.predict(wide[:1000]), given[:1000], rtol=1e-6, atol=1e-9)
        figures["compiled"] = _least(lambda: model.predict(wide, n_jobs=1))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
