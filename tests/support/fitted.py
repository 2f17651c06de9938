"""Small fitted estimators of every kind, for what must hold for all of them."""

import numpy as np
import pandas as pd
from cells import blobs
from single import svc

from localsvm import Grid, LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR
from localsvm.data import toy_mixture
from localsvm.partition import voronoi_partition

SMALL = {"grid": Grid(n_widths=3, n_lams=3), "cell_size": 40, "scaling": "minmax", "members": 1}


def toy(n=150, d=3, seed=0):
    X, y = toy_mixture(n, d, random_state=seed)
    return X, y.astype(int)


def numbers(n=120, d=2):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(n, d))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def frame(n=120):
    rng = np.random.default_rng(2)
    columns = {"size": rng.uniform(size=n), "colour": rng.choice(["red", "grün", "blue"], n), "age": rng.normal(size=n)}
    rows = pd.DataFrame(columns)
    rows.loc[::7, "age"] = np.nan
    rows.loc[::11, "colour"] = None
    y = np.where((columns["colour"] == "red") ^ (columns["size"] > 0.5), "yes", "no")
    return rows, y


def _classifier(data=toy, **parameters):
    return lambda: (LocalSVC(**{**SMALL, "objective": "accuracy", **parameters}), *data())


def _regressor(kind, data=numbers, **parameters):
    return lambda: (kind(**{**SMALL, **parameters}), *data())


def _two_targets():
    X, y = numbers()
    return X, np.column_stack([y, -2 * y + 1])


def _three(labels):
    X, y = blobs(120, 3)
    return X, np.asarray(labels)[y.astype(int)]


def _on_given_cells():
    X, y = toy()
    return svc(grid=SMALL["grid"], scaling=None, partition=voronoi_partition(X, 50)), X, y


UNFITTED = {
    "voronoi": _classifier(),
    "logistic": _classifier(objective="log_loss"),
    "logistic, three classes": _classifier(lambda: _three(["a", "b", "c"]), objective="log_loss"),
    "members": _classifier(objective="log_loss", members=3),
    "members, frame": _classifier(frame, objective="log_loss", members=4, missing="impute", scaling="auto"),
    "members, numbers": _regressor(LocalSVR, members=2),
    "chunks": _classifier(partition="chunks", class_weight={-1: 2, 1: 1.5}),
    "overlap": _classifier(partition="overlap", kernel="laplace", n_jobs=1),
    "radius": _classifier(partition="radius", cell_radius=0.4, search="racing", random_state=7),
    "none": _classifier(partition="none", refit="retrain", scaling="quantile", max_memory="1GB"),
    "given cells": _on_given_cells,
    "random state": _classifier(scaling="auto", random_state=np.random.RandomState(3)),
    "squared": _classifier(loss="squared", scaling="standard", class_weight="balanced"),
    "pairs": _classifier(lambda: _three([10, 20, 30]), class_weight={10: 2.0, np.int64(30): 0.5}),
    "rest": _classifier(lambda: _three(["a", "bb", "ccc"]), multiclass="ovr", partition="chunks"),
    "purpose": _classifier(lambda: _three([True, False, True]), objective="tpr_tnr"),
    "false alarm": _classifier(false_alarm=0.2),
    "machines": _classifier(positive_weights=[0.5, 1, 2]),
    "frame": _classifier(frame, missing="impute"),
    "numbers": _regressor(LocalSVR),
    "two targets": _regressor(LocalSVR, _two_targets, partition="overlap"),
    "tube": _regressor(LocalSVR, loss="epsilon_insensitive", epsilon=0.05),
    "quantile": _regressor(LocalQuantileRegressor, quantile=0.3),
    "quantiles": _regressor(LocalQuantileRegressor, quantile=np.array([0.9, 0.1, 0.5]), partition="chunks"),
    "expectile": _regressor(LocalExpectileRegressor, expectile=0.7),
    "expectiles": _regressor(LocalExpectileRegressor, expectile=(0.8, 0.2), n_folds=1),
}
"""By name, a function that returns an estimator and what to fit it to."""


def predictions(estimator, X):
    """All that an estimator says of rows."""
    names = ("predict", "decision_function", "predict_proba", "gradient")
    return {name: getattr(estimator, name)(X) for name in names if hasattr(estimator, name)}
