"""Content decides: the canonical rows of a data set, whatever its order."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from localsvm.data.content import canonical_rows, content_hash

floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
seeds = st.integers(0, 2**63)


@st.composite
def samples(draw):
    """Samples with many repetitions, of both classes, with small integer weights."""
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    distinct = draw(hnp.arrays(np.float32, (draw(st.integers(1, 40)), d), elements=floats32))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = distinct[rng.integers(0, len(distinct), size=n)]
    return X, rng.choice([-1.0, 1.0], size=n), rng.integers(1, 4, size=n).astype(np.float64)


def same_rows(a, b):
    for name in ("X", "y", "weight", "group"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def contents(X, y, weight):
    """Total weight of every distinct sample."""
    total = {}
    for x, label, w in zip((X + np.float32(0)).tolist(), y.tolist(), weight, strict=True):
        total[*x, label] = total.get((*x, label), 0.0) + w
    return total


# ------------------------------------------------------------------------------------------ hashes


@given(data=samples(), seed=seeds)
@settings(deadline=None)
def test_equal_rows_hash_equally_and_others_differently(data, seed):
    X, _, _ = data
    hashes = content_hash(X, seed)
    equal_rows = (X[:, None, :] == X[None, :, :]).all(axis=2)
    np.testing.assert_array_equal(hashes[:, None] == hashes[None, :], equal_rows)


@given(data=samples(), seed=seeds, order_seed=st.integers(0, 1000))
@settings(deadline=None)
def test_a_hash_depends_on_its_row_only(data, seed, order_seed):
    X, _, _ = data
    order = np.random.default_rng(order_seed).permutation(len(X))
    np.testing.assert_array_equal(content_hash(X[order], seed), content_hash(X, seed)[order])


def test_minus_zero_counts_as_zero():
    X = np.array([[0.0, -0.0], [-0.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    assert len(set(content_hash(X, 0).tolist())) == 1
    assert len(canonical_rows(X, np.ones(3), np.ones(3), 0).y) == 1


def test_the_place_of_a_value_in_the_row_matters():
    X = np.array([[1.0, 2.0], [2.0, 1.0]], dtype=np.float32)
    first, second = content_hash(X, 0)
    assert first != second


@pytest.mark.parametrize("seeds", [(0, 1), (0, 2**32), (1, 2**64 - 1)])
def test_another_seed_gives_another_order(seeds):
    X = np.arange(100, dtype=np.float32)[:, None]
    first, second = (canonical_rows(X, np.ones(100), np.ones(100), seed) for seed in seeds)
    assert not np.array_equal(first.X, second.X)


def test_hashes_spread_evenly_over_their_bits():
    hashes = content_hash(np.arange(20_000, dtype=np.float32)[:, None], 3)
    for bit in range(64):
        fraction = np.mean((hashes >> np.uint64(bit)) & np.uint64(1))
        assert abs(fraction - 0.5) < 5 * 0.5 / np.sqrt(20_000)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_memory_layout_does_not_matter(layout):
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    np.testing.assert_array_equal(content_hash(layout(X), 1), content_hash(X, 1))


# -------------------------------------------------------------------------------------------- rows


@given(data=samples(), seed=seeds)
@settings(deadline=None)
def test_every_distinct_sample_is_kept_once_with_its_total_weight(data, seed):
    rows = canonical_rows(*data, seed)
    assert contents(rows.X, rows.y, rows.weight) == contents(*data)
    assert len(rows.y) == len(contents(*data))


@given(data=samples(), seed=seeds, order_seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_order_of_the_input_does_not_matter(data, seed, order_seed):
    order = np.random.default_rng(order_seed).permutation(len(data[1]))
    same_rows(canonical_rows(*data, seed), canonical_rows(*(part[order] for part in data), seed))


@given(data=samples(), seed=seeds)
@settings(deadline=None)
def test_an_integer_weight_is_a_repetition(data, seed):
    X, y, weight = data
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    same_rows(
        canonical_rows(X, y, weight, seed),
        canonical_rows(X[again], y[again], np.ones(len(again)), seed),
    )


@given(data=samples(), seed=seeds, absent_seed=st.integers(0, 1000))
@settings(deadline=None)
def test_a_sample_of_weight_zero_is_as_if_absent(data, seed, absent_seed):
    X, y, weight = data
    present = np.random.default_rng(absent_seed).random(len(y)) < 0.7
    present[0] = True
    same_rows(
        canonical_rows(X, y, weight * present, seed),
        canonical_rows(X[present], y[present], weight[present], seed),
    )


@given(data=samples(), seed=seeds)
@settings(deadline=None)
def test_groups_number_the_distinct_features_in_order(data, seed):
    rows = canonical_rows(*data, seed)
    same_features = (rows.X[:, None, :] == rows.X[None, :, :]).all(axis=2)
    np.testing.assert_array_equal(rows.group[:, None] == rows.group[None, :], same_features)
    assert rows.group[0] == 0
    assert np.isin(np.diff(rows.group), [0, 1]).all()
    assert rows.n_groups == len(np.unique(rows.X, axis=0))


@given(data=samples(), seed=seeds)
@settings(deadline=None)
def test_canonical_rows_are_their_own_canonical_rows(data, seed):
    rows = canonical_rows(*data, seed)
    same_rows(canonical_rows(rows.X, rows.y, rows.weight, seed), rows)


def test_fractional_weights_sum_alike_in_any_order():
    # 0.1 + 0.2 + 0.3 depends on the order of its terms; the merged weight must not.
    X, y = np.zeros((3, 1), dtype=np.float32), np.ones(3)
    weight = np.array([0.1, 0.2, 0.3])
    sums = {
        canonical_rows(X, y, weight[list(order)], 0).weight[0]
        for order in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    }
    assert len(sums) == 1


def test_the_rows_are_ready_for_the_native_core():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32))
    rows = canonical_rows(X, np.ones(10), np.ones(10), 0)
    assert rows.X.flags.c_contiguous
    assert (rows.X.dtype, rows.y.dtype, rows.weight.dtype) == (np.float32, np.float64, np.float64)


# ---------------------------------------------------------------------------------- several targets


@given(data=samples(), seed=seeds, order_seed=st.integers(0, 1000))
@settings(deadline=None)
def test_rows_with_several_targets_are_the_same_in_any_order(data, seed, order_seed):
    X, y, weight = data
    rng = np.random.default_rng(order_seed)
    targets = np.column_stack([y, rng.choice([-0.0, 0.0, 2.0], size=len(y))])
    order = rng.permutation(len(y))
    rows = canonical_rows(X, targets, weight, seed)
    same_rows(canonical_rows(X[order], targets[order], weight[order], seed), rows)
    assert not np.signbit(rows.y[rows.y == 0]).any()


@given(data=samples(), seed=seeds)
@settings(deadline=None)
def test_samples_are_merged_only_where_all_targets_agree(data, seed):
    X, y, weight = data
    second = np.arange(len(y)) % 3.0
    rows = canonical_rows(X, np.column_stack([y, second]), weight, seed)
    merged = contents(np.column_stack([X, second.astype(np.float32)]), y, weight)
    found = contents(np.column_stack([rows.X, rows.y[:, 1].astype(np.float32)]), rows.y[:, 0], rows.weight)
    assert found == merged
    assert len(rows.y) == len(merged)


@given(data=samples(), seed=seeds)
@settings(deadline=None)
def test_a_column_of_targets_is_as_good_as_a_list(data, seed):
    X, y, weight = data
    flat, column = canonical_rows(X, y, weight, seed), canonical_rows(X, y[:, None], weight, seed)
    same_rows(flat, replace(column, y=column.y[:, 0]))


@pytest.mark.parametrize("y", [np.zeros(0), np.zeros((0, 2))])
def test_no_rows_are_no_rows(y):
    rows = canonical_rows(np.zeros((0, 3), dtype=np.float32), y, np.zeros(0), 0)
    assert rows.X.shape == (0, 3) and rows.y.shape == y.shape and len(rows.weight) == 0
