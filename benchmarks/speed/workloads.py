"""What is counted: small fits, a partition and a prediction, with every setting pinned.

A workload is made ready by its function, whose result is then called and counted. Defaults may change for the better;
the work here must not, or counts could not be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from localsvm import Grid, LocalQuantileRegressor, LocalSVC, LocalSVR
from localsvm.data import toy_mixture
from localsvm.partition import voronoi_partition

Work = Callable[[], object]

N_CELL, N_FEATURES = 300, 8
N_PARTITION = 20_000
N_PREDICT = 5000
ONE_CELL: dict[str, Any] = {
    "partition": "none",
    "scaling": None,
    "kernel": "gauss",
    "relevance": None,
    "grid": Grid.liquidsvm(),
    "n_folds": 5,
    "search": "full",
    "refit": "combine",
    "n_jobs": 1,
    "members": 1,
}


def _hinge() -> Work:
    X, y = toy_mixture(N_CELL, N_FEATURES, random_state=0)
    return lambda: LocalSVC(objective="accuracy", **ONE_CELL).fit(X, y)


def _logistic() -> Work:
    X, y = toy_mixture(N_CELL, N_FEATURES, random_state=0)
    return lambda: LocalSVC(**{**ONE_CELL, "search": "auto"}).fit(X, y)


def _squares() -> Work:
    X, y = _numbers()
    return lambda: LocalSVR(**ONE_CELL).fit(X, y)


def _pinball() -> Work:
    X, y = _numbers()
    return lambda: LocalQuantileRegressor(quantile=0.9, **ONE_CELL).fit(X, y)


def _partition() -> Work:
    X, _ = toy_mixture(N_PARTITION, N_FEATURES, random_state=0)
    return lambda: voronoi_partition(X, cell_size=1000).assign(X)


def _prediction() -> Work:
    X, y = toy_mixture(N_CELL + N_PREDICT, N_FEATURES, random_state=0)
    clf = LocalSVC(objective="accuracy", **ONE_CELL).fit(X[:N_CELL], y[:N_CELL])
    return lambda: clf.decision_function(X[N_CELL:])


def _numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_CELL, N_FEATURES)).astype(np.float32)
    return X, np.sin(4 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=N_CELL)


WORKLOADS: dict[str, Callable[[], Work]] = {
    f"train a cell of {N_CELL}: hinge": _hinge,
    f"train a cell of {N_CELL}: logistic": _logistic,
    f"train a cell of {N_CELL}: squares": _squares,
    f"train a cell of {N_CELL}: pinball": _pinball,
    f"cut {N_PARTITION} rows into cells": _partition,
    f"predict {N_PREDICT} rows": _prediction,
}
