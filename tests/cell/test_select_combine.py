"""Selection of the grid point, and the combination of the fold solutions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from localsvm import _reference as reference
from localsvm.cell.combine import combine, fold_shares
from localsvm.cell.select import EQUAL_RISK, combined_risk, select

grid_shapes = st.tuples(st.integers(1, 6), st.integers(1, 6))
n_folds = st.shared(st.integers(1, 8), key="folds")
risks = st.floats(0, 2)


@given(data=st.data(), shape=grid_shapes)
@settings(deadline=None)
def test_no_grid_point_has_less_risk_than_the_chosen_one(data, shape):
    risk, loss = (data.draw(hnp.arrays(np.float64, shape, elements=risks)) for _ in range(2))
    choice = select(risk, loss)
    assert choice.risk == risk[choice.width_index, choice.lam_index]
    assert choice.risk <= risk.min() + EQUAL_RISK


@given(data=st.data(), shape=grid_shapes)
@settings(deadline=None)
def test_the_choice_is_that_of_the_reference(data, shape):
    # Few different values, so that ties of both kinds are common.
    few = st.sampled_from([0.0, 0.25, 0.5])
    risk, loss = (data.draw(hnp.arrays(np.float64, shape, elements=few)) for _ in range(2))
    choice = select(risk, loss)
    assert (choice.width_index, choice.lam_index) == reference.select(risk, loss)


def test_equal_risks_are_decided_by_the_loss_and_equal_losses_by_smoothness():
    risk = np.array([[0.2, 0.1, 0.1], [0.1, 0.1, 0.3]])
    assert select(risk, np.array([[0, 4, 3], [2, 5, 0.0]])).width_index == 1
    assert select(risk, np.array([[0, 4, 3], [2, 5, 0.0]])).lam_index == 0
    # Widths and lams descend: the first of equals is the smoothest.
    tied = select(risk, np.ones_like(risk))
    assert (tied.width_index, tied.lam_index) == (0, 1)


def test_rounding_does_not_make_a_difference_of_equal_risks():
    # 0.3 in two ways that differ in the last bit.
    risk = np.array([[0.1 + 0.2, 0.3]])
    assert risk[0, 0] != risk[0, 1]
    assert select(risk, np.array([[1.0, 2.0]])).lam_index == 0
    assert select(risk[:, ::-1], np.array([[1.0, 2.0]])).lam_index == 0


@given(data=st.data(), shape=grid_shapes)
@settings(deadline=None)
def test_the_best_of_some_widths_stays_the_best_until_it_is_beaten(data, shape):
    # Coefficients are kept of the best width so far only, so a later choice must not go back.
    close = st.floats(0.1, 0.1 + 5 * EQUAL_RISK)
    risk = data.draw(hnp.arrays(np.float64, shape, elements=close))
    loss = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(0, 1)))
    remembered = None
    for w in range(shape[0]):
        solved = np.arange(shape[0])[:, None] <= w
        choice = select(np.where(solved, risk, np.inf), np.where(solved, loss, np.inf))
        remembered = w if choice.width_index == w else remembered
    assert remembered == select(risk, loss).width_index


@pytest.mark.parametrize("n", [3, 7, 60, 128, 1600, 4096])
def test_equal_fractions_of_samples_tie_however_they_were_added_up(n):
    wrong = np.arange(n + 1)
    once, in_parts = wrong / n, np.array([np.full(k, 1 / n).sum() for k in wrong])
    for risk in zip(once, in_parts, strict=True):
        assert select(np.array([risk]), np.array([[1.0, 0.0]])).lam_index == 1
        assert select(np.array([risk]), np.array([[0.0, 1.0]])).lam_index == 0


def test_grid_points_that_were_skipped_are_never_chosen():
    risk = np.array([[np.inf, 0.4], [np.inf, np.inf]])
    choice = select(risk, np.where(np.isfinite(risk), 1.0, np.inf))
    assert (choice.width_index, choice.lam_index, choice.risk) == (0, 1, 0.4)


@given(data=st.data(), k=n_folds)
@settings(deadline=None)
def test_the_combined_risk_is_the_risk_over_all_samples(data, k):
    errors = [data.draw(hnp.arrays(bool, st.integers(1, 20))) for _ in range(k)]
    risk = np.array([fold.mean() for fold in errors])
    weight = np.array([float(len(fold)) for fold in errors])
    assert combined_risk(risk, weight) == pytest.approx(np.concatenate(errors).mean())
    np.testing.assert_allclose(combined_risk(risk, weight), reference.combined_risk(risk, weight))


@given(data=st.data(), k=n_folds)
@settings(deadline=None)
def test_shares_are_positive_sum_to_one_and_fall_with_the_risk(data, k):
    risk = data.draw(hnp.arrays(np.float64, k, elements=risks))
    weight = data.draw(hnp.arrays(np.float64, k, elements=st.floats(0.5, 1e4)))
    shares = fold_shares(risk, weight)
    assert shares.sum() == pytest.approx(1)
    assert (shares > 0).all()
    assert (np.diff(shares[np.argsort(risk)]) <= 1e-15).all()
    np.testing.assert_allclose(shares, reference.fold_shares(risk, weight), rtol=1e-9)


def test_shares_are_exponential_in_the_risks():
    risk, weight = np.array([0.1, 0.2, 0.4]), np.array([300.0, 400.0, 500.0])
    logs = np.log(fold_shares(risk, weight))
    # The fold of largest risk has the exponent -(400 samples per fold)/100 = -4.
    np.testing.assert_allclose(logs - logs[0], -4 * (risk - risk[0]) / 0.4)


@pytest.mark.parametrize("risk", [0.0, 0.3])
def test_folds_of_equal_risk_have_equal_shares(risk):
    shares = fold_shares(np.full(4, risk), np.array([1.0, 10.0, 100.0, 1000.0]))
    np.testing.assert_allclose(shares, 0.25)


def test_many_samples_do_not_underflow_all_shares():
    shares = fold_shares(np.array([0.1, 0.2, 0.2]), np.full(3, 1e9))
    np.testing.assert_allclose(shares, [1, 0, 0])


@given(data=st.data(), k=n_folds, n=st.integers(1, 30))
@settings(deadline=None)
def test_the_combination_is_the_weighted_average_of_the_fold_solutions(data, k, n):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    beta = rng.normal(size=(k, n)).astype(np.float32)
    risk, weight = rng.uniform(size=k), rng.uniform(1, 50, size=k)
    combined = combine(beta, risk, weight)
    assert combined.dtype == np.float32
    expected = reference.fold_shares(risk, weight) @ beta.astype(np.float64)
    np.testing.assert_allclose(combined, expected, rtol=1e-6, atol=1e-7)


def test_a_combination_of_equal_solutions_is_that_solution():
    beta = np.tile(np.float32([1.5, -2.0, 0.0]), (5, 1))
    combined = combine(beta, np.array([0.1, 0.2, 0.3, 0.2, 0.1]), np.full(5, 20.0))
    np.testing.assert_allclose(combined, beta[0], rtol=1e-7)
