"""Weights are repetitions: a model depends on which rows there are, how often, and nothing else."""

import pickle

import numpy as np
import pytest

from localsvm import Grid, LocalSVC
from localsvm.data import toy_mixture

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

SCALINGS = ["minmax", "standard", "quantile", None]
VARIANTS = [
    *({"scaling": scaling} for scaling in SCALINGS),
    {"refit": "retrain"},
    {"search": "racing"},
    {"kernel": "laplace"},
    {"kernel": "manhattan"},
    {"class_weight": "balanced"},
    {"class_weight": {-1: 0.7, 1: 1.3}},
    {"n_folds": 3, "random_state": 7},
]


@pytest.fixture(scope="module")
def rows():
    """Noisy rows, some of them with both labels."""
    X, y = toy_mixture(120, 3, random_state=0)
    X, y = X.astype(np.float64) / 3, y.astype(int)
    X[110:] = X[:10]
    return X, y


@pytest.fixture(scope="module")
def counts():
    return np.random.RandomState(1).randint(0, 4, size=120)


def values(X, y, weight=None, **parameters):
    """Decision values at fixed points of a model fitted to these rows."""
    clf = LocalSVC(**{"grid": Grid(n_widths=4, n_lams=4), **parameters})
    points = toy_mixture(200, X.shape[1], random_state=9)[0] / 3
    return clf.fit(X, y, sample_weight=weight).decision_function(points)


def named(variant):
    return ",".join(f"{name}={value}" for name, value in variant.items())


@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_integer_weights_are_repetitions_bit_for_bit(rows, counts, variant):
    X, y = rows
    weighted = values(X, y, counts.astype(float), **variant)
    repeated = values(np.repeat(X, counts, axis=0), np.repeat(y, counts), **variant)
    np.testing.assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_rows_of_weight_zero_are_as_if_absent_bit_for_bit(rows, counts, variant):
    X, y = rows
    weight = np.where(counts > 0, 1.1 + counts, 0.0)
    extreme = np.where(weight[:, None] > 0, X, 1e6 * X)
    present = weight > 0
    np.testing.assert_array_equal(
        values(extreme, y, weight, **variant),
        values(X[present], y[present], weight[present], **variant),
    )


@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_row_order_does_not_matter_bit_for_bit(rows, variant):
    X, y = rows
    weight = np.random.RandomState(2).gamma(1.0, size=len(y))
    expected = values(X, y, weight, **variant)
    for seed in range(3):
        order = np.random.RandomState(seed).permutation(len(y))
        np.testing.assert_array_equal(values(X[order], y[order], weight[order], **variant), expected)


def scaling_of(X, y, weight, scaling):
    fitted = LocalSVC(grid=1, n_folds=2, scaling=scaling).fit(X, y, sample_weight=weight)
    return pickle.dumps(fitted.model_.scaling)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_scaling_knows_neither_order_nor_repetition_bit_for_bit(rows, counts, scaling):
    # Sums in double precision that differ in the last bit would seldom show in decision values.
    X, y = rows
    weight = np.random.RandomState(2).gamma(1.0, size=len(y))
    order = np.random.RandomState(0).permutation(len(y))
    assert scaling_of(X, y, weight, scaling) == scaling_of(X[order], y[order], weight[order], scaling)
    assert scaling_of(X, y, counts, scaling) == scaling_of(
        np.repeat(X, counts, axis=0), np.repeat(y, counts), None, scaling
    )


def test_class_weights_are_applied_to_merged_rows_so_that_repetition_stays_exact(rows, counts):
    X, y = rows
    clf = LocalSVC(grid=1, n_folds=2, class_weight={-1: 0.7, 1: 1.3})
    once = clf.fit(X, y, sample_weight=7 * counts).model_.cells[0].total_weight
    often = clf.fit(np.repeat(X, 7 * counts, axis=0), np.repeat(y, 7 * counts))
    assert often.model_.cells[0].total_weight == once


@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_number_of_threads_does_not_matter_bit_for_bit(rows, variant):
    one = values(*rows, n_jobs=1, **variant)
    for n_jobs in (2, 5, None):
        np.testing.assert_array_equal(values(*rows, n_jobs=n_jobs, **variant), one)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda X: X[:, ::-1].copy()[:, ::-1]])
def test_memory_layout_does_not_matter_bit_for_bit(rows, layout):
    X, y = rows
    for scaling in SCALINGS:
        expected = values(X, y, scaling=scaling)
        np.testing.assert_array_equal(values(layout(X), y, scaling=scaling), expected)


def test_twice_the_weights_are_every_row_twice(rows):
    X, y = rows
    weight = np.random.RandomState(3).gamma(1.0, size=len(y))
    twice = values(np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(weight, 2))
    np.testing.assert_array_equal(values(X, y, 2 * weight), twice)


def test_one_number_is_the_weight_of_all_rows(rows):
    X, y = rows
    np.testing.assert_array_equal(values(X, y, 3.0), values(X, y, np.full(len(y), 3.0)))
    np.testing.assert_array_equal(values(X, y, 1.0), values(X, y))


def test_weights_matter(rows, counts):
    X, y = rows
    assert not np.array_equal(values(X, y, counts.astype(float)), values(X, y))


def test_class_weights_are_the_sample_weights_of_their_rows(rows):
    X, y = rows
    np.testing.assert_array_equal(values(X, y, class_weight={-1: 2.5, 1: 0.3}), values(X, y, np.where(y > 0, 0.3, 2.5)))


def test_a_class_that_the_dictionary_leaves_out_has_weight_one(rows):
    X, y = rows
    np.testing.assert_array_equal(values(X, y, class_weight={1: 4.0}), values(X, y, class_weight={-1: 1.0, 1: 4.0}))


def test_class_weights_and_sample_weights_multiply(rows, counts):
    X, y = rows
    np.testing.assert_array_equal(
        values(X, y, counts.astype(float), class_weight={-1: 2.0, 1: 0.25}),
        values(X, y, counts * np.where(y > 0, 0.25, 2.0)),
    )


def test_balanced_classes_have_the_same_total_weight(rows):
    X, y = rows
    factor = len(y) / (2 * np.array([(y < 0).sum(), (y > 0).sum()]))
    np.testing.assert_array_equal(
        values(X, y, class_weight="balanced"),
        values(X, y, class_weight={-1: factor[0], 1: factor[1]}),
    )


def test_balancing_counts_sample_weights(rows, counts):
    X, y = rows
    np.testing.assert_array_equal(
        values(X, y, counts.astype(float), class_weight="balanced"),
        values(np.repeat(X, counts, axis=0), np.repeat(y, counts), class_weight="balanced"),
    )


def test_a_heavier_class_is_predicted_more_often(rows):
    X, y = rows
    positive = [(values(X, y, class_weight={-1: 1.0, 1: weight}) > 0).mean() for weight in (0.01, 1.0, 100.0)]
    assert positive == sorted(positive)
    assert positive[0] < positive[-1]


def test_equal_rows_share_a_fold_so_that_repetition_does_not_leak():
    # Labels are coin flips, rows are distinct but for their five copies. A copy in another fold
    # would give its label away and push the risk of a narrow kernel towards zero.
    random = np.random.RandomState(0)
    X = np.repeat(random.uniform(size=(200, 3)), 5, axis=0)
    y = np.repeat(random.permutation(np.arange(200) % 2), 5)
    order = random.permutation(len(y))
    clf = LocalSVC(grid=Grid(widths=(0.01, 0.05, 0.2), n_lams=4)).fit(X[order], y[order])
    assert clf.model_.cells[0].risks.min() > 0.4


def test_equal_rows_with_other_labels_share_a_fold_too():
    # Both labels on every row: the best prediction on any fold is right half of the time. Were the
    # two in different folds, each training set would hold the opposite label: risk one.
    X = np.repeat(np.random.RandomState(0).uniform(size=(100, 2)), 2, axis=0)
    y = np.tile([0, 1], 100)
    clf = LocalSVC(objective="accuracy", grid=Grid(widths=(0.01, 0.05, 0.2), n_lams=4)).fit(X, y)
    np.testing.assert_allclose(clf.model_.cells[0].risks, 0.5, rtol=1e-12)


def test_random_state_moves_the_folds_and_nothing_else_does(rows):
    X, y = rows
    np.testing.assert_array_equal(values(X, y, random_state=3), values(X, y, random_state=3))
    np.testing.assert_array_equal(values(X, y), values(X, y, random_state=0))
    assert not np.array_equal(values(X, y, random_state=3), values(X, y, random_state=4))


def test_negative_zero_is_zero(rows):
    X, y = np.round(rows[0]), rows[1]
    assert (X == 0).any()
    for scaling in SCALINGS:
        np.testing.assert_array_equal(
            values(np.where(X == 0, -0.0, X), y, scaling=scaling), values(X, y, scaling=scaling)
        )
