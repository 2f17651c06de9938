"""Bad input gets a sentence before work starts, or works where it reasonably can."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from localsvm import InvalidData, InvalidParameter, LocalSVC, LocalSVMError
from localsvm.data import toy_mixture

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]

SCALINGS = ["minmax", "standard", "quantile", None]


def small(**parameters):
    return LocalSVC(**{"grid": 4, **parameters})


# ------------------------------------------------------------------------------------ NaN, infinity


def test_nan_is_reported_with_column_row_and_count(rows, no_work):
    X, y = rows
    X[[7, 9, 30], 1] = np.nan
    with pytest.raises(InvalidData, match=r'column 1 has 3 missing .*first at row 7\)\. .*pass missing="impute"'):
        small().fit(X, y)


@pytest.mark.parametrize("missing", ["error", "impute"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_reported_with_column_row_and_count(rows, no_work, value, missing):
    X, y = rows
    X[5, 2] = value
    with pytest.raises(InvalidData, match=r"column 2 has 1 infinite values \(inf; first at row 5\)"):
        small(missing=missing).fit(X, y)


def test_columns_of_data_frames_are_named_and_other_bad_columns_counted(rows, no_work):
    frame = pd.DataFrame(rows[0], columns=["age", "price", "size"])
    frame.loc[4, "price"] = np.nan
    frame.loc[2, "size"] = np.nan
    with pytest.raises(InvalidData, match=r"column 'price' .*row 4\), and so has 1 other column\."):
        small().fit(frame, rows[1])


def test_the_missing_value_of_pandas_is_reported_too(no_work):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.array([1, None, 3], dtype="Int64")})
    with pytest.raises(InvalidData, match=r"column 'b' has 1 missing .*row 1\)"):
        small().fit(frame, [0, 1, 1])


def test_nan_beyond_the_first_block_of_rows_is_found(no_work):
    X = np.zeros((70_000, 2), dtype=np.float32)
    X[69_999, 1] = np.nan
    with pytest.raises(InvalidData, match=r"column 1 has 1 missing .*row 69999\)"):
        small().fit(X, np.arange(70_000) % 2)


def test_nan_at_prediction_is_reported_too(rows):
    clf = small().fit(*rows)
    X = rows[0].copy()
    X[3, 0] = np.nan
    for method in (clf.predict, clf.decision_function):
        with pytest.raises(InvalidData, match=r"column 0 has 1 missing .*row 3\)"):
            method(X)


# ----------------------------------------------------------------------------------- shapes, labels


def test_no_rows_are_refused(no_work):
    with pytest.raises(ValueError, match=r"0 sample\(s\) .* minimum of 1 is required"):
        small().fit(np.empty((0, 3)), [])


def test_no_columns_are_refused(no_work):
    with pytest.raises(ValueError, match=r"0 feature\(s\) .* minimum of 1 is required"):
        small().fit(np.empty((3, 0)), [0, 1, 1])


def test_no_rows_to_predict_are_refused(rows):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        small().fit(*rows).predict(np.empty((0, 3)))


def test_one_dimension_is_refused_with_advice(rows, no_work):
    with pytest.raises(ValueError, match=r"(?s)Expected 2D array, got 1D .*reshape\(-1, 1\)"):
        small().fit(rows[0][:, 0], rows[1])


def test_three_dimensions_are_refused(no_work):
    with pytest.raises(ValueError, match="Found array with dim 3"):
        small().fit(np.zeros((4, 2, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize("n_labels", [59, 61, 0])
def test_other_numbers_of_labels_than_rows_are_refused(rows, no_work, n_labels):
    sentence = f"X has 60 rows but y has {n_labels} labels .*give one label per row"
    with pytest.raises(InvalidData, match=sentence):
        small().fit(rows[0], np.arange(n_labels) % 2)


def test_another_number_of_features_at_prediction_is_refused(rows):
    with pytest.raises(ValueError, match=r"X has 2 features, but LocalSVC is expecting 3 features"):
        small().fit(*rows).predict(rows[0][:, :2])


def test_one_class_is_refused_with_its_label(rows, no_work):
    with pytest.raises(InvalidData, match=r"only one class \('spam'\)\. A classifier needs samples of at least two"):
        small().fit(rows[0], ["spam"] * 60)


def test_one_class_of_positive_weight_is_one_class(rows, no_work):
    X, y = rows
    with pytest.raises(InvalidData, match=r"only one class \(-1\)"):
        small().fit(X, y, sample_weight=(y < 0).astype(float))


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (None, "the target y is None"),
        ([0, np.nan, 1, 1], r"y has 1 labels that are missing .*nan at row 1"),
        ([0, np.inf, 1, 1], r"y has 1 labels that are .*not finite \(first: inf at row 1"),
        (["a", None, "b", None], r"y has 2 labels that are missing .*None at row 1"),
        (pd.Series(["a", "b", pd.NA, "b"], dtype="string"), r"y has 1 labels .*row 2"),
        (np.array(["a", 1, "a", 1], dtype=object), "y has labels of types int, str, which have no order"),
        ([object(), object(), object(), object()], "y has labels of types object, which have no order"),
        (np.array(["2024", "NaT", "2025", "2024"], dtype="M8[Y]"), r"y has 1 labels that are missing .*NaT at row 1"),
        ([0.5, 0.1, 1.7, 2.2], "Unknown label type: continuous"),
        (np.zeros((4, 1, 1)), "Found array with dim 3"),
        ([[1], [1, 2], [1], [2]], "y has rows of different lengths"),
        (np.eye(4), r"y should be a 1d array, got an array of shape \(4, 4\)"),
        (3, "y should be a 1d array"),
        ([1j, 2j, 1j, 2j], "Complex data not supported: y has complex numbers"),
    ],
)
def test_labels_that_are_none_are_refused(no_work, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        small().fit(np.eye(4), labels)


# ------------------------------------------------------------------------------ things, not numbers


def test_text_is_reported_with_column_row_and_value(no_work):
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": [1.0, "red", "blue"]})
    with pytest.raises(InvalidData, match=r"column 'colour' has text, but at row 0 it has 1\.0: make all of it"):
        small().fit(frame, [0, 1, 1])
    with pytest.raises(InvalidData, match=r"column 0 .*\(first at row 1: .*'b'.*\)\. Give a data frame"):
        small().fit([["1", "2"], ["b", "3"], ["4", "c"]], [0, 1, 1])


def test_dates_where_numbers_were_are_reported_with_their_column(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    clf = small().fit(frame, y)
    with pytest.raises(InvalidData, match=r"column 'x1' has values that are not numbers"):
        clf.predict(frame.assign(x1=pd.Timestamp("2024-01-01")))


def test_objects_are_a_type_error(no_work):
    X = np.array([[1.0, 2.0], [{"a": 1}, 3.0]], dtype=object)
    with pytest.raises(TypeError, match="argument must be a string or a real number"):
        small().fit(X, [0, 1])


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_complex_numbers_are_refused(rows, no_work):
    with pytest.raises(InvalidData, match=r"Complex data not supported: .*two columns"):
        small().fit(rows[0] + 1j, rows[1])


@pytest.mark.parametrize("kind", [object, str, np.float16, np.int32, np.uint8, bool, np.longdouble])
def test_whatever_numpy_can_make_numbers_of_works(rows, kind):
    X = np.round(np.abs(rows[0])).astype(kind)
    values = small().fit(X, rows[1]).decision_function(X)
    same = X.astype(np.float64)
    np.testing.assert_array_equal(values, small().fit(same, rows[1]).decision_function(same))


def test_lists_work(rows):
    X, y = rows[0].tolist(), rows[1].tolist()
    np.testing.assert_array_equal(small().fit(X, y).predict(X), small().fit(*rows).predict(rows[0]))


# ----------------------------------------------------------------------------- little to learn from


def test_one_row_is_one_class(no_work):
    with pytest.raises(InvalidData, match="only one class"):
        small().fit([[1.0, 2.0]], [1])


@pytest.mark.parametrize("variant", [{}, {"refit": "retrain"}, {"search": "racing"}])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_two_rows_are_separated(variant, scaling):
    clf = LocalSVC(scaling=scaling, **variant).fit([[0.0, 5.0], [1.0, 5.0]], ["a", "b"])
    assert clf.predict([[0.0, 5.0], [1.0, 5.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("n_folds", [6, 60, 1000])
def test_more_folds_than_samples_leave_one_out(rows, n_folds):
    X, y = rows[0][:6], [0, 1, 0, 1, 0, 1]
    every = small(n_folds=6).fit(X, y)
    np.testing.assert_array_equal(small(n_folds=n_folds).fit(X, y).decision_function(X), every.decision_function(X))
    assert every.model_.cells[0].certificates.gap.shape[-1] == 6


@pytest.mark.parametrize("n_folds", [1, 5])
@pytest.mark.parametrize("cell_size", [20, 2000])
def test_a_class_of_one_sample_works(rows, n_folds, cell_size):
    for labels in (np.arange(60) == 17, np.where(np.arange(60) == 17, 5, rows[1])):
        clf = small(n_folds=n_folds, cell_size=cell_size).fit(rows[0], labels)
        assert np.isfinite(clf.decision_function(rows[0])).all()
        assert (clf.predict_proba(rows[0]) > 0).all()


def test_dates_are_labels(rows):
    days = np.array(["2024-02-29", "2025-01-01"], dtype="M8[D]")
    clf = small().fit(rows[0], days[(rows[1] > 0).astype(int)])
    np.testing.assert_array_equal(clf.predict(rows[0]), days[(small().fit(*rows).predict(rows[0]) > 0).astype(int)])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_constant_columns_do_not_disturb(rows, scaling):
    X, y = rows
    wider = np.column_stack([np.full(60, 7.5), X, np.zeros(60)])
    narrow = small(scaling=scaling).fit(X, y).score(X, y)
    assert small(scaling=scaling).fit(wider, y).score(wider, y) > narrow - 0.1


@pytest.mark.parametrize("scaling", ["minmax", "standard", "quantile"])
def test_a_column_that_was_constant_is_not_looked_at_in_prediction(rows, scaling):
    X, y = rows
    clf = small(scaling=scaling).fit(np.column_stack([X, np.full(60, 7.5)]), y)
    np.testing.assert_array_equal(
        clf.decision_function(np.column_stack([X, np.full(60, 7.5)])),
        clf.decision_function(np.column_stack([X, np.full(60, -1e9)])),
    )


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_equal_rows_get_the_label_of_their_majority(scaling, refit):
    X = np.full((10, 2), 3.0)
    clf = small(scaling=scaling, refit=refit).fit(X, [0] * 7 + [1] * 3)
    assert clf.predict(X[:2]).tolist() == [0, 0]
    assert small(scaling=scaling, refit=refit).fit(X, [0] * 3 + [1] * 7).predict(X[:1]) == [1]


# ---------------------------------------------------------------------------- the ends of the range

EXTREMES = [
    (np.float32, 1.6e38),
    (np.float32, 1e-37),
    (np.float32, 1e-44),
    (np.float64, 8e307),
    (np.float64, 1e-306),
    (np.float64, 1e160),
    (np.float64, 1e-160),
]


def at_the_end_of(dtype, factor):
    X, y = toy_mixture(60, 3, random_state=0)
    # Signed integers from -10 to 10 stay different where only a few bits are left.
    return (np.round(5 * X) / 10 * 2).astype(np.float64).astype(dtype) * dtype(factor), y


@pytest.mark.parametrize(("dtype", "factor"), EXTREMES)
@pytest.mark.parametrize("scaling", ["minmax", "standard", "quantile"])
def test_values_near_the_ends_of_the_range_are_learned_from_as_others(scaling, dtype, factor):
    X, y = at_the_end_of(dtype, factor)
    clf = small(scaling=scaling).fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()
    ordinary, _ = at_the_end_of(np.float64, 1.0)
    expected = small(scaling=scaling).fit(ordinary, y).predict(ordinary)
    assert (clf.predict(X) == expected).mean() > 0.8


@pytest.mark.parametrize(("dtype", "factor"), EXTREMES)
def test_without_scaling_values_near_the_ends_of_the_range_are_refused(dtype, factor):
    sentence = "overflow single precision" if factor > 1 else "too little for single precision"
    with pytest.raises(InvalidData, match=sentence):
        small(scaling=None).fit(*at_the_end_of(dtype, factor))


@pytest.mark.parametrize("scaling", ["minmax", "standard"])
def test_columns_that_differ_by_less_than_any_scaling_can_stretch_are_refused(rows, scaling):
    X = np.round(rows[0]) * 5e-324
    with pytest.raises(InvalidData, match=r"differ by .* too little .*scaling='quantile'"):
        small(scaling=scaling).fit(X, rows[1])
    assert small(scaling="quantile").fit(X, rows[1]).score(X, rows[1]) > 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
def test_the_largest_numbers_get_finite_decision_values(rows, scaling, kernel, dtype):
    clf = small(scaling=scaling, kernel=kernel).fit(*rows)
    largest = np.finfo(dtype).max
    points = np.array([[1, 1, 1], [-1, 1, 0], [0, 0, -1]], dtype=dtype) * largest
    assert np.isfinite(clf.decision_function(points)).all()


# ------------------------------------------------------------------------------------------ weights


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (np.zeros(60), "all sample weights are zero: there is nothing to learn from"),
        (0.0, "all sample weights are zero"),
        (np.linspace(-1, 1, 60), r"negative values \(first at row 0: -1\)"),
        (np.r_[1.0, np.nan, np.ones(58)], r"1 NaN or infinite .*row 1"),
        (np.r_[np.ones(58), np.inf, -np.inf], r"2 NaN or infinite .*row 58"),
        (np.ones(59), r"shape \(59,\), expected \(60,\)"),
        (np.ones(61), r"shape \(61,\), expected \(60,\)"),
        (np.ones((60, 2)), r"shape \(60, 2\), expected \(60,\)"),
        (np.ones(60, dtype=complex), "dtype complex128: one number per sample"),
        (["heavy"] * 60, "sample_weight has dtype <U5"),
        ([None, "heavy"] * 30, "sample_weight has values that are not numbers"),
        ([None, 1.0] * 30, "30 NaN or infinite"),
        (np.full(60, 1e-40), r"is 1e-40: single precision needs at least 1e-30"),
        (np.full(60, 1e300), r"is 1e\+300: single precision needs .* Rescale the weights"),
    ],
)
def test_weights_that_are_none_are_refused(rows, no_work, weight, sentence):
    with pytest.raises(InvalidData, match=sentence):
        small().fit(*rows, sample_weight=weight)


def test_tiny_weights_beside_ordinary_ones_are_nearly_absent(rows):
    X, y = rows
    odd = np.arange(60) % 2 == 1
    clf = small().fit(X, y, sample_weight=np.where(odd, 1.0, 1e-300))
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize(
    ("class_weight", "sentence"),
    [
        ("even", "class_weight='even': give None, 'balanced' or a dict"),
        (2.0, r"class_weight=2\.0: give None, 'balanced' or a dict"),
        ([1.0, 2.0], r"class_weight=\[1\.0, 2\.0\]: give None"),
        ({7: 1.0}, r"class_weight names 7, but the classes are \[-1, 1\]"),
        ({1: -1.0}, r"class_weight\[1\]=-1\.0: a positive number is needed"),
        ({1: 0}, r"class_weight\[1\]=0: a positive number"),
        ({1: None}, r"class_weight\[1\]=None: a positive number"),
        ({1: "2"}, r"class_weight\[1\]='2': a positive number"),
        ({1: np.nan}, r"class_weight\[1\]=nan: a positive number"),
    ],
)
def test_class_weights_that_are_none_are_refused(rows, no_work, class_weight, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        small(class_weight=class_weight).fit(*rows)


def test_class_weights_beyond_single_precision_are_refused(rows, no_work):
    with pytest.raises(InvalidData, match="with class_weight, is 1e-200: single precision"):
        small(class_weight={-1: 1e-200, 1: 1e-200}).fit(*rows)


# --------------------------------------------------------------------------------------- not fitted


def test_prediction_before_fit_is_an_error():
    for method in (LocalSVC().predict, LocalSVC().decision_function):
        with pytest.raises(NotFittedError, match="This LocalSVC instance is not fitted yet"):
            method([[1.0]])


def test_a_fit_that_failed_leaves_nothing_fitted(rows):
    clf = small()
    with pytest.raises(InvalidData, match="only one class"):
        clf.fit(rows[0], np.ones(60))
    with pytest.raises(NotFittedError):
        clf.predict(rows[0])


def test_errors_are_of_one_family_and_of_the_usual_kind():
    for error in (InvalidData, InvalidParameter):
        assert issubclass(error, LocalSVMError)
        assert issubclass(error, ValueError)


def test_dates_in_place_of_numbers_are_named_with_what_to_do():
    numbers = pd.DataFrame({"a": np.arange(20.0), "d": np.arange(20.0)})
    dates = numbers.assign(d=pd.date_range("2024-01-01", periods=20))
    y = np.arange(20) % 2
    clf = LocalSVC(members=1, grid=2).fit(numbers, y)
    with pytest.raises(InvalidData, match=r"column 'd' .* In training it was numbers: give numbers, or train with the"):
        clf.predict(dates)
    with pytest.raises(InvalidData, match=r"column 1 .*first at row 0: Timestamp.* Give a data frame, whose dates are"):
        LocalSVC(grid=2).fit(dates.to_numpy(), y)
