"""Data as they should not be, but are: many duplicates of few rows, values far outside of all others."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR, RareClassWarning
from localsvm.cell.settings import CellSettings
from localsvm.data.scaling import QuantileScaling
from localsvm.metric.choose_scaling import Sample
from localsvm.metric.sample import FitContext, MetricPlan, fit_sample_scaling
from localsvm.partition.build import PartitionPlan
from localsvm.tasks import OneVsOne, OneVsRest

REGRESSORS = (LocalSVR, LocalQuantileRegressor, LocalExpectileRegressor)


def duplicated(n, distinct, d, seed):
    """Return n rows with at most `distinct` different values, and a noisy target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(distinct, d))[rng.integers(0, distinct, n)]
    return X, X.sum(axis=1) + 0.1 * rng.normal(size=n)


@settings(max_examples=25, deadline=None)
@given(
    estimator=st.sampled_from([*REGRESSORS, LocalSVC]),
    n=st.sampled_from([1, 2, 10, 999, 1000, 3000, 9000]),
    distinct=st.sampled_from([1, 2, 5, 50]),
    partition=st.sampled_from(["voronoi", "chunks", "overlap", "none"]),
    seed=st.integers(0, 3),
)
def test_many_duplicates_of_few_rows_are_fitted(estimator, n, distinct, partition, seed):
    X, y = duplicated(n, distinct, 3, seed)
    if estimator is LocalSVC:
        y = np.arange(n) % 2
        if n < 2:
            return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator(grid=2, n_folds=2, partition=partition, cell_size=500).fit(X, y)
    assert np.isfinite(model.predict(X[:50]).astype(float)).all()


@pytest.mark.parametrize("regressor", REGRESSORS)
@pytest.mark.filterwarnings("ignore")
def test_the_prediction_of_a_duplicated_row_is_near_the_mean_of_its_targets(regressor):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (20_000, 3)).astype(float)
    y = X.sum(axis=1) + 0.1 * rng.normal(size=len(X))
    corners = np.unique(X, axis=0)
    np.testing.assert_allclose(regressor(grid=3).fit(X, y).predict(corners), corners.sum(axis=1), atol=0.1)


@pytest.mark.parametrize("n", [400, 3000])
@pytest.mark.parametrize("value", [1e3, 1e6, -1e20, 1e37, 1e200, -1e300])
@pytest.mark.filterwarnings("ignore")
def test_one_outlier_does_not_ruin_a_fit(n, value):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 1000, 4))
    y = X[:, 0] + X[:, 1] / 2 > 0
    train = X[:n].copy()
    train[17, 0] = value
    assert LocalSVC(grid=5).fit(train, y[:n]).score(X[n:], y[n:]) > 0.95


def test_a_sample_without_the_outlier_of_all_rows_is_not_scaled_by_it():
    """Of 100 000 rows only some are sampled; min-max scaling is fitted to the extremes of all."""
    sample = Sample(np.random.default_rng(0).normal(size=(5000, 2)), np.ones(5000), np.ones(5000))
    ends = np.array([[-4.0, -4.0], [4.0, 1e6]])
    context = FitContext(CellSettings(), PartitionPlan(), seed=0, n_rows=100_000)
    scaling = fit_sample_scaling(sample, ends, MetricPlan(scaling="auto"), context, map)
    assert isinstance(scaling, QuantileScaling)


@pytest.mark.parametrize(("n_classes", "reduction"), [(100, OneVsOne), (101, OneVsRest)])
@pytest.mark.filterwarnings("ignore")
def test_many_classes_are_compared_with_the_rest_instead_of_in_pairs(n_classes, reduction):
    y = np.arange(2 * n_classes) % n_classes
    model = LocalSVC(grid=1, n_folds=2, kernel="gauss", loss="hinge").fit(np.c_[y, y % 7], y)
    assert isinstance(model.model_.reduction, reduction)


@pytest.mark.parametrize("objective", ["tpr_tnr", "balanced_accuracy", "f1"])
def test_an_objective_that_one_sample_cannot_estimate_falls_back_to_accuracy_with_a_warning(objective):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    y = np.zeros(len(X), dtype=int)
    y[17] = 1
    with pytest.warns(RareClassWarning, match=f"objective='{objective}' cannot be estimated from 1 samples") as found:
        model = LocalSVC(grid=2, kernel="gauss", relevance=None, objective=objective).fit(X, y)
    assert found[0].filename == __file__
    assert model.predict(X).mean() < 0.001
