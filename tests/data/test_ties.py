"""Laws of groups and times: how they are dealt to folds, and what decides the order of samples that have them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm.data.content import canonical_rows, row_keys, tied_keys
from localsvm.data.ties import Ties


@st.composite
def numbers(draw, max_rows=60):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(0, draw(st.integers(1, 20)), draw(st.integers(1, max_rows)))


@st.composite
def samples(draw):
    """Few distinct rows of two classes, with small integer weights, in groups that share rows."""
    number = draw(numbers())
    n = len(number)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, 3, size=(n, 2)).astype(np.float32)
    return X, rng.choice([-1.0, 1.0], size=n), rng.integers(1, 4, size=n).astype(np.float64), number


fold_counts = st.integers(1, 6)
either = st.booleans()


@given(number=numbers(), n_folds=fold_counts, ordered=either)
@settings(deadline=None)
def test_equal_numbers_share_a_fold_and_no_fold_is_empty(number, n_folds, ordered):
    fold = Ties(number, ordered).folds(n_folds)
    for own in np.unique(number):
        assert len(set(fold[number == own])) == 1
    assert sorted(set(fold)) == list(range(fold.max() + 1))
    n_tied = len(np.unique(number))
    if ordered:
        assert min(2, n_folds, n_tied) <= fold.max() + 1 <= min(n_folds, n_tied)
    else:
        assert fold.max() + 1 == min(n_folds, n_tied)


@given(time=numbers(), n_folds=fold_counts)
@settings(deadline=None)
def test_a_block_of_time_ends_before_the_one_with_the_number_below_begins(time, n_folds):
    fold = Ties(time, ordered=True).folds(n_folds)
    for later, earlier in itertools.pairwise(range(fold.max() + 1)):
        assert time[fold == later].min() > time[fold == earlier].max()


def test_blocks_of_distinct_times_are_of_one_size():
    fold = Ties(np.random.default_rng(0).permutation(103), ordered=True).folds(5)
    assert np.ptp(np.bincount(fold)) <= 1


def test_folds_of_groups_are_balanced_by_rows_and_by_classes():
    rng = np.random.default_rng(0)
    number = rng.choice(60, size=3000, p=rng.dirichlet(np.ones(60)))
    label = (rng.random(3000) < rng.random(60)[number] ** 4).astype(float)
    fold = Ties(number).folds(5, label)
    for wanted in (label == 0, label == 1):
        in_folds = np.bincount(fold[wanted])
        assert np.ptp(in_folds) < 0.1 * wanted.sum() / 5


# ------------------------------------------------------------------------------- canonical samples


def tied(X, y, weight, number, seed=0, *, ordered=False):
    return canonical_rows(X, y, weight, seed, ties=Ties(number, ordered))


def same(a, b):
    for name in ("X", "y", "weight", "group"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(a.ties.number, b.ties.number)


@given(data=samples(), ordered=either)
@settings(deadline=None)
def test_equal_rows_are_merged_if_they_are_tied(data, ordered):
    X, y, weight, number = data
    rows = tied(*data, ordered=ordered)
    assert len(rows.y) == len({(*x, label, own) for x, label, own in zip(X.tolist(), y, number, strict=True)})
    assert rows.weight.sum() == weight.sum()
    assert len(np.unique(rows.ties.number)) == len(np.unique(number))


@given(data=samples(), ordered=either, order_seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_order_of_the_input_does_not_matter(data, ordered, order_seed):
    order = np.random.default_rng(order_seed).permutation(len(data[1]))
    same(tied(*data, ordered=ordered), tied(*(part[order] for part in data), ordered=ordered))


@given(data=samples(), order_seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_names_of_groups_do_not_matter(data, order_seed):
    X, y, weight, number = data
    names = np.random.default_rng(order_seed).permutation(50)
    same(tied(*data), tied(X, y, weight, names[number]))


@given(data=samples(), ordered=either)
@settings(deadline=None)
def test_an_integer_weight_is_a_repetition_in_its_group(data, ordered):
    X, y, weight, number = data
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    same(tied(*data, ordered=ordered), tied(X[again], y[again], np.ones(len(again)), number[again], ordered=ordered))


@given(data=samples(), ordered=either)
@settings(deadline=None)
def test_keys_tell_groups_apart_by_their_rows(data, ordered):
    X, y, _, number = data
    keys = row_keys(X[:, 0].astype(np.uint64) + 3 * X[:, 1].astype(np.uint64), y)
    found = tied_keys(keys, Ties(number, ordered))
    if not ordered:
        np.testing.assert_array_equal(found, tied_keys(keys, Ties(99 - number)))
    of_group = {own: frozenset(keys[number == own].tolist()) for own in number.tolist()}
    names = [(key, own if ordered else of_group[own]) for key, own in zip(keys.tolist(), number.tolist(), strict=True)]
    assert len(set(found.tolist())) == len(set(names))


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_one_size_are_dealt_by_the_seed(seed):
    rng = np.random.default_rng(0)
    X, y, number = rng.normal(size=(100, 2)).astype(np.float32), np.ones(100), np.repeat(np.arange(20), 5)

    def together(seed):
        rows = tied(X, y, np.ones(100), number, seed)
        fold = dict(zip(rows.X[:, 0].tolist(), rows.ties.folds(5).tolist(), strict=True))
        of_row = np.array([fold[x] for x in X[:, 0].tolist()])
        return of_row[:, None] == of_row

    assert not np.array_equal(together(seed), together(seed + 1))
