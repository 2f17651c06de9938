"""Medians and categories are learned on rows of positive weight, and applied as they were learned."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.impute import SimpleImputer

from localsvm import InvalidData
from localsvm.data.columns import MOST_CATEGORIES, Category, Table, learn_encoding, weighted_median
from localsvm.data.sparse import SparseRows

NUMBERS = st.floats(-(2.0**20), 2.0**20, width=32)  # their halves are exact
GAPPY = hnp.arrays(np.float64, (9, 3), elements=NUMBERS | st.just(np.nan))


def learn(X, names=None, weight=None, impute=True):
    table = Table(X, names or {})
    return table, learn_encoding(table, np.ones(len(X)) if weight is None else np.asarray(weight, float), impute=impute)


# -------------------------------------------------------------------------------------------- medians


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=NUMBERS))
def test_the_median_of_equal_weights_is_the_median(values):
    for weight in (1.0, 0.25):
        assert weighted_median(values, np.full(len(values), weight)) == np.median(values)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 4)), min_size=1, max_size=20), st.randoms())
def test_an_integer_weight_is_a_repetition(pairs, random):
    values, weight = (np.array(part, dtype=float) for part in zip(*pairs, strict=True))
    repeated = np.repeat(values, weight.astype(int))
    assert weighted_median(values, weight) == np.median(repeated)
    random.shuffle(pairs)
    values, weight = (np.array(part, dtype=float) for part in zip(*pairs, strict=True))
    assert weighted_median(values, weight) == np.median(repeated)


def test_medians_of_the_largest_numbers_are_finite():
    largest = np.finfo(float).max
    assert weighted_median(np.array([largest, largest / 2]), np.ones(2)) == largest * 0.75


@given(GAPPY)
def test_imputed_numbers_are_those_of_scikit_learn(X):
    if np.isnan(X).all():
        return
    table, columns = learn(X)
    kept = ~np.isnan(X).all(axis=0)
    assert columns.numbers == tuple(np.flatnonzero(kept))
    expected = SimpleImputer(strategy="median").fit_transform(X[:, kept])
    np.testing.assert_array_equal(columns.encode(table)[:][:, : columns.n_numbers], expected)


def test_only_columns_that_had_gaps_have_another_that_says_where():
    X = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, np.nan]])
    table, columns = learn(X)
    assert columns.gappy == (1, 2)
    encoded = columns.encode(table)[:]
    np.testing.assert_array_equal(encoded[:, 3:] > 0, np.isnan(X[:, 1:]))
    later = Table(np.array([[np.nan, 5.0, 6.0]]))
    np.testing.assert_array_equal(columns.encode(later)[:], [[4.0, 5.0, 6.0, 0.0, 0.0]])


def test_a_column_without_any_number_is_left_out_now_and_later():
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    table, columns = learn(X)
    np.testing.assert_array_equal(columns.encode(table)[:], [[1.0], [2.0]])
    np.testing.assert_array_equal(columns.encode(Table(np.array([[3.0, 7.0]])))[:], [[3.0]])


def test_rows_in_which_all_is_missing_teach_nothing():
    with pytest.raises(InvalidData, match="all values of all columns are missing"):
        learn(np.full((3, 2), np.nan))


@given(GAPPY, st.sampled_from([np.float32, np.float64]))
def test_sparse_rows_are_imputed_as_dense_ones(X, dtype):
    X = np.where(np.abs(X) < 1e5, 0.0, X).astype(dtype)
    if np.isnan(X).all():
        return
    table, columns = learn(X)
    sparse, same = learn(SparseRows.of(scipy.sparse.csr_array(X)))
    assert same == columns
    assert same.encode(sparse).dtype == dtype
    np.testing.assert_array_equal(same.encode(sparse)[:], columns.encode(table)[:])


def test_rows_of_weight_zero_are_as_if_absent():
    X = np.array([[1.0, 0.0], [np.nan, 1.0], [2.0, 0.0], [100.0, 2.0], [np.nan, np.nan]])
    names = {1: ("a", "b", "c")}
    present = [0, 2]
    _, columns = learn(X, names, weight=np.isin(np.arange(5), present))
    assert columns == learn(X[present], names)[1]
    assert columns.categories == (Category(1, ("a",), pooled=False, missing=False),)


# ----------------------------------------------------------------------------------------- categories


def test_numbers_without_gaps_are_taken_as_they_are():
    assert learn(np.eye(3), impute=False)[1] is None


def test_categories_have_a_column_each_and_are_equally_far_from_each_other():
    codes = np.array([[0.0], [2.0], [1.0], [2.0]])
    table, columns = learn(codes, {0: ("blue", "green", "red")}, impute=False)
    encoded = columns.encode(table)[:]
    assert (encoded > 0).sum(axis=1).tolist() == [1, 1, 1, 1]
    distances = np.linalg.norm(encoded[:, None] - encoded, axis=2)
    apart = distances[codes != codes.T]
    assert np.allclose(apart, apart[0]) and 0 < apart[0] <= 1
    assert not distances[codes == codes.T].any()


def test_unseen_categories_belong_to_none_unless_some_are_pooled():
    few = Category(0, ("a", "b"), pooled=False, missing=False)
    assert few.places(("b", "new", "a")).tolist() == [1, -1, 0, -1]
    many = Category(0, ("a", "b"), pooled=True, missing=True)
    assert many.places(("b", "new", "a")).tolist() == [1, 2, 0, 3]


def test_the_rarest_of_many_categories_are_pooled():
    count = MOST_CATEGORIES + 5
    names = tuple(f"{k:03}" for k in range(count))
    codes = np.repeat(np.arange(count), np.arange(count) + 1).astype(float)[:, None]
    table, columns = learn(codes, {0: names})
    (category,) = columns.categories
    assert category.names == names[5:]
    assert category.pooled and category.width == MOST_CATEGORIES + 1
    encoded = columns.encode(table)[:]
    assert (encoded[(codes < 5)[:, 0], -1] > 0).all() and not (encoded[(codes >= 5)[:, 0], -1] > 0).any()


@given(st.permutations(range(60)), st.integers(0, 5))
def test_the_order_of_rows_does_not_matter_for_what_is_pooled(order, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 40, size=60).astype(float)[:, None]
    weight = rng.random(60)
    names = {0: tuple(f"{k:02}" for k in range(40))}
    order = np.array(order)
    assert learn(codes, names, weight)[1] == learn(codes[order], names, weight[order])[1]


def test_a_missing_category_is_one_of_its_own_if_it_was_seen():
    names = {0: ("a", "b")}
    table, columns = learn(np.array([[0.0], [np.nan], [1.0]]), names)
    assert columns.categories[0].missing
    encoded = columns.encode(table)[:]
    assert (encoded > 0).tolist() == [[True, False, False], [False, False, True], [False, True, False]]
    _, complete = learn(np.array([[0.0], [1.0]]), names)
    assert not complete.encode(table)[:][1].any()


def test_a_list_in_another_order_means_the_same():
    _, columns = learn(np.array([[0.0], [1.0]]), {0: ("a", "b")})
    here = columns.encode(Table(np.array([[0.0], [1.0], [2.0]]), {0: ("a", "b", "c")}))[:]
    there = columns.encode(Table(np.array([[2.0], [1.0], [0.0]]), {0: ("c", "b", "a")}))[:]
    np.testing.assert_array_equal(here, there)


def test_what_was_learned_is_plain_data():
    _, columns = learn(np.array([[1.0, 0.0], [np.nan, 1.0]]), {1: ("a", "b")})
    assert json.loads(json.dumps(asdict(columns)))["fills"] == [1.0]
