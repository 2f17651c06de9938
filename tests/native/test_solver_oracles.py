"""The box-constrained solver: independent oracles, odd problems, cancellation and refusals."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import (
    CANCELLED,
    CONVERGED,
    MANY_STEPS,
    NO_CLIP,
    PRECISION,
    PROBLEMS,
    RANDOM_WEIGHT,
    TOLERANCE,
    TRUE,
    X4,
    Y4,
    certified_distance,
    easy_to_hard,
    function_distance,
    hinge,
    samples,
    solve,
)
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from localsvm._native import CancelToken, Cell, StopRule

# ----------------------------------------------------------------------------------------- oracles


@pytest.mark.parametrize("width", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_svc_on_a_factor_of_the_kernel_matrix_reaches_the_same_risk(width, lam, weighted):
    tolerance, peer_tolerance = 1e-5, 1e-4
    weight = RANDOM_WEIGHT if weighted else np.ones(len(Y4))
    path = solve(hinge(X4, Y4, weight, clip=NO_CLIP), width, [lam], tolerance=tolerance)
    (exact,) = path.exact
    eigenvalues, vectors = np.linalg.eigh(exact.K)
    features = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    peer = LinearSVC(
        loss="hinge",
        C=1 / (2 * lam * weight.sum()),
        fit_intercept=False,
        tol=1e-8,
        max_iter=1_000_000,
        random_state=0,
    ).fit(features, Y4, sample_weight=weight)
    w = peer.coef_[0]
    peer_risk = lam * w @ w + reference.risk(np.maximum(0, 1 - Y4 * (features @ w)), weight)
    # Weak duality: our dual <= the optimum <= the peer's risk.
    assert reference.dual_risk(exact, path.beta[0]) <= peer_risk + TRUE * tolerance
    assert reference.primal_risk(exact, path.beta[0]) <= peer_risk + TRUE * tolerance
    assert peer_risk <= reference.primal_risk(exact, path.beta[0]) + peer_tolerance


@pytest.mark.parametrize("name", ["hinge", "hinge, weights", "median", "quantile 0.05"])
@pytest.mark.parametrize(("width", "lam"), [(0.3, 1e-1), (0.3, 1e-4), (2.0, 1e-2), (2.0, 1e-3)])
def test_a_general_bounded_optimiser_finds_the_same_dual_optimum(name, width, lam):
    tolerance, peer_tolerance = 1e-5, 1e-4
    path = solve(replace(PROBLEMS[name], clip=NO_CLIP), width, [lam], tolerance=tolerance)
    (exact,) = path.exact
    peer = minimize(
        lambda beta: beta @ exact.K @ beta / 2 - exact.target @ beta,
        np.zeros(len(exact.target)),
        jac=lambda beta: exact.K @ beta - exact.target,
        bounds=np.column_stack([exact.lo, exact.hi]),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 100_000, "ftol": 0, "gtol": 1e-9},
    )
    peer_risk = -2 * lam * peer.fun
    assert reference.dual_risk(exact, path.beta[0]) >= peer_risk - TRUE * tolerance
    assert reference.dual_risk(exact, path.beta[0]) <= peer_risk + peer_tolerance


@pytest.mark.parametrize("name", ["hinge", "hinge, laplace", "hinge, weights", "quantile 0.05"])
@pytest.mark.parametrize(("width", "lam"), [(0.3, 1e-2), (1.0, 1e-1), (1.0, 1e-2)])
def test_the_reference_solver_finds_the_same_function(name, width, lam):
    tolerance, peer_tolerance = 1e-5, 1e-7
    path = solve(replace(PROBLEMS[name], clip=NO_CLIP), width, [lam], tolerance=tolerance)
    (exact,) = path.exact
    peer = reference.solve_box(exact, tolerance=peer_tolerance)
    apart = function_distance(exact, path.beta[0], peer.beta)
    assert apart <= certified_distance(exact, TRUE * tolerance, peer_tolerance)


# ------------------------------------------------------------------------------------ odd problems


def test_one_sample_takes_the_coefficient_that_puts_it_on_the_margin():
    X = np.zeros((1, 3), dtype=np.float32)
    for label in (-1.0, 1.0):
        path = solve(hinge(X, np.array([label])), 1.0, [1.0, 0.1])
        np.testing.assert_allclose(path.beta[:, 0], [0.5 * label, label], rtol=1e-6)


@pytest.mark.parametrize("lam", [10.0, 1e-2, 1e-6])
def test_two_identical_rows_of_opposite_labels_give_the_zero_function(lam):
    path = solve(hinge(np.ones((2, 2), dtype=np.float32), np.array([1.0, -1.0])), 1.0, [lam])
    assert path.status == CONVERGED
    assert reference.primal_risk(path.exact[0], path.beta[0]) == pytest.approx(1, abs=TOLERANCE)
    assert abs((path.K @ path.beta[0])[0]) <= certified_distance(path.exact[0], TRUE * TOLERANCE)


@pytest.mark.parametrize("n", [2, 17, 40])
@pytest.mark.parametrize("positive", [0.5, 0.8, 1.0])
def test_identical_rows_are_solved_like_one_weighted_row(n, positive):
    y = np.where(np.arange(n) < positive * n, 1.0, -1.0)
    path = solve(hinge(np.ones((n, 2), dtype=np.float32), y, clip=NO_CLIP), 1.0, [1.0, 1e-2, 1e-4])
    assert (path.status == CONVERGED).all()
    for q, exact in enumerate(path.exact):
        # The function is a constant c: lam c^2 + p max(0, 1 - c) + (1 - p) max(0, 1 + c).
        p = np.mean(y > 0)
        c = np.clip((2 * p - 1) / (2 * exact.lam), -1, 1)
        optimum = exact.lam * c**2 + p * (1 - c) + (1 - p) * (1 + c)
        found = reference.primal_risk(exact, path.beta[q])
        assert found == pytest.approx(optimum, abs=TRUE * TOLERANCE)


@given(
    n=st.integers(1, 50),
    d=st.integers(1, 5),
    distinct=st.integers(1, 50),
    seed=st.integers(0, 2**32 - 1),
    width=st.sampled_from([0.05, 0.5, 5.0]),
    kernel=st.sampled_from(["gauss", "laplace", "manhattan"]),
    cut=st.floats(0, 1),
)
@settings(max_examples=150, deadline=None)
def test_any_small_problem_is_solved_with_a_true_certificate(n, d, distinct, seed, width, kernel, cut):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(distinct, d)).astype(np.float32)[rng.integers(0, distinct, size=n)]
    y = rng.choice([-1.0, 1.0], size=n)
    weight = rng.choice([0.5, 1.0, 3.0], size=n)
    ends, fold = ([n], -1) if n == 1 else ([1 + int(cut * (n - 2)), n], int(rng.integers(2)))
    lams = np.geomspace(1.0, 1e-2 / n, 4)
    path = solve(hinge(X, y, weight, kernel=kernel), width, lams, ends=ends, fold=fold)
    assert np.isfinite(path.beta).all()
    assert (path.status == CONVERGED).all()
    for q in range(len(lams)):
        assert path.true_gap(q) <= TRUE * TOLERANCE


@pytest.mark.parametrize("n", range(1, 20))
def test_a_tolerance_that_cannot_be_reached_ends_in_precision_at_any_size(n):
    X, y = samples(n, 2, seed=n)
    path = solve(hinge(X, y), 1.0, [1e-2], tolerance=1e-30)
    assert path.status == PRECISION or path.gap <= 1e-30
    assert abs(path.true_gap(0)) <= 1e-5


# ------------------------------------------------------------------------------------ cancellation


def test_a_token_cancelled_before_stops_the_solve_at_once():
    token = CancelToken()
    token.cancel()
    path = solve(PROBLEMS["hinge"], 1.0, [1e-4, 1e-5], token=token)
    assert token.cancelled
    assert (path.status == CANCELLED).all()


def test_a_token_that_is_not_cancelled_changes_nothing():
    lams = easy_to_hard(len(Y4))
    plain, watched = (solve(PROBLEMS["hinge"], 1.0, lams, token=t) for t in (None, CancelToken()))
    np.testing.assert_array_equal(plain.beta, watched.beta)


def test_a_token_stops_a_solve_from_another_thread():
    X, y = samples(400, 4)
    problem, token = hinge(X, y), CancelToken()
    # Hours of work: a tolerance out of reach, at a thousand lams.
    lams = np.geomspace(1e-5, 1e-6, 1000)
    found = []
    worker = threading.Thread(target=lambda: found.append(solve(problem, 1.0, lams, tolerance=1e-30, token=token)))
    worker.start()
    token.cancel()
    worker.join(timeout=60)
    assert not worker.is_alive()
    assert found[0].status[-1] == CANCELLED


# --------------------------------------------------------------------------------------- bad input


def test_what_cannot_be_solved_is_refused_with_a_sentence():
    cell = Cell(X4, [len(X4)], "gauss")
    zero = np.zeros(len(X4), dtype=np.float32)
    with pytest.raises(ValueError, match="every box must be finite and contain 0"):
        cell.add_problem(zero, zero + 1, zero + 2, 1.0)
    with pytest.raises(ValueError, match="one entry per row"):
        cell.add_problem(zero[1:], zero, zero, 1.0)
    with pytest.raises(ValueError, match="clipping bound must be positive"):
        cell.add_problem(zero, zero, zero, 0.0)
    with pytest.raises(ValueError, match="no such problem"):
        cell.solve_path(0, -1, [1.0], 1.0, StopRule(TOLERANCE, MANY_STEPS))
    cell.add_problem(zero, zero, zero, 1.0)
    cell.set_width(1.0)
    with pytest.raises(ValueError, match="no such fold"):
        cell.solve_path(0, 1, [1.0], 1.0, StopRule(TOLERANCE, MANY_STEPS))
    with pytest.raises(ValueError, match="lams must be positive and descend"):
        cell.solve_path(0, -1, [1e-3, 1e-2], 1.0, StopRule(TOLERANCE, MANY_STEPS))
    with pytest.raises(ValueError, match="the total weight must be positive"):
        cell.solve_path(0, -1, [1.0], 0.0, StopRule(TOLERANCE, MANY_STEPS))


@pytest.mark.parametrize("ready", ["no width", "problem after width"])
def test_a_path_on_a_kernel_matrix_older_than_the_problem_is_refused(ready):
    problem = PROBLEMS["hinge"]
    cell = Cell(X4, [len(X4)], "gauss")
    if ready == "problem after width":
        cell.set_width(1.0)
    cell.add_problem(problem.target, problem.lo, problem.hi, problem.clip)
    with pytest.raises(ValueError, match="set a width after the problem was added"):
        cell.solve_path(0, -1, [1e-3], float(len(X4)), StopRule(TOLERANCE, MANY_STEPS))
