"""Fits an estimator and saves its predictions, in a process of its own: a JSON task comes in, JSON goes out."""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from benchmarks.workers import DECISIONS, peak_bytes
from localsvm import LocalQuantileRegressor, LocalSVC, LocalSVR

LOCAL = {"mean": LocalSVR, "quantiles": LocalQuantileRegressor}
N_TUNING = 2000
GRID = {
    "scaler": [MinMaxScaler(), StandardScaler()],
    "svc__C": [1, 10, 100],
    "svc__gamma": [0.01, 0.1, 1, 10],
}


class CalibratedSVC:
    """scikit-learn's SVC, tuned on a sample, with its probabilities calibrated by a sigmoid on 5 folds."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        pipeline = Pipeline([("scaler", None), ("svc", SVC(cache_size=1000))])
        tuned = GridSearchCV(pipeline, GRID, cv=3, n_jobs=-1, refit=False).fit(X[:N_TUNING], y[:N_TUNING])
        best = pipeline.set_params(**tuned.best_params_)
        self._model = CalibratedClassifierCV(best, method="sigmoid", cv=5, n_jobs=-1).fit(X, y)

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._model.predict_proba(X))


def _estimator(task: dict[str, Any]) -> Any:
    if task["program"] == "calibrated SVC":
        return CalibratedSVC()
    parameters = task["parameters"]
    if "class_weight" in parameters:  # JSON has made the labels text
        parameters["class_weight"] = {int(label): weight for label, weight in parameters["class_weight"].items()}
    if task["task"] in LOCAL:
        return LOCAL[task["task"]](**{"members": 1, **parameters})
    return LocalSVC(**({} if task["task"] == "probabilities" else DECISIONS) | parameters)


def _measure(task: dict[str, Any]) -> dict[str, Any]:
    with np.load(task["file"]) as arrays:
        data = {name: arrays[name] for name in arrays}
    model = _estimator(task)
    begin = time.perf_counter()
    model.fit(data["X"], data["y"])
    fitted = time.perf_counter()
    predict = model.predict_proba if task["task"] == "probabilities" else model.predict
    predictions = predict(data["X_test"])
    predicted = time.perf_counter()
    np.save(task["predictions"], predictions.reshape(len(predictions), -1))
    return {
        "train": fitted - begin,
        "predict": predicted - fitted,
        "peak": peak_bytes(),
        "cells": getattr(model, "n_cells_", None),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    print(json.dumps(_measure(json.loads(sys.stdin.readline()))))


if __name__ == "__main__":
    main()
