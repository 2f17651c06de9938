"""Rows that occur several times: an ensemble remembers their targets as far as out-of-fold losses support it."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from fitted import SMALL
from sklearn.base import clone
from sklearn.metrics import log_loss

import localsvm
from localsvm import LocalSVC, LocalSVR
from localsvm.data.files import open_file
from localsvm.evaluation.streaming import predict_batches

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")

LEVELS = ["a", "b", "c", "d", "e", "f"]


def discrete(n, seed):
    """Rows of 72 kinds, each with a rate of its own, which its neighbors do not know."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"letter": rng.choice(LEVELS, n), "size": rng.integers(12, size=n).astype(float)})
    kind = rows["letter"].map(LEVELS.index) * 12 + rows["size"].astype(int)
    rate = np.random.default_rng(0).choice([0.05, 0.95], 72)[kind]
    return rows, np.where(rng.random(n) < rate, "yes", "no"), rate


@pytest.fixture(scope="module", params=[1, 2])
def fitted(request):
    """A classifier of discrete rows with one member or two, and what it was fitted to."""
    rows, y, _ = discrete(1500, seed=1)
    parameters = {**SMALL, "members": request.param, "cell_size": 2000, "missing": "impute"}
    return LocalSVC(**parameters, objective="log_loss").fit(rows, y), rows, y


def test_probabilities_are_near_the_rates_of_the_duplicates(fitted):
    clf, _, _ = fitted
    rows, y, rate = discrete(3000, seed=2)
    best, known = log_loss(y, np.column_stack([1 - rate, rate])), log_loss(y, clf.predict_proba(rows))
    forgetful = copy(clf)
    forgetful._duplicates = None
    assert known < best + 0.05 < log_loss(y, forgetful.predict_proba(rows))
    scores = clf.decision_function(rows)
    np.testing.assert_allclose(clf.predict_proba(rows)[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-12)
    assert (clf.predict(rows) == np.where(scores >= 0, "yes", "no")).all()


def test_a_saved_model_and_a_stream_predict_the_same(fitted, tmp_path):
    clf, rows, _ = fitted
    clf.save(tmp_path / "model.lsvm")
    loaded = localsvm.load(tmp_path / "model.lsvm")
    np.testing.assert_array_equal(loaded.predict_proba(rows), clf.predict_proba(rows))
    rows.to_parquet(tmp_path / "rows.parquet")
    streamed = predict_batches(loaded, open_file(tmp_path / "rows.parquet"), probabilities=True, rows=400)
    found = np.concatenate([batch.column("probability_yes").to_numpy() for batch in streamed])
    np.testing.assert_array_equal(found, clf.predict_proba(rows)[:, 1])


def test_order_names_columns_threads_and_weights_change_no_bit(fitted):
    clf, rows, y = fitted
    expected = clf.predict_proba(rows)
    order = np.random.default_rng(3).permutation(len(rows))
    again = clone(clf).set_params(n_jobs=3).fit(rows.iloc[order], y[order])
    np.testing.assert_array_equal(again.predict_proba(rows), expected)
    renamed = rows.assign(letter=rows["letter"].str.upper().radd("_"))[["size", "letter"]]
    np.testing.assert_array_equal(clone(clf).fit(renamed, y).predict_proba(renamed), expected)
    counted = rows.assign(y=y).value_counts().reset_index()
    weighted = clone(clf).fit(counted[["letter", "size"]], counted["y"].to_numpy(), counted["count"].to_numpy())
    np.testing.assert_array_equal(weighted.predict_proba(rows), expected)


def test_numbers_are_remembered_and_targets_of_single_rows_are_not():
    rng = np.random.default_rng(4)
    X = rng.integers(40, size=(1200, 1)).astype(float)
    mean = rng.normal(size=40)
    y = mean[X[:, 0].astype(int)] + 0.1 * rng.normal(size=1200)
    reg = LocalSVR(**SMALL).fit(X, y)
    np.testing.assert_allclose(reg.predict(np.arange(40.0)[:, None]), mean, atol=0.15)
    single = LocalSVR(**SMALL).fit(X + rng.uniform(0, 0.01, X.shape), y)
    assert single._duplicates is None
