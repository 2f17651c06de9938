"""Data as they should not be, but are: many duplicates of few rows, values far outside of all others."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR

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
