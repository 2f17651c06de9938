"""Laws of the folds: content decides, equal rows stay together, classes are balanced."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm.cell.folds import make_folds
from localsvm.data.content import canonical_rows


@st.composite
def samples(draw, max_rows=60):
    """Few distinct feature rows, repeated, with labels and small integer weights."""
    n = draw(st.integers(1, max_rows))
    distinct = draw(st.integers(1, max_rows))
    d = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(distinct, d)).astype(np.float32)[rng.integers(0, distinct, size=n)]
    return X, rng.choice([-1.0, 1.0], size=n), rng.integers(1, 4, size=n).astype(np.float64)


fold_counts = st.integers(1, 8)


def folded(X, y, weight, n_folds, *, stratify=True, seed=0):
    return make_folds(canonical_rows(X, y, weight, seed), n_folds, stratify)


def fold_numbers(rows):
    return np.repeat(np.arange(rows.n_folds), np.diff(rows.ends, prepend=0))


def distinct_features(X):
    """Number the distinct feature rows; return the number of each row."""
    return np.unique(X, axis=0, return_inverse=True)[1].ravel()


def same_folds(a, b):
    assert a.ends == b.ends
    for left, right in ((a.X, b.X), (a.y, b.y), (a.weight, b.weight)):
        np.testing.assert_array_equal(left, right)


@given(data=samples(), n_folds=fold_counts)
@settings(deadline=None)
def test_every_sample_lies_in_exactly_one_fold(data, n_folds):
    X, y, weight = data
    rows = folded(X, y, weight, n_folds)
    assert list(rows.ends) == sorted(rows.ends)
    assert rows.ends[-1] == len(rows.y) == len(rows.X) == len(rows.weight)
    covered = np.concatenate([np.arange(len(rows.y))[rows.fold(k)] for k in range(rows.n_folds)])
    np.testing.assert_array_equal(covered, np.arange(len(rows.y)))
    assert rows.weight.sum() == weight.sum()
    given_samples = {(*x, label) for x, label in zip(X.tolist(), y, strict=True)}
    kept_samples = [(*x, label) for x, label in zip(rows.X.tolist(), rows.y, strict=True)]
    assert set(kept_samples) == given_samples
    assert len(kept_samples) == len(given_samples)


@given(data=samples(), n_folds=fold_counts, stratify=st.booleans())
@settings(deadline=None)
def test_rows_with_equal_features_share_a_fold(data, n_folds, stratify):
    rows = folded(*data, n_folds, stratify=stratify)
    number = distinct_features(rows.X)
    for group in range(number.max() + 1):
        assert len(set(fold_numbers(rows)[number == group])) == 1


@given(data=samples(), n_folds=fold_counts)
@settings(deadline=None)
def test_there_are_as_many_folds_as_asked_unless_distinct_rows_are_fewer(data, n_folds):
    rows = folded(*data, n_folds)
    n_distinct = distinct_features(rows.X).max() + 1
    assert rows.n_folds == min(n_folds, n_distinct)
    assert (np.diff(rows.ends, prepend=0) > 0).all()


@given(data=samples(), n_folds=fold_counts)
@settings(deadline=None)
def test_each_class_is_split_evenly(data, n_folds):
    rows = folded(*data, n_folds)
    number, fold = distinct_features(rows.X), fold_numbers(rows)
    # A feature row of both classes counts as the lower one.
    lowest = np.array([rows.y[number == group].min() for group in range(number.max() + 1)])
    fold_of = np.array([fold[number == group][0] for group in range(number.max() + 1)])
    for label in (-1.0, 1.0):
        sizes = np.bincount(fold_of[lowest == label], minlength=rows.n_folds)
        assert np.ptp(sizes) <= 1
    assert np.ptp(np.bincount(fold_of, minlength=rows.n_folds)) <= 1


@given(data=samples(), n_folds=fold_counts)
@settings(deadline=None)
def test_without_strata_the_folds_are_of_one_size(data, n_folds):
    rows = folded(*data, n_folds, stratify=False)
    number, fold = distinct_features(rows.X), fold_numbers(rows)
    fold_of = [fold[number == group][0] for group in range(number.max() + 1)]
    assert np.ptp(np.bincount(fold_of, minlength=rows.n_folds)) <= 1


@given(data=samples(), n_folds=fold_counts, order_seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_order_of_the_input_does_not_matter(data, n_folds, order_seed):
    order = np.random.default_rng(order_seed).permutation(len(data[1]))
    same_folds(folded(*data, n_folds), folded(*(part[order] for part in data), n_folds))


@given(data=samples(), n_folds=fold_counts)
@settings(deadline=None)
def test_an_integer_weight_is_a_repetition(data, n_folds):
    X, y, weight = data
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    same_folds(folded(X, y, weight, n_folds), folded(X[again], y[again], np.ones(len(again)), n_folds))


@given(data=samples(), n_folds=fold_counts)
@settings(deadline=None)
def test_a_sample_of_weight_zero_is_as_if_absent(data, n_folds):
    X, y, weight = data
    extra_X = np.concatenate([X, X + 1, X])
    extra_y = np.concatenate([y, y, -y])
    extra_weight = np.concatenate([weight, 0 * weight, 0 * weight])
    same_folds(folded(X, y, weight, n_folds), folded(extra_X, extra_y, extra_weight, n_folds))


def test_another_seed_gives_other_folds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)).astype(np.float32), rng.choice([-1.0, 1.0], size=100)
    first, other = (folded(X, y, np.ones(100), 5, seed=seed) for seed in (0, 1))
    assert not np.array_equal(first.X, other.X)


def test_the_folds_are_independent_of_the_features():
    # By hash: the mean of a feature is the same in all folds, up to its standard error.
    X = np.random.default_rng(1).normal(size=(5000, 1)).astype(np.float32)
    rows = folded(X, np.ones(5000), np.ones(5000), 5)
    means = [rows.X[rows.fold(k)].mean() for k in range(5)]
    assert np.abs(means).max() < 4 / np.sqrt(1000)


@pytest.mark.parametrize("n_folds", [2, 5])
def test_the_rows_of_a_cell_are_ready_for_the_native_core(n_folds):
    X = np.asfortranarray(np.random.default_rng(2).normal(size=(30, 4)).astype(np.float32))
    rows = folded(X, np.ones(30), np.ones(30), n_folds)
    assert rows.X.dtype == np.float32
    assert rows.X.flags.c_contiguous
    assert all(isinstance(end, int) for end in rows.ends)
