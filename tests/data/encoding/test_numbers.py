"""Numbers are transformed, filled, and indicated where they are missing or pile up."""

import numpy as np
import pytest
import scipy.sparse
from encoded import encoded
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.impute import SimpleImputer

from localsvm import InvalidData, InvalidParameter
from localsvm.data.encoding import TRANSFORMS, encode_as_given, learn_encoding
from localsvm.data.encoding.numbers import Distribution
from localsvm.data.sparse import SparseRows
from localsvm.data.table import Table

NUMBERS = st.floats(-(2.0**20), 2.0**20, width=32)  # their halves are exact
GAPPY = hnp.arrays(np.float64, (9, 3), elements=NUMBERS | st.just(np.nan))


def learn(X, weight=None, **options):
    X = np.asarray(X, dtype=float)
    weight = np.ones(len(X)) if weight is None else weight
    return Table(X), learn_encoding(Table(X), np.zeros((len(X), 1)), weight, **options).encoding


def column(values, transform="plain", weight=None):
    """What becomes of a column, and the view."""
    view, found, _ = encoded(
        Table(np.asarray(values, dtype=float)[:, None]), np.zeros((len(values), 1)), weight, (transform, True)
    )
    return view, found


# ------------------------------------------------------------------------------------------------------- medians


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=NUMBERS))
def test_the_median_of_equal_weights_is_the_median(values):
    for weight in (1.0, 0.3):
        assert Distribution.of(values, np.full(len(values), weight)).median == np.median(values)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 4)), min_size=1, max_size=20))
def test_an_integer_weight_is_a_repetition(pairs):
    pairs.sort(key=lambda pair: pair[1])  # weights ascend
    values, weight = (np.array(part, dtype=float) for part in zip(*pairs, strict=True))
    one, other = (
        Distribution.of(values, weight),
        Distribution.of(np.repeat(values, weight.astype(int)), np.ones(int(weight.sum()))),
    )
    levels = np.linspace(0, 1, 11)
    assert one.median == other.median
    np.testing.assert_array_equal(one.quantiles(levels), other.quantiles(levels))
    assert one.heaviest() == other.heaviest()


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=NUMBERS), st.floats(0, 1))
def test_quantiles_are_those_of_the_inverse_distribution_function(values, level):
    found = Distribution.of(values, np.ones(len(values))).quantiles(np.array([level]))
    assert found[0] == np.quantile(values, level, method="inverted_cdf")


def test_medians_of_the_largest_numbers_are_finite():
    largest = np.finfo(float).max
    assert Distribution.of(np.array([largest, largest / 2]), np.ones(2)).median == largest * 0.75


# ------------------------------------------------------------------------------------------------ missing values


@given(GAPPY)
def test_imputed_numbers_are_those_of_scikit_learn(X):
    varies = [len(np.unique(column[~np.isnan(column)])) > 1 for column in X.T]
    if not any(varies):
        return
    table, encoding = learn(X)
    view = encoding.view()
    n = view.n_numbers
    assert sorted(view.origins[:n]) == np.flatnonzero(varies).tolist()
    expected = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(X)[:, view.origins[:n]]
    np.testing.assert_array_equal(encoding.encode(table, view)[:][:, :n], expected)


def test_only_columns_with_missing_values_have_an_indicator():
    X = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, np.nan]])
    table, encoding = learn(X)
    view = encoding.view()
    missing = view.origins[3:]
    assert sorted(missing) == [1, 2]
    np.testing.assert_array_equal(encoding.encode(table, view)[:][:, 3:] > 0, np.isnan(X[:, missing]))
    later = encoding.encode(Table(np.array([[np.nan, 5.0, 6.0]])), view)[0:1]
    assert later[0, list(view.origins[:3]).index(0)] == 4.0 and not later[0, 3:].any()


def test_indicators_have_unit_variance_but_those_of_a_few_rows_are_not_far_away():
    values = np.arange(10_000.0)
    for count, expected in ((2000, 1.0), (3, 10 * np.sqrt(3e-4))):
        some = np.where(values < count, np.nan, values)
        assert column(some)[1][:, 1].std() == pytest.approx(expected, rel=0.01)


def test_a_column_of_one_number_and_gaps_has_the_indicator_only():
    view, found = column([7.0, np.nan, 7.0, 7.0])
    assert [part.kind for part in view.columns] == ["indicator"]
    assert (found[:, 0] > 0).tolist() == [False, True, False, False]


def test_columns_without_numbers_and_constant_ones_are_dropped_now_and_later():
    X = np.array([[1.0, np.nan, 5.0], [2.0, np.nan, 5.0]])
    table, encoding = learn(X)
    view = encoding.view()
    np.testing.assert_array_equal(encoding.encode(table, view)[:], [[1.0], [2.0]])
    np.testing.assert_array_equal(encoding.encode(Table(np.array([[3.0, 7.0, np.nan]])), view)[:], [[3.0]])
    assert encoding.kinds == ("number", "empty", "number")


def test_rows_in_which_all_is_missing_teach_nothing():
    with pytest.raises(InvalidData, match="all values of all columns are missing"):
        learn(np.full((3, 2), np.nan))


@given(GAPPY, st.sampled_from([np.float32, np.float64]))
def test_sparse_rows_are_encoded_as_dense_ones(X, dtype):
    X = np.where(np.abs(X) < 1e5, 0.0, X).astype(dtype)
    if not any(len(np.unique(column[~np.isnan(column)])) > 1 for column in X.T):
        return
    y, weight = np.zeros((9, 1)), np.ones(9)
    dense = learn_encoding(Table(X), y, weight).encoding
    sparse = learn_encoding(Table(SparseRows.of(scipy.sparse.csr_array(X))), y, weight).encoding
    view = dense.view("rank")
    np.testing.assert_array_equal(
        sparse.encode(Table(SparseRows.of(scipy.sparse.csr_array(X))), sparse.view("rank"))[:],
        dense.encode(Table(X), view)[:],
    )


def test_numbers_as_given_keep_their_order_and_are_filled_later():
    X = np.column_stack([np.arange(4.0), np.full(4, 7.0), [0.0, 0.0, 0.0, 1.0]])
    encoding = encode_as_given(Table(X), np.array([1.0, 1.0, 1.0, 0.0]))
    view = encoding.view()
    np.testing.assert_array_equal(encoding.encode(Table(X), view)[:], X)
    np.testing.assert_array_equal(encoding.encode(Table(np.full((1, 3), np.nan)), view)[:], [[1.0, 7.0, 0.0]])


# ------------------------------------------------------------------------------------------------------ transforms


def test_heavy_tails_are_logarithms_of_both_signs():
    values = np.concatenate([np.random.default_rng(0).standard_cauchy(999), [0.0]])
    scale = np.quantile(np.abs(values[values != 0]), 0.1, method="inverted_cdf")
    _, found = column(values, "log")
    np.testing.assert_allclose(found[:, 0], np.sign(values) * np.log1p(np.abs(values) / scale))


@pytest.mark.parametrize("values", [np.random.default_rng(0).normal(size=1000), np.random.default_rng(0).random(1000)])
def test_the_logarithm_leaves_light_tails_as_they_are(values):
    np.testing.assert_array_equal(column(values, "log")[1][:, 0], values)


def test_logarithms_of_the_largest_and_smallest_numbers_are_finite():
    values = np.concatenate([np.full(50, 5e-324), np.linspace(1e-320, 1e-300, 50), [1e308, -1e308]])
    _, found = column(values, "log")
    assert np.isfinite(found).all()
    assert (np.diff(found[np.argsort(values, kind="stable"), 0]) >= 0).all()


@given(hnp.arrays(np.float64, st.integers(2, 700), elements=NUMBERS))
def test_ranks_are_monotone_from_zero_to_one(values):
    if len(np.unique(values)) == 1:
        return
    ranks = column(values, "rank")[1][:, 0]
    assert ranks.min() == 0.0 and ranks.max() == 1.0
    assert (np.diff(ranks[np.argsort(values, kind="stable")]) >= 0).all()


def test_ranks_of_many_numbers_are_linear_between_at_most_512_quantiles():
    _, encoding = learn(np.random.default_rng(0).normal(size=(5000, 1)))
    assert len(encoding.numbers.knots[0]) == 512
    ranks = column(np.random.default_rng(0).normal(size=5000), "rank")[1][:, 0]
    np.testing.assert_allclose(np.sort(ranks), np.linspace(0, 1, 5000), atol=2e-3)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_slopes_are_derivatives_and_zero_where_a_number_is_missing(transform):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_cauchy(400), rng.normal(size=400)])
    X[::10, 1] = np.nan
    encoding = learn_encoding(Table(X), np.zeros((400, 1)), np.ones(400)).encoding
    view = encoding.view(transform)
    points = X[:100] + 0.01  # between the knots, which are training rows
    step = 1e-7
    above, below = (encoding.encode(Table(points + side), view)[:][:, :2] for side in (step, -step))
    slopes = encoding.encode(Table(points), view).slopes(slice(None))
    np.testing.assert_allclose(slopes, (above - below) / (2 * step), rtol=1e-4, atol=1e-6)
    assert (slopes[:, list(view.origins[:2]).index(1)][::10] == 0).all()


def test_unknown_transforms_and_those_that_were_not_learned_are_refused():
    _, encoding = learn([[1.0], [2.0], [3.0]], transforms=("plain",))
    with pytest.raises(InvalidParameter, match="numbers='cube' is not available; use one of plain, log, rank"):
        encoding.view("cube")
    with pytest.raises(InvalidParameter, match=r"pass transforms=\('rank',\) to learn_encoding"):
        encoding.view("rank")


# -------------------------------------------------------------------------------------------------------- spikes


def test_a_number_in_a_fifth_of_the_rows_has_an_indicator():
    values = np.arange(1000.0)
    values[:250] = 0.0
    view, found = column(values)
    assert view.names(["loss"]) == ["loss", "loss = 0"]
    np.testing.assert_array_equal(found[:, 1] > 0, values == 0)
    assert found[:, 1].std() == pytest.approx(1.0)
    values[150:250] = -1.0 - np.arange(100)
    assert column(values)[0].width == 1


def test_numbers_that_are_about_equally_frequent_are_no_spike():
    assert column([0.0] * 30 + [1.0] * 20)[0].width == 1
    assert column([0.0] * 4 + [1.0] * 3 + [2.0] * 3)[0].width == 1
