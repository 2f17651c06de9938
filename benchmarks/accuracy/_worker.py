"""Runs in the environment of a program: fits on a data frame, predicts another, and saves the predictions.

Reads a JSON object from the standard input: "train" and "test", parquet files (columns of text are categories,
`target` is the target), "predictions", the file to write, "kind" (binary, multiclass, regression), "n_classes",
"program", its "parameters", the number of "threads", the rows of a prediction "batch", and a "limit" in processor
seconds, after which the system ends the process. Answers with a line of JSON: seconds, processor seconds, prediction
time and peak memory.

A program is a function that returns a model and what converts a frame to the model's own input, which is not timed.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings

import numpy as np
import pandas as pd


def localsvm(task, X):
    from localsvm import LocalSVC, LocalSVR

    kind = LocalSVR if task["kind"] == "regression" else LocalSVC
    return kind(n_jobs=task["threads"], random_state=0, **task["parameters"]), lambda rows: rows


def lightgbm(task, X):
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if task["kind"] == "regression" else LGBMClassifier
    return kind(n_jobs=task["threads"], verbose=-1, **task["parameters"]), _categorical(X)


def xgboost(task, X):
    from xgboost import XGBClassifier, XGBRegressor

    kind = XGBRegressor if task["kind"] == "regression" else XGBClassifier
    return kind(n_jobs=task["threads"], enable_categorical=True, **task["parameters"]), _categorical(X)


def catboost(task, X):
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostRegressor if task["kind"] == "regression" else CatBoostClassifier
    texts = _texts(X)
    model = kind(
        thread_count=task["threads"], cat_features=texts, verbose=False, allow_writing_files=False, **task["parameters"]
    )
    return model, lambda rows: rows.assign(**{name: rows[name].fillna("missing").astype(object) for name in texts})


def xrfm(task, X):
    """Indicators of levels, standardized columns and a fifth of the rows for validation, as its examples do."""
    import torch
    from sklearn.preprocessing import StandardScaler
    from xrfm import xRFM

    torch.manual_seed(0)
    torch.set_num_threads(task["threads"])
    indicators = pd.get_dummies(_categorical(X)(X))
    middle = indicators.median()
    scaler = StandardScaler().fit(indicators.fillna(middle))
    target = np.float32 if task["kind"] == "regression" else np.int64

    class Model:
        def fit(self, rows, y):
            validation, rest = np.split(np.random.default_rng(0).permutation(len(y)), [len(y) // 5])
            self.model = xRFM(device=torch.device("cpu"), random_state=0, verbose=False, **task["parameters"])
            self.model.fit(rows[rest], y[rest].astype(target), rows[validation], y[validation].astype(target))
            self.classes_ = np.unique(y)

        def predict(self, rows):
            return self.model.predict(rows).reshape(len(rows))

        def predict_proba(self, rows):
            return self.model.predict_proba(rows)

    def convert(rows):
        return scaler.transform(pd.get_dummies(_categorical(X)(rows)).fillna(middle)).astype(np.float32)

    return Model(), convert


def _texts(X):
    return [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]


def _categorical(X):
    """Return a function that gives text columns the levels of the training rows; others are missing."""
    levels = {name: pd.CategoricalDtype(sorted(X[name].dropna().unique())) for name in _texts(X)}
    return lambda rows: rows.astype(levels)


PROGRAMS = {
    "localsvm": localsvm,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
    "xrfm": xrfm,
}
# Their threads wait for each other in loops. On a computer that does other work, too, that takes up to a hundred times
# the processor time of the work itself; if they sleep instead, waking them on an idle one takes several times as much.
# So they sleep, and the times are the lower ones of this fit and of a second one with one thread.
os.environ["OMP_WAIT_POLICY"] = "passive"  # read when OpenMP is loaded
OPENMP = ("lightgbm", "xgboost")


def _predict(model, X, n_classes):
    """Return predictions, one column per class for probabilities; classes without training rows have zeros."""
    if not n_classes:
        return np.asarray(model.predict(X), dtype=np.float64).reshape(len(X), 1)
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(X)
    return probabilities


def _processor_seconds():
    """Return the processor seconds of this process and of the children that have ended."""
    return sum(os.times()[:4])


def _peak_bytes():
    with open("/proc/self/status") as status:
        return 1024 * int(status.read().partition("VmHWM:")[2].split()[0])


def _timed(model, X, y, X_test, task):
    """Return time and memory of a fit and of predictions in batches, and the predictions."""
    begin, processor = time.perf_counter(), _processor_seconds()
    model.fit(X, y)
    seconds, processor = time.perf_counter() - begin, _processor_seconds() - processor
    batches = [X_test[start : start + task["batch"]] for start in range(0, len(X_test), task["batch"])]
    begin = time.perf_counter()
    predictions = [_predict(model, batch, task["n_classes"]) for batch in batches]
    figures = {
        "seconds": seconds,
        "processor_seconds": processor,
        "predict_microseconds": 1e6 * (time.perf_counter() - begin) / len(X_test),
        "peak": _peak_bytes(),
    }
    return figures, np.concatenate(predictions)


def _measure(task):
    train, X_test = pd.read_parquet(task["train"]), pd.read_parquet(task["test"])
    y = train.pop("target").to_numpy()
    model, convert = PROGRAMS[task["program"]](task, train)
    data = convert(train), y, convert(X_test)
    figures, predictions = _timed(model, *data, task)
    np.save(task["predictions"], predictions)
    if task["program"] in OPENMP:
        alone, _ = _timed(model.set_params(n_jobs=1), *data, task)
        figures |= {name: min(figures[name], alone[name]) for name in alone if name != "peak"}
    return figures


def main():
    warnings.simplefilter("ignore")
    task = json.loads(sys.stdin.readline())
    resource.setrlimit(resource.RLIMIT_CPU, (int(task["limit"]), int(task["limit"]) + 5))
    print(json.dumps(_measure(task)))


if __name__ == "__main__":
    main()
