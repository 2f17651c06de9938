"""Fitted models of every kind with their evaluations; figures are closed after each test."""

from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
import pytest
from cells import blobs
from single import svc, svr

from localsvm import LocalExpectileRegressor, LocalQuantileRegressor
from localsvm.data import toy_mixture
from localsvm.evaluation import Evaluation, Evaluator
from localsvm.report import write_report

matplotlib.use("Agg")

HOSTILE = (
    "<script>window.broken = true</script>",
    "$x^2$ & \"quotes'",
    "a very long name of a class, longer than most",
)


@dataclass(frozen=True)
class Fitted:
    """An estimator, test rows, and its evaluation on them."""

    estimator: Any
    X: np.ndarray
    y: np.ndarray
    evaluation: Evaluation


def fitted(estimator, X, y, n_train):
    estimator.fit(X[:n_train], y[:n_train])
    evaluator = Evaluator(estimator)
    evaluator.add(X[n_train:], y[n_train:])
    return Fitted(estimator, X[n_train:], y[n_train:], evaluator.result())


def two_classes():
    return fitted(svc(cell_size=80, grid=3), *toy_mixture(1200, 2, random_state=0), 600)


def many_features():
    return fitted(svc(cell_size=100, grid=3), *toy_mixture(1200, 7, random_state=0), 600)


def hostile_classes():
    X, y = blobs(900, 3, d=4, noise=1.0)
    return fitted(svc(cell_size=80, grid=3), X, np.array(HOSTILE)[y.astype(int)], 400)


def thirteen_classes():
    X, y = blobs(1200, 13, d=3, noise=1.5)
    return fitted(svc(cell_size=150, grid=2), X, y, 700)


def _numbers():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(900, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] * rng.normal(size=900)


def means():
    return fitted(svr(cell_size=100, grid=3), *_numbers(), 500)


def two_targets():
    X, y = _numbers()
    return fitted(svr(cell_size=100, grid=2), X, np.column_stack([y, X[:, 0]]), 500)


def quantiles():
    return fitted(LocalQuantileRegressor(quantile=[0.1, 0.9], cell_size=100, grid=2), *_numbers(), 500)


def expectiles():
    return fitted(LocalExpectileRegressor(expectile=0.8, cell_size=100, grid=2), *_numbers(), 500)


def chunks():
    return fitted(svc(partition="chunks", cell_size=100, grid=2), *toy_mixture(700, 3, random_state=0), 300)


def one_cell():
    return fitted(svc(partition="none", grid=2), *toy_mixture(400, 3, random_state=0), 200)


KINDS = (
    two_classes,
    many_features,
    hostile_classes,
    thirteen_classes,
    means,
    two_targets,
    quantiles,
    expectiles,
    chunks,
    one_cell,
)


@pytest.fixture(scope="session")
def models():
    """Models by kind, fitted on first use."""
    known = {}

    def get(kind):
        if kind not in known:
            known[kind] = next(make for make in KINDS if make.__name__ == kind)()
        return known[kind]

    return get


@pytest.fixture(params=[kind.__name__ for kind in KINDS])
def any_kind(request):
    return request.param


@pytest.fixture
def any_model(any_kind, models):
    return models(any_kind)


@pytest.fixture(scope="session")
def pages(models, tmp_path_factory):
    """Reports by kind of model, with or without test rows, written on first use."""
    folder, known = tmp_path_factory.mktemp("pages"), {}

    def get(kind, *, tested=True):
        if (kind, tested) not in known:
            evaluation = models(kind).evaluation if tested else None
            known[kind, tested] = write_report(models(kind).estimator, folder / f"{kind}-{tested}.html", evaluation)
        return known[kind, tested]

    return get


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
