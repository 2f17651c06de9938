import numpy as np
import pytest
from scipy import stats

from localsvm.data import load_covtype_sample, toy_bayes_error, toy_mixture, toy_posterior

COVTYPE_ROWS, COVTYPE_CLASS_2 = 581_012, 283_301


@pytest.fixture(scope="module")
def covtype():
    return load_covtype_sample()


def test_covtype_sample_has_20000_rows_of_54_float32_features(covtype):
    X, y = covtype
    assert X.shape == (20_000, 54)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert y.shape == (20_000,)
    assert y.dtype == np.int8
    assert set(y.tolist()) == {-1, 1}


def test_covtype_sample_has_the_label_balance_of_the_full_set(covtype):
    _, y = covtype
    assert np.mean(y == 1) == pytest.approx(COVTYPE_CLASS_2 / COVTYPE_ROWS, abs=0.001)


def test_any_leading_part_of_the_covtype_sample_is_balanced_like_the_whole(covtype):
    _, y = covtype
    for size in (1_000, 5_000):
        sigma = (0.25 / size) ** 0.5
        assert abs(np.mean(y[:size] == 1) - np.mean(y == 1)) < 3 * sigma


def test_covtype_rows_keep_the_ranges_and_indicators_of_the_original(covtype):
    X, _ = covtype
    # Of the full set: elevation, aspect, slope, ..., hillshades, distance to fire points.
    lowest = [1859, 0, 0, 0, -173, 0, 0, 0, 0, 0]
    highest = [3858, 360, 66, 1397, 601, 7117, 254, 254, 254, 7173]
    assert (X[:, :10] >= lowest).all()
    assert (X[:, :10] <= highest).all()
    assert X[:, 4].min() < 0
    assert (X[:, 10:14].sum(axis=1) == 1).all()
    assert (X[:, 14:].sum(axis=1) == 1).all()
    assert (np.round(X) == X).all()


def test_covtype_rows_are_distinct(covtype):
    X, _ = covtype
    assert len(np.unique(X, axis=0)) == len(X)


@pytest.mark.parametrize("n_features", [1, 2, 4, 16])
def test_toy_points_stay_in_the_box(n_features):
    X, y = toy_mixture(5_000, n_features, random_state=1)
    assert X.shape == (5_000, n_features)
    assert X.dtype == np.float32
    assert y.dtype == np.int8
    assert np.abs(X).max() <= 2


def test_toy_coordinates_follow_the_truncated_normals_of_each_class():
    X, y = toy_mixture(20_000, 3, random_state=2)
    wide = stats.truncnorm(-2, 2)
    std = 8**-0.5
    shifted = stats.truncnorm(-3 / std, 1 / std, loc=1, scale=std)
    narrow = stats.truncnorm(-2 / std, 2 / std, scale=std)
    laws = {1: [wide, wide, wide], -1: [shifted, narrow, narrow]}
    for label, by_coordinate in laws.items():
        for k, law in enumerate(by_coordinate):
            assert stats.kstest(X[y == label, k], law.cdf).pvalue > 1e-3


def test_six_tenths_of_the_toy_labels_are_positive():
    _, y = toy_mixture(100_000, 1, random_state=3)
    assert abs(np.mean(y == 1) - 0.6) < 3 * (0.6 * 0.4 / len(y)) ** 0.5


def test_the_same_seed_draws_the_same_toy_and_another_seed_another():
    first, again, other = (toy_mixture(100, 4, random_state=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


def test_a_random_state_object_advances_from_draw_to_draw():
    random = np.random.RandomState(0)
    first, second = toy_mixture(50, 2, random), toy_mixture(50, 2, random)
    assert not np.array_equal(first[0], second[0])


def test_toy_posterior_is_bayes_rule_on_the_truncated_densities():
    X, _ = toy_mixture(500, 2, random_state=4)
    std = 8**-0.5
    wide = stats.truncnorm(-2, 2).pdf
    shifted = stats.truncnorm(-3 / std, 1 / std, loc=1, scale=std).pdf
    narrow = stats.truncnorm(-2 / std, 2 / std, scale=std).pdf
    positive = 0.6 * wide(X[:, 0]) * wide(X[:, 1])
    negative = 0.4 * shifted(X[:, 0]) * narrow(X[:, 1])
    np.testing.assert_allclose(toy_posterior(X), positive / (positive + negative), rtol=1e-6)


@pytest.mark.parametrize("n_features", [2, 4, 8])
def test_the_bayes_rule_errs_as_often_as_the_bayes_error_says(n_features):
    X, y = toy_mixture(200_000, n_features, random_state=5)
    observed = np.mean(np.where(toy_posterior(X) > 0.5, 1, -1) != y)
    error = toy_bayes_error(n_features)
    assert abs(observed - error) < 3 * (error * (1 - error) / len(y)) ** 0.5


def test_bayes_error_in_the_plane_is_the_integral_of_the_smaller_density():
    edges = np.linspace(-2, 2, 1001)
    x = (edges[1:] + edges[:-1]) / 2
    std = 8**-0.5
    wide = stats.truncnorm(-2, 2).pdf(x)
    shifted = stats.truncnorm(-3 / std, 1 / std, loc=1, scale=std).pdf(x)
    narrow = stats.truncnorm(-2 / std, 2 / std, scale=std).pdf(x)
    smaller = np.minimum(0.6 * np.outer(wide, wide), 0.4 * np.outer(shifted, narrow))
    integral = smaller.sum() * (x[1] - x[0]) ** 2
    assert toy_bayes_error(2) == pytest.approx(integral, abs=1e-5)


def test_bayes_error_in_four_dimensions_is_about_seven_percent_and_repeatable():
    assert toy_bayes_error(4) == pytest.approx(0.073, abs=0.001)
    assert toy_bayes_error(4) == toy_bayes_error(4)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: toy_mixture(0, 4), "n_samples is 0; give a number of at least 1"),
        (lambda: toy_mixture(10, 0), "n_features is 0; give a number of at least 1"),
        (lambda: toy_bayes_error(-1), "n_features is -1; give a number of at least 1"),
        (lambda: toy_posterior([0.0, 1.0]), "X has 1 dimension"),
    ],
)
def test_impossible_sizes_are_refused_with_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
