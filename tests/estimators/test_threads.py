"""Estimators that threads share: fits and predictions at the same time give what they give one after the other."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fitted import toy
from sklearn.base import clone

from localsvm import LocalQuantileRegressor, LocalSVC, LocalSVR

ESTIMATORS = {
    "classes": LocalSVC(effort="fast", cell_size=150),
    "decisions": LocalSVC(objective="accuracy", members=1, cell_size=150, grid=3),
    "members": LocalSVC(members=2, grid=3, cell_size=150),
    "means": LocalSVR(effort="fast", cell_size=150),
    "quantiles": LocalQuantileRegressor(quantile=[0.2, 0.8], cell_size=150, grid=3),
}


@pytest.fixture
def often():
    """Let threads take turns as often as the interpreter allows."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning", "ignore::localsvm.PrecisionWarning")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_threads_predict_with_one_estimator_while_others_fit(kind, often):
    X, y = toy(600)
    shared = clone(ESTIMATORS[kind]).set_params(n_jobs=2).fit(X, y)
    expected = clone(shared).fit(X, y).predict(X)  # of another estimator, so that `shared` packs its cells in threads
    parts = np.array_split(np.arange(len(X)), 20)

    def predict(part):
        return shared.predict(X[part])

    def fit(_):
        return clone(shared).fit(X, y).predict(X)

    with ThreadPoolExecutor(8) as pool:
        fits = [pool.submit(fit, number) for number in range(2)]
        predictions = [pool.submit(predict, part) for _ in range(5) for part in parts]
        rows = np.concatenate([prediction.result() for prediction in predictions])
        for fitted in fits:
            np.testing.assert_array_equal(fitted.result(), expected)
    np.testing.assert_array_equal(rows, np.concatenate([expected] * 5))


@pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")
def test_an_estimator_that_is_fitted_again_predicts_with_one_model_or_the_other():
    X, y = toy(400)
    estimator = LocalSVC(effort="fast", cell_size=150, random_state=0).fit(X, y)
    before = estimator.predictor()
    expected = before.predict(X)
    with ThreadPoolExecutor(4) as pool:
        again = pool.submit(estimator.fit, X[:200], y[:200])
        found = [pool.submit(before.predict, X) for _ in range(20)]
        again.result()
    for prediction in found:
        np.testing.assert_array_equal(prediction.result(), expected)
