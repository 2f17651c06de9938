"""Least squares of a cell: certificates, an independent solver, laws, and what it has to survive."""

import threading

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import CANCELLED, CONVERGED, MAX_STEPS, PRECISION, SKIPPED
from sklearn.kernel_ridge import KernelRidge
from squares import (
    ENDS,
    LAMS,
    MANY,
    TOLERANCE,
    TRUE,
    UNIT,
    WEIGHT,
    X200,
    Y200,
    equal,
    finite,
    half_bytes,
    least_bytes,
    smooth,
    solve,
)

from localsvm._native import CancelToken, SquareCell, StopRule, available_simd_levels, set_simd_level, simd_level

TIGHT = 1e-7


# ------------------------------------------------------------------------------------ certificates


@pytest.mark.parametrize("width", [0.05, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("weight", [UNIT, WEIGHT], ids=["unit", "weights"])
@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5])
def test_a_solve_ends_with_a_true_certificate(width, weight, kernel, tolerance):
    solved = solve(weight=weight, width=width, kernel=kernel, tolerance=tolerance, folds=[-1, 0, 3])
    assert (solved.status == CONVERGED).all()
    assert (solved.gap <= tolerance).all()
    for at in np.ndindex(solved.gap.shape):
        assert solved.true_gap(*at) <= TRUE * solved.gap[at] + 1e-9


def test_without_convergence_the_certificate_is_true_and_says_why():
    few = solve(tolerance=1e-6, lams=[1e-5], max_iterations=3)
    assert (few.status == MAX_STEPS).all() and (few.steps == 3).all()
    beyond = solve(tolerance=1e-12, lams=[1e-7], width=10.0)
    assert (beyond.status == PRECISION).all()
    for solved in (few, beyond):
        assert (solved.gap > 0).all()
        for at in np.ndindex(solved.gap.shape):
            assert solved.true_gap(*at) <= TRUE * solved.gap[at]


def test_fewer_iterations_reach_a_looser_tolerance_and_a_larger_lam():
    loose, tight = solve(tolerance=1e-2), solve(tolerance=1e-5)
    assert (loose.steps <= tight.steps).all() and (loose.steps < tight.steps).any()
    assert (np.diff(tight.steps, axis=2) >= 0).all()


# ----------------------------------------------------------------------------------------- oracles


@pytest.mark.parametrize("weight", [UNIT, WEIGHT], ids=["unit", "weights"])
def test_functions_equal_those_of_kernel_ridge(weight):
    solved = solve(weight=weight, tolerance=TIGHT, lams=LAMS[:3], folds=[-1, 0, 1, 4])
    for fold in range(4):
        train = solved.train(fold)
        for q, lam in enumerate(LAMS[:3]):
            oracle = KernelRidge(alpha=lam * weight[train].sum(), kernel="rbf", gamma=1 / 0.5**2)
            oracle.fit(X200[train], Y200[train], sample_weight=weight[train])
            f = oracle.predict(X200)
            np.testing.assert_allclose(solved.K @ solved.beta[0, fold, q], f, atol=0.02)
            np.testing.assert_allclose(solved.values[0, q, ~train], f[~train], atol=0.02)


def test_the_gap_bounds_the_distance_from_the_exact_solution():
    solved = solve(weight=WEIGHT)
    for t, fold, q in np.ndindex(solved.gap.shape):
        rows, exact = solved.exact(t, fold, q)
        off = solved.beta[t, fold, q, rows] - reference.solve_square(exact)
        assert exact.lam * off @ exact.K @ off <= TRUE * solved.gap[t, fold, q]


NOISE = np.random.default_rng(5).standard_normal(200).astype(np.float32)
FINE = list(np.geomspace(1.0, 1e-7, 12))


@pytest.mark.parametrize("patience", [1, 2])
@pytest.mark.parametrize("clip", [0.3, np.inf])
@pytest.mark.parametrize("n_targets", [1, 7])
def test_a_path_ends_after_lams_without_a_lower_validation_loss(patience, clip, n_targets):
    targets = np.stack([Y200 + 0.3 * number * NOISE for number in range(n_targets)])
    full = solve(targets=targets, weight=WEIGHT, lams=FINE)
    ended = solve(targets=targets, weight=WEIGHT, lams=FINE, patience=patience, clip=clip)
    errors = np.square(targets[:, None] - np.clip(full.values, -clip, clip))
    for target, losses in enumerate(errors @ WEIGHT.astype(float)):
        kept = int((ended.status[target, 0] != SKIPPED).sum())
        waited = np.arange(len(FINE)) - [int(losses[: q + 1].argmin()) for q in range(len(FINE))]
        wanted = int((waited >= patience).argmax()) + 1 if (waited >= patience).any() else len(FINE)
        assert kept in (wanted, len(FINE))  # all, if a fold was at its end before the others could be compared
        for name in ("beta", "gap", "status", "steps"):
            part, whole = getattr(ended, name)[target], getattr(full, name)[target]
            np.testing.assert_array_equal(part[:, :kept], whole[:, :kept])
        np.testing.assert_array_equal(ended.values[target, :kept], full.values[target, :kept])
        assert np.isnan(ended.gap[target, :, kept:]).all() and (ended.status[target, :, kept:] == SKIPPED).all()
        assert (ended.beta[target, :, kept:] == 0).all() and (ended.values[target, kept:] == 0).all()
    assert (ended.status == SKIPPED).any()


def test_validation_rows_have_no_coefficient_and_their_values_come_from_the_others():
    solved = solve(weight=WEIGHT)
    for fold in range(len(ENDS)):
        out = ~solved.train(fold)
        assert (solved.beta[:, fold][..., out] == 0).all()
        values = solved.beta[0, fold].astype(float) @ solved.K.astype(float)
        size = np.abs(solved.beta[0, fold]).sum(axis=1, keepdims=True)
        assert (np.abs(solved.values[0][:, out] - values[:, out]) <= 2.0**-21 * size).all()


def test_values_of_folds_not_asked_for_are_zero():
    solved = solve(folds=[2, -1])
    asked = ~solved.train(0)
    assert (solved.values[..., asked] != 0).all() and (solved.values[..., ~asked] == 0).all()


# -------------------------------------------------------------------------------------------- laws


@settings(deadline=None, max_examples=25)
@given(exponent=st.integers(-8, 8), flip=st.booleans())
def test_scaling_the_target_scales_the_function(exponent, flip):
    factor = np.float32(2.0**exponent * (-1 if flip else 1))
    plain = solve()
    scaled = solve(targets=factor * Y200, tolerance=TOLERANCE * float(factor) ** 2)
    np.testing.assert_array_equal(scaled.beta, factor * plain.beta)
    np.testing.assert_array_equal(scaled.steps, plain.steps)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**31), width=st.sampled_from([0.1, 0.5, 3.0]))
def test_a_weight_of_two_is_a_row_given_twice(seed, width):
    X, y = smooth(60, seed=seed)
    weight = np.random.default_rng(seed).choice([1.0, 2.0], 60).astype(np.float32)
    index = np.repeat(np.arange(60), weight.astype(int))
    n = len(index)
    weighted = solve(X, y, weight, width=width, ends=[60], folds=[-1], tolerance=1e-6)
    repeated = solve(X[index], y[index], np.ones(n, np.float32), width=width, ends=[n], folds=[-1], tolerance=1e-6)
    for q, lam in enumerate(LAMS):
        f, g = weighted.K @ weighted.beta[0, 0, q], repeated.K @ repeated.beta[0, 0, q]
        # Both are within 1e-6 of the same minimum, and the mean loss is strongly convex in f.
        assert np.mean((f[index] - g) ** 2) <= 4 * (weighted.gap[0, 0, q] + repeated.gap[0, 0, q]), lam


def test_a_weight_of_zero_is_no_row():
    weight = UNIT.copy()
    weight[::7] = 0
    solved = solve(weight=weight, tolerance=1e-6)
    keep = weight > 0
    ends = [int(keep[:end].sum()) for end in ENDS]
    without = solve(X200[keep], Y200[keep], UNIT[keep], ends=ends, tolerance=1e-6)
    assert (solved.beta[..., ~keep] == 0).all()
    np.testing.assert_allclose(solved.values[..., keep], without.values, atol=0.02)


def test_targets_solved_together_are_solved_as_alone():
    rng = np.random.default_rng(5)
    targets = np.stack([Y200, *rng.standard_normal((8, 200)).astype(np.float32), X200[:, 0]])
    together = solve(targets=targets)
    for t, target in enumerate(targets):
        alone = solve(targets=target)
        np.testing.assert_array_equal(together.beta[t], alone.beta[0])
        np.testing.assert_array_equal(together.values[t], alone.values[0])
        np.testing.assert_array_equal(together.gap[t], alone.gap[0])


def test_folds_solved_together_are_solved_as_alone():
    together = solve(weight=WEIGHT)
    for fold in range(len(ENDS)):
        alone = solve(weight=WEIGHT, folds=[fold])
        np.testing.assert_array_equal(together.beta[:, [fold]], alone.beta)


@pytest.mark.parametrize("patience", [0, 1])
def test_targets_and_weights_of_every_fold_are_solved_as_alone(patience):
    rng = np.random.default_rng(6)
    n_targets, n_folds = 6, len(ENDS)  # more columns than are solved at once
    targets = rng.standard_normal((n_targets, n_folds, 200)).astype(np.float32)
    weights = rng.uniform(0.1, 2.0, (n_targets, n_folds, 200)).astype(np.float32)
    cell, stop = SquareCell(X200, ENDS, "gauss"), StopRule(TOLERANCE, MANY)
    cell.set_width(0.5)
    together = cell.solve_ridge_of_folds(targets, weights, range(n_folds), LAMS, stop, 1, patience)
    for t in range(n_targets):
        for fold in range(n_folds if patience == 0 else 0):
            alone = solve(targets=targets[t, fold], weight=weights[t, fold], folds=[fold])
            np.testing.assert_array_equal(together.beta[t, fold], alone.beta[0, 0])
            np.testing.assert_array_equal(together.gap[t, fold], alone.gap[0, 0])
            validated = slice(ENDS[fold - 1] if fold else 0, ENDS[fold])
            np.testing.assert_array_equal(together.values[t, :, validated], alone.values[0, :, validated])
        of_target = cell.solve_ridge_of_folds(targets[[t]], weights[[t]], range(n_folds), LAMS, stop, 1, patience)
        np.testing.assert_array_equal(together.status[t], of_target.status[0])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_products_with_the_kernel_matrix(n_threads):
    vectors = np.random.default_rng(7).standard_normal((3, 200)).astype(np.float32)
    cell = SquareCell(X200, ENDS, "laplace")
    cell.set_width(0.5)
    expected = vectors @ cell.kernel_matrix().astype(np.float64)
    np.testing.assert_allclose(cell.multiply(vectors, n_threads), expected, atol=1e-4)


@pytest.mark.parametrize("n", [700, 4500])
def test_neither_threads_nor_storage_change_a_bit(n):
    X, y = smooth(n, 5, seed=3)
    options = {"weight": np.ones(n, dtype=np.float32), "ends": [n // 5, n // 2, n - 3, n], "lams": [1e-2, 1e-4]}
    plain = solve(X, y, **options)
    for fraction in (0.0, 0.3, 1.0):
        for n_threads in (1, 3):
            max_bytes = least_bytes(n, 5) + int(fraction * half_bytes(n))
            equal(plain, solve(X, y, **options, n_threads=n_threads, max_bytes=max_bytes))


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 160), n_folds=st.integers(1, 9))
def test_folds_may_end_anywhere_and_be_empty(seed, n, n_folds):
    rng = np.random.default_rng(seed)
    X, y = smooth(n, seed=seed) if n > 1 else (np.zeros((1, 3), np.float32), np.ones(1, np.float32))
    ends = [*sorted(rng.integers(0, n + 1, n_folds - 1).tolist()), n]
    solved = solve(X, y, np.ones(n, np.float32), ends=ends, lams=[1e-1, 1e-3])
    for fold in range(n_folds):
        out = ~solved.train(fold)
        assert (solved.beta[:, fold][..., out] == 0).all()
        f = solved.beta[0, fold].astype(float) @ solved.K.astype(float)
        size = np.abs(solved.beta[0, fold]).sum(axis=1, keepdims=True)
        assert (np.abs(solved.values[0][:, out] - f[:, out]) <= 2.0**-21 * size).all()
        for q in range(2):
            if not out.all():
                assert solved.true_gap(0, fold, q) <= TRUE * solved.gap[0, fold, q] + 1e-9


@pytest.mark.parametrize("level", available_simd_levels())
def test_every_simd_level_gives_true_certificates(level):
    chosen = simd_level()
    try:
        set_simd_level(level)
        solved = solve(weight=WEIGHT)
    finally:
        set_simd_level(chosen)
    assert (solved.status == CONVERGED).all()
    for at in np.ndindex(solved.gap.shape):
        assert solved.true_gap(*at) <= TRUE * solved.gap[at] + 1e-9


# --------------------------------------------------------------------------------------- survival


def test_one_row():
    one = np.ones(1, dtype=np.float32)
    solved = solve(np.zeros((1, 2), np.float32), one, one, ends=[1], folds=[-1, 0], lams=[1.0, 1e-3], tolerance=1e-6)
    np.testing.assert_allclose(solved.beta[0, 0, :, 0], [1 / 2, 1 / 1.001], rtol=1e-6)
    assert (solved.beta[0, 1] == 0).all() and (solved.values == 0).all()  # nothing is left to train on
    assert (solved.status == CONVERGED).all()


def test_equal_rows():
    X, y = np.zeros((40, 2), dtype=np.float32), np.arange(40, dtype=np.float32) / 40
    solved = solve(X, y, np.ones(40, np.float32), ends=[20, 40], folds=[-1, 0, 1], tolerance=1e-6)
    assert finite(solved) and (solved.status == CONVERGED).all()
    np.testing.assert_allclose(solved.K @ solved.beta[0, 0, -1], y.mean(), atol=2e-3)


def test_a_target_of_zero_needs_no_iteration():
    solved = solve(targets=np.stack([np.zeros(200), Y200]))
    assert (solved.beta[0] == 0).all() and (solved.gap[0] == 0).all() and (solved.steps[0] == 0).all()
    assert (solved.status == CONVERGED).all()


def test_no_target_no_fold_no_lam():
    assert solve(targets=np.zeros((0, 200))).beta.shape == (0, 5, 4, 200)
    assert solve(folds=[]).beta.shape == (1, 0, 4, 200)
    assert solve(lams=[]).beta.shape == (1, 5, 0, 200)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 60),
    width=st.sampled_from([1e-3, 0.3, 1e3]),
    kernel=st.sampled_from(["gauss", "laplace", "manhattan"]),
)
def test_weights_and_lams_of_any_size_leave_finite_results_and_true_certificates(seed, n, width, kernel):
    rng = np.random.default_rng(seed)
    X, y = smooth(n, seed=seed) if n > 1 else (np.zeros((1, 3), np.float32), np.ones(1, np.float32))
    X[rng.random(n) < 0.3] = X[0]
    weight = (10.0 ** rng.uniform(-3, 3, n)).astype(np.float32)
    ends = [n // 2, n]
    lams = [1e6, 1.0, 1e-3, 1e-8, 1e-14]
    solved = solve(X, y, weight, width=width, kernel=kernel, ends=ends, folds=[-1, 0, 1], lams=lams)
    assert finite(solved)
    assert np.isin(solved.status, (CONVERGED, PRECISION)).all()
    assert (solved.gap[solved.status == CONVERGED] <= TOLERANCE).all()
    for t, fold, q in np.ndindex(solved.gap.shape):
        if solved.exact(t, fold, q)[0].any():
            assert solved.true_gap(t, fold, q) <= TRUE * solved.gap[t, fold, q] + 1e-6


def test_a_cancelled_solve_says_so_and_ends_at_once():
    token = CancelToken()
    token.cancel()
    solved = solve(token=token)
    assert (solved.status == CANCELLED).all()
    n = 3000
    X, y = smooth(n, 8)
    token = CancelToken()
    timer = threading.Timer(0.05, token.cancel)
    timer.start()
    endless = {"lams": [1e-12], "tolerance": 1e-30, "token": token}
    solved = solve(X, y, np.ones(n, dtype=np.float32), ends=[n], folds=[-1], **endless)
    timer.join()
    assert (solved.status == CANCELLED).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weight": -UNIT}, "weights"),
        ({"weight": UNIT[1:]}, "one entry per row"),
        ({"folds": [5]}, "no such fold"),
        ({"lams": [0.0]}, "lams"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"n_threads": 0}, "thread"),
        ({"patience": -1}, "patience"),
        ({"clip": 0.0, "patience": 1}, "bounds"),
    ],
)
def test_what_cannot_be_solved_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        solve(**wrong)


@pytest.mark.parametrize(
    ("shape", "weight", "message"),
    [((1, 4, 200), 1.0, "per target, fold and row"), ((1, 5, 200), -1.0, "weights"), ((1, 5, 199), 1.0, "and row")],
)
def test_targets_of_folds_that_cannot_be_solved_are_refused(shape, weight, message):
    cell = SquareCell(X200, ENDS, "gauss")
    given = np.zeros(shape, dtype=np.float32), np.full(shape, weight, dtype=np.float32)
    with pytest.raises(ValueError, match="set a width"):
        cell.multiply(X200.T.copy())
    cell.set_width(0.5)
    with pytest.raises(ValueError, match=message):
        cell.solve_ridge_of_folds(*given, range(5), LAMS, StopRule(TOLERANCE, MANY))
    with pytest.raises(ValueError, match="entry per row"):
        cell.multiply(X200)
