"""Target means are regularized by empirical Bayes, cross-fitted, and relative to coarser categories."""

import numpy as np
import pytest
from encoded import encoded
from sklearn.preprocessing import TargetEncoder

from localsvm.data.encoding import class_indicators, learn_encoding
from localsvm.data.table import Table


def town_rows(n=4000, n_towns=50, effect=1.0, seed=0, n_targets=1):
    """A category whose levels have normal effects, beside a number that makes all rows different."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, n_towns, n)
    names = tuple(f"{k:04}" for k in range(n_towns))
    means = effect * rng.normal(size=(n_towns, n_targets))
    y = means[town] + rng.normal(size=(n, n_targets))
    return Table(np.column_stack([rng.normal(size=n), town]), {1: names}), y


def means_of(table, y, **options):
    """The target means of the training rows, and of the same rows as new ones."""
    view, training, new = encoded(table, y, **options)
    places = [k for k, column in enumerate(view.columns) if column.kind == "mean"]
    return training[:, places], new[:, places]


def by_hand(y, town):
    """Shrunk means of the levels by the textbook estimates of a one-way analysis of variance."""
    levels = np.unique(town)
    n = np.array([(town == level).sum() for level in levels])
    means = np.array([y[town == level].mean() for level in levels])
    within = sum(((y[town == level] - mean) ** 2).sum() for level, mean in zip(levels, means, strict=True))
    within /= len(y) - len(levels)
    spread = (n * (means - y.mean()) ** 2).sum()
    between = (spread - (len(levels) - 1) * within) / (len(y) - (n**2).sum() / len(y))
    shrunk = n * (means - y.mean()) / (n + within / between)
    values = dict(zip(levels, shrunk, strict=True))
    return values, np.std([values[level] for level in town])


def test_a_new_row_has_the_shrunk_mean_of_its_level():
    table, y = town_rows(n=300)
    values, spread = by_hand(y[:, 0], table.X[:, 1])
    expected = np.array([values[town] for town in table.X[:, 1]]) / spread
    np.testing.assert_allclose(means_of(table, y)[1][:, 0], expected, rtol=1e-10)


def test_a_training_row_has_the_shrunk_mean_of_its_level_in_the_other_folds():
    table, y = town_rows(n=300)
    fold = learn_encoding(table, y, np.ones(300)).training.fold
    found = means_of(table, y)[0][:, 0]
    for number in range(5):
        others, own = fold != number, fold == number
        values, spread = by_hand(y[others, 0], table.X[others, 1])
        expected = np.array([values.get(town, 0.0) for town in table.X[own, 1]]) / spread
        np.testing.assert_allclose(found[own], expected, rtol=1e-10)


@pytest.mark.parametrize("effect", [0.3, 1.0])
def test_scikit_learn_finds_the_same_means_where_levels_have_many_rows(effect):
    table, y = town_rows(n=20_000, effect=effect)
    training, new = means_of(table, y)
    encoder = TargetEncoder(target_type="continuous", smooth="auto")
    their_training = encoder.fit_transform(table.X[:, 1:], y[:, 0])
    their_new = encoder.transform(table.X[:, 1:])
    assert np.corrcoef(new[:, 0], their_new[:, 0])[0, 1] > 0.999
    assert np.corrcoef(training[:, 0], their_training[:, 0])[0, 1] > 0.98


def test_cross_fitted_means_of_rare_levels_predict_as_well_in_training_as_later():
    # 4 rows per level and much noise: means that contained the row's own target would seem far better than they are.
    table, y = town_rows(n=8000, n_towns=2000, effect=0.5)
    half = np.arange(8000) < 4000
    fitted = learn_encoding(Table(table.X[half], table.names), y[half], np.ones(4000))
    view = fitted.encoding.view()
    place = [column.kind for column in view.columns].index("mean")
    training = fitted.encode_training(Table(table.X[half], table.names), view)[:][:, place]
    new = fitted.encoding.encode(Table(table.X[~half], table.names), view)[:][:, place]
    seen = fitted.encoding.encode(Table(table.X[half], table.names), view)[:][:, place]
    honest, later, leaky = (
        np.corrcoef(x, t)[0, 1] for x, t in ((training, y[half, 0]), (new, y[~half, 0]), (seen, y[half, 0]))
    )
    assert abs(honest - later) < 0.06
    assert leaky > later + 0.2


def test_a_rare_level_is_shrunk_more_than_a_frequent_one_with_the_same_mean():
    table, y = town_rows(n=2000)
    X = np.column_stack(
        [np.random.default_rng(1).normal(size=2102), np.append(table.X[:, 1], [50.0] * 100 + [51.0] * 2)]
    )
    names = (*table.names[1], "frequent", "rare")
    new = means_of(Table(X, {1: names}), np.append(y[:, 0], [3.0] * 102)[:, None])[1]
    assert 0 < new[-1] < 0.8 * new[-3]


def test_levels_that_differ_by_noise_only_have_no_mean():
    dropped = [means_of(*town_rows(n=1000, effect=0.0, seed=seed))[1].shape[1] == 0 for seed in range(20)]
    assert 6 <= sum(dropped) <= 18  # the estimate of a variance that is zero is negative about every second time
    assert all(means_of(*town_rows(n=1000, effect=0.5, seed=seed))[1].shape[1] == 1 for seed in range(20))


def test_levels_without_any_duplicates_have_no_mean():
    n = 100
    table = Table(np.column_stack([np.arange(float(n))] * 2), {1: tuple(f"{k:03}" for k in range(n))})
    assert means_of(table, np.random.default_rng(0).normal(size=(n, 1)))[1].shape[1] == 0


def test_duplicates_are_one_observation():
    # Each level occurs with two values of the other feature, which alone decide: 500 duplicates tell no more than one.
    town, size = np.arange(24.0) % 6, np.arange(24.0) // 6
    y = ((town + size) % 2)[:, None]
    table = Table(np.tile(np.column_stack([size, town]), (500, 1)), {1: tuple("abcdef")})
    assert means_of(table, np.tile(y, (500, 1)))[1].shape[1] == 0


def test_the_unit_of_weights_does_not_matter():
    table, y = town_rows(n=500)
    weight = np.random.default_rng(0).random(500)
    new, other = (means_of(table, y, weight=weight * unit)[1] for unit in (1.0, 1e-3))
    np.testing.assert_allclose(new, other, rtol=1e-9, atol=1e-12)


def test_targets_far_from_zero_have_the_same_means():
    table, y = town_rows(n=500)
    for part, other in zip(means_of(table, y), means_of(table, y + 1e7), strict=True):
        np.testing.assert_allclose(part, other, atol=1e-6)


def test_every_target_has_its_own_mean():
    table, y = town_rows(n=2000, n_targets=3)
    new = means_of(table, y)[1]
    assert new.shape[1] == 3
    for k in range(3):
        np.testing.assert_allclose(new[:, k], means_of(table, y[:, [k]])[1][:, 0], rtol=1e-10)


# ------------------------------------------------------------------------------------------------ nested categories


def nested_rows(n=6000, fine_effect=1.0, seed=0):
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 60, n)
    region = town // 10
    y = 2 * rng.normal(size=6)[region] + fine_effect * rng.normal(size=60)[town] + rng.normal(size=n)
    names = {1: tuple(f"town {k:02}" for k in range(60)), 2: tuple(f"region {k}" for k in range(6))}
    return Table(np.column_stack([rng.normal(size=n), town, region]), names), y[:, None]


def new_mean(table, y, column):
    view, _, new = encoded(table, y)
    places = [k for k, found in enumerate(view.columns) if found.kind == "mean" and found.origin == column]
    return new[:, places]


def test_a_nested_category_has_what_it_adds_to_the_coarser_one():
    table, y = nested_rows()
    town, region = new_mean(table, y, 1)[:, 0], new_mean(table, y, 2)[:, 0]
    assert abs(np.corrcoef(town, region)[0, 1]) < 0.1
    alone = new_mean(Table(table.X[:, :2], {1: table.names[1]}), y, 1)[:, 0]
    assert np.corrcoef(alone, region)[0, 1] > 0.6


def test_a_rare_level_of_a_nested_category_is_shrunk_to_its_coarser_level():
    table, y = nested_rows()
    X = np.concatenate([table.X, [[0.0, 60.0, 0.0]]])
    names = {1: (*table.names[1], "hamlet"), 2: table.names[2]}
    encoding = learn_encoding(Table(X, names), np.concatenate([y, [[y[table.X[:, 2] == 0].mean()]]]), np.ones(len(X)))
    view = encoding.encoding.view()
    town = [k for k, column in enumerate(view.columns) if column.kind == "mean" and column.origin == 1]
    new = encoding.encoding.encode(Table(X, names), view)[:][:, town]
    assert abs(new[-1, 0]) < 0.05 * np.abs(new).max()
    assert encoding.encoding.categories[[c.column for c in encoding.encoding.categories].index(1)].coarser == 2


def test_a_nested_category_that_adds_nothing_has_no_mean():
    table, y = nested_rows(fine_effect=0.0, seed=1)
    assert new_mean(table, y, 2).shape[1] == 1
    assert new_mean(table, y, 1).shape[1] == 0


def test_of_two_names_for_the_same_thing_one_adds_nothing():
    table, y = town_rows(n=1000)
    X = np.column_stack([table.X, (table.X[:, 1] + 7) % 50])
    view, _, _ = encoded(Table(X, {1: table.names[1], 2: tuple(f"code {k:02}" for k in range(50))}), y)
    assert [column.kind for column in view.columns].count("mean") == 1


# ------------------------------------------------------------------------------------------------------- classes


def test_classes_are_indicators_of_the_ten_heaviest():
    classes = np.repeat(np.arange(14), np.arange(14) + 1)
    weight = np.where(classes == 0, 100.0, 1.0)
    found = class_indicators(classes, 14, weight)
    np.testing.assert_array_equal(found.T, classes == np.array([0, *range(5, 14)])[:, None])
    np.testing.assert_array_equal(class_indicators(np.array([1, 0, 2]), 3, np.ones(3)), np.eye(3)[[1, 0, 2]])
