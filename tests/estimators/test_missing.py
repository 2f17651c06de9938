"""missing="impute": medians of the training rows, remembered, and a column that says where gaps were."""

import numpy as np
import pandas as pd
import pytest
from cells import support_vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score

from localsvm import InvalidData, LocalSVC
from localsvm.data import toy_mixture

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


def small(**parameters):
    return LocalSVC(**{"grid": 3, "n_folds": 3, "missing": "impute", **parameters})


def gappy(n=150, missing=0.2, seed=0, columns=(0, 2)):
    X, y = toy_mixture(n, 3, random_state=seed)
    X = X.astype(np.float64)
    for column in columns:
        X[np.random.default_rng(seed + column).random(n) < missing, column] = np.nan
    return X, y


def test_a_column_that_is_complete_in_training_is_filled_with_its_median_later():
    X, y = gappy(columns=())
    clf, plain = small().fit(X, y), small(missing="error").fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), plain.decision_function(X))
    later, _ = gappy(seed=1)
    filled = SimpleImputer(strategy="median").fit(X).transform(later)
    np.testing.assert_array_equal(clf.decision_function(later), plain.decision_function(filled))


def test_a_fit_is_that_of_imputed_numbers_with_columns_for_the_gaps():
    X, y = gappy()
    clf = small(scaling=None).fit(X, y)
    imputer = SimpleImputer(strategy="median", add_indicator=True).fit(X)
    view = clf.columns_.view()
    share = np.isnan(X[:, [0, 2]]).mean(axis=0)
    order = [*view.origins[:3], *(3 + np.searchsorted([0, 2], view.origins[3:]))]

    def by_hand(rows):
        wide = imputer.transform(rows)
        wide[:, 3:] /= np.sqrt(share * (1 - share))
        return wide[:, order]

    plain = LocalSVC(grid=3, n_folds=3, scaling=None).fit(by_hand(X), y)
    later, _ = gappy(seed=1)
    np.testing.assert_allclose(clf.decision_function(later), plain.decision_function(by_hand(later)), rtol=1e-6)
    assert clf.n_features_in_ == 3


@pytest.mark.parametrize("scaling", ["minmax", "standard", "quantile"])
def test_columns_for_gaps_are_not_stretched_by_a_scaling(scaling):
    X, y = gappy(missing=0.02)
    clf = small(scaling=scaling).fit(X, y)
    flags = np.concatenate([support_vectors(cell)[:, 3:] for cell in clf.model_.cells])
    assert set(np.unique(flags)) == {np.float32(0), *clf.columns_.numbers.missing_factor.astype(np.float32)}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_order_of_rows_and_absent_rows_do_not_matter(seed):
    X, y = gappy(n=80, seed=seed % 100)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, size=80).astype(float)
    repeated = np.repeat(np.arange(80), weight.astype(int))
    order = rng.permutation(80)
    one = small().fit(X, y, weight).decision_function(X)
    np.testing.assert_array_equal(small().fit(X[order], y[order], weight[order]).decision_function(X), one)
    np.testing.assert_array_equal(small().fit(X[repeated], y[repeated]).decision_function(X), one)


def test_a_column_without_values_is_dropped_in_fit_and_prediction():
    X, y = gappy()
    X[:, 1] = np.nan
    clf, without = small(scaling=None).fit(X, y), small(scaling=None).fit(X[:, [0, 2]], y)
    X[:, 1] = 1e6
    np.testing.assert_array_equal(clf.decision_function(X), without.decision_function(X[:, [0, 2]]))


def test_rows_without_any_value_are_refused(no_work):
    with pytest.raises(InvalidData, match="all values of all columns are missing"):
        small().fit(np.full((4, 2), np.nan), [0, 1, 0, 1])


def test_gaps_that_inform_are_learned_from():
    X, y = gappy(n=600, columns=())
    informed = np.random.default_rng(0).random(600) < np.where(y > 0, 0.9, 0.1)
    X = np.where(informed, np.nan, np.random.default_rng(1).normal(size=600))[:, None]
    assert small().fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.85


def test_what_a_model_learned_counts_and_not_what_was_set_after():
    X, y = gappy()
    values = (clf := small().fit(X, y)).decision_function(X)
    np.testing.assert_array_equal(clf.set_params(missing="error").decision_function(X), values)
    complete = np.nan_to_num(X)
    plain = small(missing="error").fit(complete, y).set_params(missing="impute")
    with pytest.raises(InvalidData, match=r"column 0 has \d+ missing values"):
        plain.predict(X)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = gappy()
    clf = small().fit(X, y)
    values = clf.decision_function(X)
    with pytest.raises(InvalidData, match="max_memory allows"):
        clf.set_params(max_memory=1000).fit(X + 1, y)
    np.testing.assert_array_equal(clf.decision_function(X), values)


def test_missing_values_of_lists_and_frames_are_imputed_too():
    X, y = gappy()
    expected = small().fit(X, y).decision_function(X)
    listed = [[None if np.isnan(value) else value for value in row] for row in X]
    np.testing.assert_array_equal(small().fit(listed, y).decision_function(listed), expected)
    frame = pd.DataFrame(X, columns=list("abc"))
    nullable = frame.convert_dtypes()
    np.testing.assert_array_equal(small().fit(frame, y).decision_function(nullable), expected)


def test_folds_of_a_cross_validation_learn_their_own_medians():
    X, y = gappy(n=300)
    assert cross_val_score(clone(small()), X, y, cv=3).mean() > 0.6
