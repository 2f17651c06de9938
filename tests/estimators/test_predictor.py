"""`predictor()`: the estimator's predictions to the bit, with little overhead and with sentences for bad input."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from fitted import UNFITTED, frame, numbers, toy

import localsvm
from localsvm import Grid, InvalidData, LocalSVC, LocalSVR

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.RareClassWarning"),
]
SMALL = {"grid": Grid(n_widths=2, n_lams=2), "cell_size": 40}
METHODS = ("predict", "predict_proba", "decision_function")


@pytest.fixture(scope="module", params=UNFITTED)
def kind(request):
    estimator, X, y = UNFITTED[request.param]()
    return estimator.fit(X, y), X


@pytest.fixture(scope="module")
def fitted():
    return LocalSVC(**SMALL).fit(*toy())


def test_predictions_are_those_of_the_estimator_one_row_at_a_time_and_together(kind):
    estimator, X = kind
    predictor = estimator.predictor()
    for name in METHODS:
        assert hasattr(predictor, name) == hasattr(estimator, name)
        if hasattr(estimator, name):
            expected = getattr(estimator, name)(X)
            np.testing.assert_array_equal(getattr(predictor, name)(X), expected)
            one_by_one = [getattr(predictor, name)(X[i : i + 1]) for i in range(40)]
            np.testing.assert_array_equal(np.concatenate(one_by_one), expected[:40])


def test_a_pickled_predictor_and_that_of_a_stored_model_predict_the_same_bits(fitted, tmp_path):
    X, _ = toy()
    expected = fitted.predict_proba(X)
    fitted.save(tmp_path / "model.lsvm")
    loaded = localsvm.load(tmp_path / "model.lsvm").predictor()
    for predictor in (pickle.loads(pickle.dumps(fitted.predictor())), loaded, pickle.loads(pickle.dumps(loaded))):
        np.testing.assert_array_equal(predictor.predict_proba(X), expected)


def test_threads_share_a_predictor(fitted):
    X, _ = toy()
    predictor, expected = fitted.predictor(), fitted.decision_function(X)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda i: predictor.decision_function(X[i : i + 1])[0], list(range(len(X))) * 4))
    np.testing.assert_array_equal(found, np.tile(expected, 4))


def test_a_predictor_stays_what_it_was_when_the_estimator_is_fitted_again():
    X, y = numbers()
    reg = LocalSVR(**SMALL, members=1).fit(X, y)
    predictor, before = reg.predictor(), reg.predict(X)
    reg.fit(X, -y)
    np.testing.assert_array_equal(predictor.predict(X), before)


def test_columns_are_known_by_position_and_no_names_are_missed():
    X, y = numbers()
    reg = LocalSVR(**SMALL, members=1).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = reg.predictor().predict(X)
    np.testing.assert_array_equal(found, reg.predict(pd.DataFrame(X, columns=["a", "b"])))


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 4)),
        np.zeros((2, 2), dtype=np.float32),
        np.zeros(3),
        np.zeros((1, 1, 3)),
        np.zeros((2, 3), dtype=np.int64),
        np.zeros((2, 3), dtype=np.float16),
        np.zeros((2, 3), dtype=np.complex128),
        np.zeros((2, 3), dtype=">f8"),
        np.array([["a", "b", "c"]]),
        [[0.0, 1.0, 2.0]],
        pd.DataFrame(np.zeros((2, 3))),
        None,
    ],
    ids=lambda wrong: f"{type(wrong).__name__} {getattr(wrong, 'dtype', '')} {getattr(wrong, 'shape', '')}",
)
def test_other_types_and_widths_are_refused_with_a_sentence(fitted, wrong):
    for name in METHODS:
        with pytest.raises(InvalidData, match="takes arrays of float32 or float64 of shape"):
            getattr(fitted.predictor(), name)(wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("bad", "what"), [(np.nan, "missing values"), (np.inf, "infinite"), (-np.inf, "infinite")])
def test_numbers_that_are_not_finite_are_refused_by_column_and_row(fitted, dtype, bad, what):
    X = np.zeros((5, 3), dtype=dtype)
    X[3, 1] = bad
    for method in (fitted.predictor().predict, fitted.predict):
        with pytest.raises(InvalidData, match=f"column 1 has 1 {what}.* at row 3"):
            method(X)


def test_missing_numbers_are_imputed_if_the_model_imputes():
    X, y = numbers()
    X[::5, 1] = np.nan
    reg = LocalSVR(**SMALL, members=1, missing="impute").fit(X, y)
    np.testing.assert_array_equal(reg.predictor().predict(X), reg.predict(X))
    X[3, 0] = np.inf
    with pytest.raises(InvalidData, match="infinite"):
        reg.predictor().predict(X)


def test_a_model_of_categories_takes_frames():
    X, y = frame()
    clf = LocalSVC(**SMALL, members=1, missing="impute").fit(X, y)
    np.testing.assert_array_equal(clf.predictor().predict_proba(X), clf.predict_proba(X))
    with pytest.raises(InvalidData, match="data frame"):
        clf.predictor().predict(np.zeros((1, 3)))


def test_no_rows_have_no_predictions(fitted):
    assert fitted.predictor().predict(np.zeros((0, 3))).shape == (0,)
    assert fitted.predictor().predict_proba(np.zeros((0, 3))).shape == (0, 2)


def test_an_estimator_that_is_not_fitted_has_no_predictor():
    with pytest.raises(AttributeError, match="not fitted"):
        LocalSVC().predictor()


# ------------------------------------------------------------------------------------ rows that skip the full check


@pytest.mark.parametrize("make", [np.asfortranarray, lambda X: X[::-1][::-1], lambda X: X.astype(np.float32), list])
def test_a_row_that_is_checked_quickly_has_the_values_of_the_full_check(fitted, make):
    X = toy()[0].astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(fitted.decision_function(make(X[:7])), fitted.decision_function(X)[:7])


@pytest.mark.parametrize(
    "dtypes", [["f8", "f8"], ["f4", "f8"], ["i8", "f4"], ["i2", "u1"], ["Float64", "f8"], ["bool", "f8"]]
)
def test_frames_of_any_numbers_are_read_as_arrays_are(dtypes):
    X = pd.DataFrame({"a": np.arange(40) % 2, "b": np.arange(40) % 7})
    reg = LocalSVR(**SMALL, members=1).fit(X.astype(float), X.a + X.b)
    rows = X.astype(dict(zip("ab", dtypes, strict=True)))
    np.testing.assert_array_equal(reg.predict(rows), reg.predict(X.astype(float)))
    np.testing.assert_array_equal(reg.predict(rows[3:4]), reg.predict(X.astype(float))[3:4])


def test_frames_of_other_columns_are_refused():
    X = pd.DataFrame({"a": np.arange(40) % 2, "b": np.arange(40) % 7}, dtype=float)
    reg = LocalSVR(**SMALL, members=1).fit(X, X.a + X.b)
    for wrong in (X[["b", "a"]], X.rename(columns={"b": "c"}), X.assign(c=1.0), X[["a"]]):
        with pytest.raises(ValueError, match=r"feature names|features"):
            reg.predict(wrong[:1])
