"""Learning problems for Spark, each with its estimator of `localsvm`."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cells import blobs

from localsvm import Grid, LocalQuantileRegressor, LocalSVC, LocalSVR
from localsvm.data import toy_mixture

COMMON = {"cell_size": 150, "n_folds": 2, "grid": Grid(n_widths=2, n_lams=3)}


@dataclass(frozen=True)
class Problem:
    """Rows, and what to learn from them in cells of 150 rows and coarse cells of 500."""

    X: np.ndarray
    y: np.ndarray
    twin: type
    parameters: dict[str, Any] = field(default_factory=dict)
    twin_parameters: dict[str, Any] | None = None
    weight: np.ndarray | None = None

    @property
    def on_spark(self):
        return {**COMMON, "coarse_size": 500, **self.parameters}

    def fit_without_spark(self, partition, **given):
        own = self.parameters if self.twin_parameters is None else self.twin_parameters
        estimator = self.twin(**COMMON, **own, members=1, partition=partition, n_jobs=1)
        return estimator.fit(self.X, self.y, self.weight, **given)


def two_classes(n=1500, seed=0):
    X, y = toy_mixture(n, 3, random_state=seed)
    return X.astype(np.float64), y.astype(np.float64)


def _rare():
    X, y = two_classes(seed=1)
    rng = np.random.default_rng(1)
    kept = (y < 0) | (rng.uniform(size=len(y)) < 0.3)
    weight = np.where(rng.uniform(size=len(y)) < 0.1, 0.0, rng.gamma(2.0, size=len(y)))
    X = np.concatenate([X, X[:100]])  # with duplicates
    y, weight, kept = np.append(y, y[:100]), np.append(weight, weight[:100]), np.append(kept, kept[:100])
    return X[kept], y[kept], weight[kept]


def _numbers(n=1200):
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def _make():
    X, y = two_classes()
    rare, label, weight = _rare()
    many, classes = blobs(1200, 3)
    numbers, target = _numbers()
    for_rates = {"objective": "tpr_tnr", "class_weight": "balanced", "scaling": "quantile"}
    return {
        "two classes": Problem(X, y, LocalSVC),
        "weights, duplicates, rates": Problem(rare, label, LocalSVC, for_rates, weight=weight),
        "three classes": Problem(
            many.astype(np.float64), classes + 5.0, LocalSVC, {"multiclass": "ovr", "random_state": 3}
        ),
        "numbers": Problem(numbers, target, LocalSVR, {"scaling": "standard"}),
        "a quantile": Problem(
            numbers, target, LocalQuantileRegressor, {"loss": "quantile", "level": 0.8}, {"quantile": 0.8}
        ),
    }


PROBLEMS = _make()
