"""What may not change an encoding does not change it, to the bit."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from encoded import VIEWS, encoded, mixed

from localsvm.data.encoding import learn_encoding
from localsvm.data.encoding.folds import N_FOLDS
from localsvm.data.table import Table
from localsvm.data.ties import Ties

SEEDS = range(8)


def weights(seed, n=200):
    """Weights are whole numbers or fractions."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 4, n).astype(float) if seed % 2 else rng.random(n)


def same(a, b):
    for one, other in zip(a[1:], b[1:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_rows_does_not_matter(seed):
    (table, y), weight, view = mixed(seed, n_targets=1 + seed % 3), weights(seed), VIEWS[seed % 3]
    order = np.random.default_rng(seed).permutation(len(table))
    columns, training, new = encoded(table, y, weight, view)
    shuffled = encoded(replace(table, X=table.X[order]), y[order], weight[order], view)
    same((columns, training[order], new[order]), shuffled)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_names_of_levels_do_not_matter(seed):
    table, y = mixed(seed)
    rng = np.random.default_rng(seed)
    X, names = table.X.copy(), {}
    for j, known in table.names.items():
        place = rng.permutation(len(known))
        names[j] = tuple(rng.permutation([f"other {k:02}" for k in range(len(known))]).tolist())
        present = ~np.isnan(X[:, j])
        X[present, j] = place[X[present, j].astype(int)]
    weight = weights(seed)
    same(encoded(table, y, weight), encoded(Table(X, names), y, weight))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_columns_does_not_matter(seed):
    table, y = mixed(seed)
    order = np.random.default_rng(seed).permutation(table.n_columns)
    moved = Table(table.X[:, order], {new: table.names[old] for new, old in enumerate(order) if old in table.names})
    view = VIEWS[seed % 3]
    expected, found = encoded(table, y, view=view), encoded(moved, y, view=view)
    same(expected, found)
    np.testing.assert_array_equal(order[found[0].origins], expected[0].origins)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_weight_of_two_is_a_row_given_twice(seed):
    table, y = mixed(seed, n_targets=1 + seed % 3)
    weight = np.random.default_rng(seed).integers(0, 4, len(table))
    repeated = np.repeat(np.arange(len(table)), weight)
    view = VIEWS[seed % 3]
    columns, training, new = encoded(table, y, weight.astype(float), view)
    twice = encoded(replace(table, X=table.X[repeated]), y[repeated], view=view)
    same((columns, training[repeated], new[repeated]), twice)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_with_equal_features_are_encoded_alike_whatever_their_targets(seed):
    table, y = mixed(seed)
    doubled = Table(np.concatenate([table.X, table.X]), table.names)
    _, training, _ = encoded(doubled, np.concatenate([y, y[::-1]]))
    np.testing.assert_array_equal(training[:200], training[200:])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_target_of_a_row_has_no_part_in_its_own_encoding(seed):
    table, y = mixed(seed, n_targets=1 + seed % 2)
    features = [f"x{j}" for j in range(table.n_columns)]
    columns, training, _ = encoded(table, y)
    changes = 0
    for row in range(0, 200, 20):
        other = y.copy()
        other[row] += 3.0
        view, again, _ = encoded(table, other)
        # Whether a column has an effect at all is decided by all rows together.
        common = [name for name in columns.names(features) if name in view.names(features)]
        assert any("mean" in name for name in common)
        for name in common:
            before = training[:, columns.names(features).index(name)]
            after = again[:, view.names(features).index(name)]
            assert before[row] == after[row]
            changes += int((before != after).sum())
    assert changes > 100


def test_rows_of_weight_zero_are_as_if_absent():
    table, y = mixed()
    weight = (np.arange(200) % 3 > 0).astype(float)
    present = weight > 0
    columns, training, new = encoded(table, y, weight)
    same((columns, training[present], new[present]), encoded(replace(table, X=table.X[present]), y[present]))


def folds(table, y, **options):
    return learn_encoding(table, y, np.ones(len(table)), **options).training.fold


def test_folds_have_equal_sizes_and_depend_on_the_seed():
    table, y = mixed()
    fold = folds(table, y)
    assert np.bincount(fold).tolist() == [200 // N_FOLDS] * N_FOLDS
    assert (folds(table, y, seed=1) != fold).mean() > 0.5


def test_rows_of_a_group_share_a_fold_whatever_its_number():
    table, y = mixed()
    groups = np.random.default_rng(0).integers(0, 60, 200)
    fold = folds(table, y, ties=Ties(groups))
    for group in np.unique(groups):
        assert len(set(fold[groups == group])) == 1
    np.testing.assert_array_equal(folds(table, y, ties=Ties(1000 - groups)), fold)
    assert len(set(fold)) == N_FOLDS


def test_times_are_cut_into_blocks_whatever_their_unit():
    table, y = mixed()
    time = np.random.default_rng(0).integers(0, 60, 200)
    fold = folds(table, y, ties=Ties(time, ordered=True))
    ends = [(time[fold == block].min(), time[fold == block].max()) for block in range(N_FOLDS)]
    assert all(later[0] > earlier[1] for later, earlier in itertools.pairwise(ends))
    np.testing.assert_array_equal(folds(table, y, ties=Ties(time**2, ordered=True)), fold)


@pytest.mark.parametrize("ordered", [False, True])
def test_rows_of_weight_zero_are_in_no_group_and_at_no_time(ordered):
    table, y = mixed()
    number = np.random.default_rng(0).integers(0, 60, 200)
    present = np.arange(200) % 3 > 0
    ties = Ties(np.where(present, number, -1), ordered)
    fold = learn_encoding(table, y, present.astype(float), ties=ties).training.fold
    alone = folds(replace(table, X=table.X[present]), y[present], ties=ties[present])
    np.testing.assert_array_equal(fold[present], alone)


@pytest.mark.parametrize("ordered", [False, True])
def test_means_of_a_group_or_a_block_do_not_depend_on_its_targets(ordered):
    table, y = mixed()
    weight = weights(0)  # which tell all levels apart, so that targets need not
    ties = Ties(np.random.default_rng(0).integers(0, 20, 200), ordered)
    before = learn_encoding(table, y, weight, ties=ties)
    own = before.training.fold == before.training.fold[0]
    assert own.all(where=ties.number == ties.number[0])
    other = y + 0.3 * np.random.default_rng(1).normal(size=y.shape)
    after = learn_encoding(table, np.where(own[:, None], other, y), weight, ties=ties)
    first, second = (learned.encode_training(table, learned.encoding.view()) for learned in (before, after))
    assert first.view.columns == second.view.columns
    np.testing.assert_array_equal(first[:][own], second[:][own])
    assert not np.array_equal(first[:][~own], second[:][~own])


def test_a_balanced_design_has_several_folds():
    # Nothing but their names tells these levels apart.
    a, b = np.meshgrid(np.arange(6.0), np.arange(6.0))
    table = Table(np.column_stack([a.ravel(), b.ravel()]), {0: tuple("abcdef"), 1: tuple("uvwxyz")})
    assert np.bincount(folds(table, np.zeros((36, 1)))).tolist() == [8, 7, 7, 7, 7]
