"""Probabilities: they keep the decision, order and sum; they are true where the truth is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from localsvm.decision.absent import absent_rates
from localsvm.decision.calibration import Calibration, fit_binary, fit_multiclass

FIELDS = ("increments", "present", "absent")


def binary_sample(seed, n=600, n_cells=4, slope=2.0):
    """Values with P(y = +1 | f) = 1 / (1 + exp(-slope f)), grouped by cell; the last cell is of one class."""
    rng = np.random.default_rng(seed)
    cell = np.sort(rng.integers(0, n_cells, size=n))
    f = rng.normal(0, 1.2, size=n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-slope * f)), 1.0, -1.0)
    pure = cell == n_cells - 1
    if n_cells > 1:
        f[pure] = y[pure] = 1.0
    return f, y, np.ones(n), cell


def multiclass_sample(seed, n=1500, n_cells=3, n_classes=4):
    """Scores s with P(class i) = softmax(s)_i; the first cell has no samples of the last class."""
    rng = np.random.default_rng(seed)
    cell = np.sort(rng.integers(0, n_cells, size=n))
    scores = rng.normal(0, 1.5, size=(n, n_classes))
    scores[cell == 0, -1] = np.nan
    odds = np.where(np.isnan(scores), 0.0, np.exp(scores))
    share = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    label = (rng.random(n)[:, None] > share).sum(axis=1)
    return scores, np.minimum(label, n_classes - 1), np.ones(n), cell


def assert_equal(one: Calibration, other: Calibration):
    for field in FIELDS:
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-3, err_msg=field)


binary = fit_binary(*binary_sample(0), n_cells=4)
multiclass = fit_multiclass(*multiclass_sample(0), n_cells=3)

any_value = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-17, -1e-17, 1.0, -1.0])


@given(f=hnp.arrays(np.float64, st.integers(1, 50), elements=any_value), cell=st.integers(0, 3))
@settings(deadline=None)
def test_two_classes_keep_the_sign_for_every_number(f, cell):
    p = binary.probability(f, np.full(len(f), cell))
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_array_equal(p >= 0.5, f >= 0)
    np.testing.assert_array_equal(np.stack([1 - p, p], axis=1).argmax(axis=1), f >= 0)


@given(f=hnp.arrays(np.float64, st.integers(2, 50), elements=any_value), cell=st.integers(0, 3))
@settings(deadline=None)
def test_the_larger_the_value_the_larger_the_probability(f, cell):
    p = binary.probability(np.sort(f), np.full(len(f), cell))
    assert (np.diff(p) >= -1e-15).all()


@given(
    scores=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 20), st.just(4)),
        elements=st.floats(-1e300, 1e300) | st.sampled_from([0.0, 1.0, 1.0 - 2**-53, 1.0 + 2**-52, np.nan]),
    ),
    cell=st.integers(0, 2),
)
@settings(deadline=None)
def test_many_classes_keep_the_first_of_the_largest_scores(scores, cell):
    scores[np.isnan(scores).all(axis=1), 0] = 0.0
    p = multiclass.probabilities(scores, np.full(len(scores), cell))
    np.testing.assert_array_equal(p.argmax(axis=1), np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p > 0).all()


def test_the_larger_the_score_the_larger_the_probability():
    scores, _, _, cell = multiclass_sample(3)
    p = multiclass.probabilities(scores, cell)
    order = np.argsort(scores, axis=1)  # NaN last
    ranked = np.take_along_axis(np.where(np.isnan(scores), np.inf, p), order, axis=1)
    assert (ranked[:, 1:] >= ranked[:, :-1] - 1e-15).all()


def test_two_classes_are_the_scores_minus_f_and_f():
    f, y, weight, cell = binary_sample(1, n_cells=1)
    grid, zeros = np.linspace(-5, 5, 101), np.zeros(101, dtype=int)
    by_scores = fit_multiclass(np.stack([-f, f], axis=1), (y > 0).astype(int), weight, cell, n_cells=1)
    by_values = fit_binary(f, y, weight, cell, n_cells=1)
    np.testing.assert_allclose(by_values.increments, by_scores.increments, rtol=0.02)  # but for the bins
    np.testing.assert_allclose(
        by_values.probability(grid, zeros), by_values.probabilities(np.stack([-grid, grid], axis=1), zeros)[:, 1]
    )


@pytest.mark.parametrize("fit, sample", [(fit_binary, binary_sample), (fit_multiclass, multiclass_sample)])
def test_a_weight_is_a_repetition(fit, sample):
    f, y, _, cell = sample(2)
    times = np.random.default_rng(0).integers(0, 4, size=len(y))
    repeated = (np.repeat(part, times, axis=0) for part in (f, y, np.ones(len(y)), cell))
    assert_equal(fit(f, y, times.astype(float), cell, 4), fit(*repeated, 4))


@pytest.mark.parametrize("fit, sample", [(fit_binary, binary_sample), (fit_multiclass, multiclass_sample)])
def test_the_order_of_rows_changes_nothing(fit, sample):
    rows = sample(3)
    order = np.random.default_rng(1).permutation(len(rows[1]))
    assert_equal(fit(*rows, 4), fit(*(part[order] for part in rows), 4))


def test_swapped_labels_swap_the_probabilities():
    f, y, weight, cell = binary_sample(4)
    f = np.where(f == 0, 1e-9, f)
    p = fit_binary(f, y, weight, cell, 4).probability(f, cell)
    np.testing.assert_allclose(fit_binary(-f, -y, weight, cell, 4).probability(-f, cell), 1 - p, rtol=1e-3)


@pytest.mark.parametrize("slope", [0.7, 2.0, 3.0])
def test_a_known_posterior_of_two_classes_is_found(slope):
    f, y, weight, cell = binary_sample(5, n=100_000, n_cells=1, slope=slope)
    grid = np.linspace(-2, 2, 81)
    p = fit_binary(f, y, weight, cell, 1).probability(grid, np.zeros(81, dtype=int))
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-slope * grid)), atol=0.02)


def test_a_known_posterior_of_many_classes_is_found():
    scores, label, weight, cell = multiclass_sample(6, n=60_000)
    p = fit_multiclass(scores, label, weight, cell, 3).probabilities(scores, cell)
    odds = np.where(np.isnan(scores), 0.0, np.exp(scores))
    truth = odds / odds.sum(axis=1, keepdims=True)
    assert np.abs(p - truth).mean() < 0.01
    assert np.abs(p - truth).max() < 0.1


def test_cells_of_different_noise_get_curves_of_their_own():
    quiet, noisy = (binary_sample(seed, 20_000, 1, slope) for seed, slope in ((7, 3.0), (8, 0.5)))
    cell = np.repeat([0, 1], 20_000)
    f, y, weight = (np.concatenate(parts) for parts in zip(quiet[:3], noisy[:3], strict=True))
    p = fit_binary(f, y, weight, cell, 2).probability(np.ones(2), np.array([0, 1]))
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-np.array([3.0, 0.5]))), atol=0.03)


def test_a_small_cell_is_close_to_all_cells():
    f, y, _, cell = binary_sample(9, 20_000, 1)
    odd = np.array([1.5, 1.4, -1.5, -1.6])  # four rows, two of them wrong with large values
    f, y, cell = np.append(f, odd), np.append(y, [1, -1, 1, -1]), np.append(cell, np.ones(4, dtype=int))
    p = fit_binary(f, y, np.ones(len(f)), cell, 2).probability(np.ones(2), np.array([0, 1]))
    assert p[0] - 0.2 < p[1] < p[0]


def test_rows_without_scores_only_show_that_their_class_is_present():
    f, y, weight, cell = binary_sample(10, n_cells=1)
    some = np.arange(len(f)) % 5 == 0
    sparse = fit_binary(np.where(some, f, np.nan), y, weight, cell, 1)
    np.testing.assert_allclose(
        sparse.increments, fit_binary(*(part[some] for part in (f, y, weight, cell)), 1).increments
    )
    assert sparse.present.all()


def test_without_any_values_probabilities_still_exist():
    y = np.repeat([-1.0, 1.0], 5)
    calibration = fit_binary(y, y, np.ones(10), np.repeat([0, 1], 5), n_cells=3)
    p = calibration.probability(np.array([-1.0, 1.0, 1.0, -1.0]), np.array([0, 1, 2, 2]))
    assert ((p > 0) & (p < 1)).all()
    assert (p[0] < 0.25) and (p[1] > 0.75)


def test_the_larger_a_cell_of_one_class_the_surer_it_is():
    cell = np.repeat([0, 1, 2], [5, 50, 500])
    y = np.ones(len(cell))
    f, y, cell = np.append(y, [-1.0, 1.0]), np.append(y, [-1.0, 1.0]), np.append(cell, [3, 3])
    p = fit_binary(f, y, np.ones(len(f)), cell, 4).probability(np.ones(3), np.arange(3))
    assert (np.diff(p) > 0).all()


def test_the_rate_of_absent_classes_is_true_on_average():
    """Cells of 40 rows with shares of their own of a rare class: the pure ones are right as often as they say."""
    rng = np.random.default_rng(11)
    n_cells, size = 20_000, 40
    share = rng.beta(0.3, 20, size=n_cells)
    rare = rng.binomial(size, share).astype(float)
    weight = np.stack([size - rare, rare], axis=1)
    rate = absent_rates(weight, single=weight == 1)
    pure = rare == 0
    assert rate[pure, 1].mean() == pytest.approx(share[pure].mean(), rel=0.1)


@given(
    weight=hnp.arrays(np.float64, (5, 4), elements=st.integers(0, 3).map(float)),
    scale=st.sampled_from([1.0, 1e-3, 1e6]),
)
def test_absent_classes_together_stay_less_probable_than_the_best_present_one(weight, scale):
    rate = absent_rates(weight * scale, single=weight == 1)
    for of_cell, present in zip(rate, weight > 0, strict=True):
        if present.any() and not present.all():
            rest = of_cell[~present].sum()
            assert rest < (1 - rest) / present.sum()
