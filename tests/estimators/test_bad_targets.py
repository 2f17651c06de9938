"""Targets of a regression that are none get a sentence before work starts; those that reasonably can, work."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from localsvm import InvalidData, LocalExpectileRegressor, LocalQuantileRegressor, LocalSVR

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]

ALL = [
    LocalSVR(grid=3),
    LocalSVR(grid=3, loss="epsilon_insensitive"),
    LocalQuantileRegressor(grid=3),
    LocalQuantileRegressor(grid=3, quantile=[0.1, 0.9]),
    LocalExpectileRegressor(grid=3),
]
every_regressor = pytest.mark.parametrize("regressor", ALL, ids=str)
ADVICE = "Regression needs numbers; for classes use LocalSVC"
X = np.random.default_rng(0).normal(size=(40, 2))
Y = X[:, 0]


def at(row, value, dtype=None):
    """The targets, with another one in a row."""
    targets = Y.astype(dtype) if dtype else Y.copy()
    targets[row] = value
    return targets


@every_regressor
@pytest.mark.parametrize(
    ("targets", "sentence"),
    [
        (None, "the target y is None: give numbers"),
        (at(7, np.nan), r"^y has 1 targets that are NaN or infinity \(first at row 7\)\. Drop these rows\.$"),
        (at([3, 5], np.inf), r"y has 2 targets that are NaN or infinity \(first at row 3\)"),
        (pd.Series([pd.NA, *Y[1:]], dtype="Float64"), r"y has 1 targets that are NaN .*row 0"),
        (["ash"] * 40, rf"^y has dtype <U3 \(first: 'ash'\), which are not numbers\. {ADVICE}\.$"),
        ([str(y) for y in Y], rf"y has dtype <U.*, which are not numbers\. {ADVICE}"),
        ([b"1"] * 40, rf"y has dtype \|S1 \(first: b'1'\).* {ADVICE}"),
        (at(4, "ash", object), rf"^y has targets that are not numbers \(first at row 4: 'ash'\)\. {ADVICE}\.$"),
        (at(4, None, object), r"y has targets that are not numbers \(first at row 4: None\)"),
        (at(4, 10**400, object), r"y has targets that are not numbers \(first at row 4: 1000"),
        ([object()] * 40, rf"y has targets that are not numbers \(first at row 0: <object .* {ADVICE}"),
        (pd.Series(["a", "b"] * 20, dtype="category"), rf"not numbers \(first at row 0: 'a'\).*{ADVICE}"),
        (pd.date_range("2024-01-01", periods=40), r"y has dtype datetime64.* which are not numbers"),
        (np.arange(40).astype("m8[s]"), r"y has dtype timedelta64\[s\] .* which are not numbers"),
        (Y + 1j, "^Complex data not supported: y has complex numbers"),
        ([[1.0], [1.0, 2.0]] * 20, "^y has rows of different lengths"),
        (Y[:39], "^X has 40 rows but y has 39 targets .*give one target per row"),
        (np.append(Y, 0.0), "X has 40 rows but y has 41 targets"),
        ([], "X has 40 rows but y has 0 targets"),
        (3.0, r"y should be a 1d array, got an array of shape \(\)"),
        ({"a": 1}, "y should be a 1d array"),
        (Y.reshape(40, 1, 1), "Found array with dim 3"),
        (np.zeros((40, 0)), "no columns|minimum of 1 is required"),
        (1e38 * Y, r"y has targets up to \d.*e\+38: single precision needs at most 1e\+31\. Choose another unit"),
        (1e300 * Y, r"y has targets up to \d.*e\+300: single precision"),
        (1e-40 * Y, r"the targets differ by \d.*e-40 at most: single precision needs 1e-31 at least"),
    ],
)
def test_targets_that_are_none_are_refused(no_work, regressor, targets, sentence):
    with pytest.raises(ValueError, match=sentence):
        regressor.fit(X, targets)


@every_regressor
def test_sparse_targets_are_refused(no_work, regressor):
    with pytest.raises(TypeError, match=r"Sparse data was passed for y, .*toarray"):
        regressor.fit(X, sparse.csr_matrix(Y[:, None]))


@pytest.mark.parametrize("regressor", ALL[2:], ids=str)
def test_levels_have_one_target(no_work, regressor):
    with pytest.raises(ValueError, match=r"y should be a 1d array, got an array of shape \(40, 2\)"):
        regressor.fit(X, np.column_stack([Y, Y]))


@pytest.mark.parametrize("regressor", ALL[:2], ids=str)
def test_of_several_targets_the_first_bad_one_is_reported(no_work, regressor):
    targets = np.column_stack([Y, at([9, 2], np.nan)])
    with pytest.raises(InvalidData, match=r"y has 2 targets that are NaN or infinity \(first at row 2\)"):
        regressor.fit(X, targets)
    with pytest.raises(InvalidData, match=r"not numbers \(first at row 0: 'x'\)"):
        regressor.fit(X, pd.DataFrame({"a": Y, "b": ["x"] * 40}))


@every_regressor
@pytest.mark.parametrize(
    "targets",
    [
        Y.tolist(),
        Y.astype(object),
        [Decimal(y) for y in Y],
        pd.Series(Y, dtype="Float64"),
        pd.Series(Y, index=np.arange(40)[::-1]),
        Y.astype(np.longdouble),
        np.asfortranarray(Y),
        np.column_stack([Y, Y])[:, 0],
    ],
    ids=["list", "objects", "decimals", "Float64", "series", "long", "fortran", "strided"],
)
def test_whatever_numpy_can_make_numbers_of_works(regressor, targets):
    np.testing.assert_array_equal(regressor.fit(X, targets).predict(X), regressor.fit(X, Y).predict(X))


@every_regressor
@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float16, np.float32])
def test_booleans_and_integers_are_numbers(regressor, kind):
    targets = (Y > 0).astype(kind)
    expected = regressor.fit(X, targets.astype(float)).predict(X)
    np.testing.assert_array_equal(regressor.fit(X, targets).predict(X), expected)


@every_regressor
def test_weights_that_are_none_are_refused(no_work, regressor):
    for weight, sentence in (
        (np.zeros(40), "all sample weights are zero"),
        (-np.ones(40), r"negative values \(first at row 0: -1\)"),
        (np.full(40, np.nan), "40 NaN or infinite"),
        (np.ones(39), r"shape \(39,\), expected \(40,\)"),
        (np.full(40, 1e-40), "the largest sample weight.* is 1e-40: single precision"),
    ):
        with pytest.raises(InvalidData, match=sentence):
            regressor.fit(X, Y, sample_weight=weight)


@every_regressor
def test_features_that_are_none_are_refused(no_work, regressor):
    with pytest.raises(InvalidData, match=r'column 1 has 1 missing .*row 3\).*pass missing="impute"'):
        regressor.fit(np.where(np.arange(80).reshape(40, 2) == 7, np.nan, X), Y)
    with pytest.raises(InvalidData, match=r"column 0 has 1 infinite values"):
        regressor.fit(np.where(np.arange(80).reshape(40, 2) == 6, np.inf, X), Y)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        regressor.fit(np.empty((0, 2)), [])


@every_regressor
def test_targets_to_score_are_checked_too(regressor):
    fitted = regressor.fit(X, Y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted.score(X, at(3, np.nan))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.score(X, Y[:20])


@every_regressor
def test_a_fit_that_failed_leaves_nothing_fitted(regressor):
    fresh = type(regressor)()
    with pytest.raises(InvalidData):
        fresh.fit(X, at(0, np.nan))
    for call in (lambda: fresh.predict(X), lambda: fresh.score(X, Y)):
        with pytest.raises(NotFittedError, match=f"This {type(regressor).__name__} instance is not fitted yet"):
            call()
