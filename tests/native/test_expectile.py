"""Expectiles of a cell: certificates, the fixed point, laws, and what they have to survive."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import CANCELLED, CONVERGED, MAX_STEPS, PRECISION
from squares import ENDS, LAMS, TOLERANCE, UNIT, WEIGHT, X200, Y200, equal, finite, smooth, solve

from localsvm._native import CancelToken

TRUE = 1.01  # the gap is computed from float32 products

every_tau = pytest.mark.parametrize("tau", [0.02, 0.3, 0.5, 0.9])


@every_tau
@pytest.mark.parametrize("width", [0.05, 0.5, 10.0])
@pytest.mark.parametrize("weight", [UNIT, WEIGHT], ids=["unit", "weights"])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5])
def test_a_solve_ends_with_a_true_certificate(tau, width, weight, tolerance):
    solved = solve(tau=tau, weight=weight, width=width, tolerance=tolerance, folds=[-1, 0, 3])
    assert (solved.status == CONVERGED).all()
    assert (solved.gap <= tolerance).all()
    for at in np.ndindex(solved.gap.shape):
        assert solved.true_gap(*at) == pytest.approx(solved.gap[at], rel=TRUE - 1, abs=1e-6)


def test_without_convergence_the_certificate_is_true_and_says_why():
    few = solve(tau=0.2, tolerance=1e-6, lams=[1e-5], max_iterations=4)
    assert (few.status == MAX_STEPS).all() and (few.steps == 4).all()
    beyond = solve(tau=0.2, tolerance=1e-14, lams=[1e-7], width=10.0)
    assert (beyond.status == PRECISION).all()
    for solved in (few, beyond):
        for at in np.ndindex(solved.gap.shape):
            assert solved.true_gap(*at) == pytest.approx(solved.gap[at], rel=TRUE - 1, abs=1e-6)


@every_tau
def test_solutions_are_the_fixed_point_of_reweighted_least_squares(tau):
    solved = solve(tau=tau, weight=WEIGHT, tolerance=1e-7, lams=LAMS[:3])
    for t, fold, q in np.ndindex(solved.gap.shape):
        rows, exact = solved.exact(t, fold, q)
        beta = solved.beta[t, fold, q, rows].astype(float)
        off = beta - reference.solve_square(exact)
        assert exact.lam * off @ exact.K @ off <= 2e-7


def test_the_expectile_one_half_is_least_squares_of_twice_lam():
    half = solve(tau=0.5, weight=WEIGHT, tolerance=1e-7)
    squares = solve(weight=WEIGHT, tolerance=1e-7, lams=[2 * lam for lam in LAMS])
    np.testing.assert_allclose(half.values, squares.values, atol=0.02)


@settings(deadline=None, max_examples=20)
@given(exponent=st.integers(-6, 6), tau=st.sampled_from([0.1, 0.25, 0.8]))
def test_scaling_the_target_scales_the_function(exponent, tau):
    factor = np.float32(2.0**exponent)
    plain, scaled = solve(tau=tau), solve(tau=tau, targets=factor * Y200, tolerance=TOLERANCE * float(factor) ** 2)
    np.testing.assert_array_equal(scaled.beta, factor * plain.beta)


def test_the_negative_target_has_the_negative_of_the_other_expectile():
    plain, mirrored = solve(tau=0.25), solve(tau=0.75, targets=-Y200)
    np.testing.assert_allclose(mirrored.values, -plain.values, atol=2e-3)


def test_larger_expectiles_have_more_rows_below_them():
    low, high = (solve(tau=tau, width=3.0, tolerance=1e-5) for tau in (0.05, 0.95))
    below = [(solved.values[0, -1] > Y200).mean() for solved in (low, high)]
    assert below[0] < 0.4 < 0.6 < below[1]


def test_targets_solved_together_are_solved_as_alone():
    targets = np.stack([Y200, X200[:, 0], -Y200])
    together = solve(tau=0.7, targets=targets)
    for t, target in enumerate(targets):
        alone = solve(tau=0.7, targets=target)
        np.testing.assert_array_equal(together.beta[t], alone.beta[0])
        np.testing.assert_array_equal(together.values[t], alone.values[0])


def test_neither_threads_nor_storage_change_a_bit():
    n = 700
    X, y = smooth(n, 5, seed=3)
    options = {"tau": 0.8, "weight": np.ones(n, dtype=np.float32), "ends": [140, 350, 697, n]}
    row = (n + 15) // 16 * 16 * 4
    always = 5 * row + n * 16 * 12 + 32 * row
    plain = solve(X, y, **options)
    for max_bytes in (None, always + n * row, always + 100 * row):
        for n_threads in (1, 3):
            equal(plain, solve(X, y, **options, n_threads=n_threads, max_bytes=max_bytes))


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 60),
    tau=st.sampled_from([1e-3, 0.4, 0.999]),
    width=st.sampled_from([1e-3, 0.3, 1e3]),
)
def test_weights_and_lams_of_any_size_leave_finite_results_and_true_certificates(seed, n, tau, width):
    rng = np.random.default_rng(seed)
    X, y = smooth(n, seed=seed) if n > 1 else (np.zeros((1, 3), np.float32), np.ones(1, np.float32))
    X[rng.random(n) < 0.3] = X[0]
    weight = (10.0 ** rng.uniform(-3, 3, n)).astype(np.float32)
    lams = [1e6, 1.0, 1e-3, 1e-8, 1e-14]
    solved = solve(X, y, weight, tau=tau, width=width, ends=[n // 2, n], folds=[-1, 0, 1], lams=lams)
    assert finite(solved)
    assert np.isin(solved.status, (CONVERGED, PRECISION)).all()
    for t, fold, q in np.ndindex(solved.gap.shape):
        if solved.exact(t, fold, q)[0].any():
            assert solved.true_gap(t, fold, q) == pytest.approx(solved.gap[t, fold, q], rel=0.05, abs=TOLERANCE / 20)


def test_a_target_of_zero_needs_no_iteration():
    solved = solve(tau=0.3, targets=np.zeros(200))
    assert (solved.beta == 0).all() and (solved.gap == 0).all() and (solved.steps == 0).all()
    assert (solved.status == CONVERGED).all()


def test_a_cancelled_solve_says_so():
    token = CancelToken()
    token.cancel()
    assert (solve(tau=0.3, token=token).status == CANCELLED).all()


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.5, float("nan")])
def test_a_tau_outside_its_range_is_refused(tau):
    with pytest.raises(ValueError, match="tau"):
        solve(tau=tau, ends=ENDS)
