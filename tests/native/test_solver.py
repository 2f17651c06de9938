"""The box-constrained solver: certificates, laws, and independent oracles.

The clipped gap bounds the risk of the clipped function, not the distance from the optimum; where a
test compares solutions it solves with NO_CLIP, so that the certificate is the plain duality gap.
"""

import threading
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from localsvm import _reference as reference
from localsvm._native import CancelToken, Cell
from localsvm.cell.path import STATUS
from localsvm.data import toy_mixture

TOLERANCE = 1e-3
TRUE = 1.25  # a certified gap is computed in float32: the true one may be larger by this factor
NO_CLIP = 1e30
MANY_STEPS = 10_000_000
BOUND_ROUNDING = 2.0**-23  # a bound is a product of two float32 numbers, rounded
VALUE_ROUNDING = 2.0**-21  # of validation values along a path, relative to the sum of |beta|
CONVERGED, MAX_STEPS, PRECISION, CANCELLED = (
    STATUS.index(name) for name in ("converged", "max_steps", "precision", "cancelled")
)


@dataclass(frozen=True)
class Problem:
    """Samples, and a loss as the box of the dual at scale 1."""

    X: np.ndarray
    target: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    weight: np.ndarray
    clip: float = 1.0
    kernel: str = "gauss"

    def rows(self, index):
        parts = (self.X, self.target, self.lo, self.hi, self.weight)
        return Problem(*(np.ascontiguousarray(part[index]) for part in parts), self.clip, self.kernel)

    def negated(self):
        return replace(self, target=-self.target, lo=-self.hi, hi=-self.lo)


def hinge(X, y, weight=None, **options):
    weight = np.ones(len(y)) if weight is None else weight
    y = np.asarray(y, dtype=np.float32)
    signed = (y * weight).astype(np.float32)
    zero = np.zeros_like(signed)
    return Problem(X, y, np.minimum(signed, zero), np.maximum(signed, zero), weight, **options)


def pinball(X, y, tau, weight=None, **options):
    weight = np.ones(len(y)) if weight is None else weight
    lo, hi = ((tau - 1) * weight).astype(np.float32), (tau * weight).astype(np.float32)
    clip = options.pop("clip", float(np.abs(y).max()))
    return Problem(X, y.astype(np.float32), lo, hi, weight, clip, **options)


@dataclass(frozen=True)
class Path:
    """What a native path returned, and the exact problems it claims to have solved."""

    beta: np.ndarray
    values: np.ndarray
    gap: np.ndarray
    status: np.ndarray
    steps: np.ndarray
    exact: list[reference.BoxProblem]
    K: np.ndarray

    def true_gap(self, q):
        return reference.duality_gap(self.exact[q], self.beta[q])

    def plain_gap(self, q):
        return reference.duality_gap(replace(self.exact[q], clip=np.inf), self.beta[q])


def solve(
    problem,
    width,
    lams,
    *,
    ends=None,
    fold=-1,
    tolerance=TOLERANCE,
    max_steps=MANY_STEPS,
    token=None,
):
    n = len(problem.target)
    ends = [n] if ends is None else list(ends)
    cell = Cell(problem.X, ends, problem.kernel)
    cell.add_problem(problem.target, problem.lo, problem.hi, problem.clip)
    cell.set_width(width)
    train = np.ones(n, dtype=bool)
    if fold >= 0:
        train[ends[fold - 1] if fold else 0 : ends[fold]] = False
    total = float(problem.weight[train].sum())
    beta, *rest = cell.solve_path(0, fold, list(lams), total, tolerance, max_steps, token)
    K = cell.kernel_matrix().astype(np.float64)
    exact = [
        reference.BoxProblem(
            K,
            problem.target.astype(np.float64),
            problem.lo.astype(np.float64) * train / (2 * lam * total),
            problem.hi.astype(np.float64) * train / (2 * lam * total),
            lam,
            problem.clip,
        )
        for lam in lams
    ]
    return Path(beta.astype(np.float64), *rest, exact, K)


def function_distance(exact, beta, other):
    """||f - g|| in the RKHS."""
    difference = beta - other
    return float(np.sqrt(max(difference @ exact.K @ difference, 0.0)))


def certified_distance(exact, *plain_gaps):
    """How far two functions of these gaps can be apart: lam ||f - f*||^2 <= gap."""
    return sum(np.sqrt(max(gap, 0.0) / exact.lam) for gap in plain_gaps)


def samples(n, d, seed=0):
    X, y = toy_mixture(n, d, random_state=seed)
    return X, y.astype(np.float64)


def curve(X, seed=0):
    """Targets of a regression on X."""
    noise = np.random.default_rng(seed).normal(size=len(X))
    return np.sin(3 * X[:, 0].astype(np.float64)) + 0.3 * noise


X1, Y1 = samples(75, 1)
X4, Y4 = samples(130, 4)
RANDOM_WEIGHT = np.random.default_rng(1).uniform(0.1, 5.0, size=len(Y4))
PROBLEMS = {
    "hinge": hinge(X4, Y4),
    "hinge, one feature": hinge(X1, Y1),
    "hinge, weights": hinge(X4, Y4, RANDOM_WEIGHT),
    "hinge, class weights": hinge(X4, Y4, np.where(Y4 > 0, 0.02, 1.98)),
    "hinge, laplace": hinge(X4, Y4, kernel="laplace"),
    "median": pinball(X1, curve(X1), 0.5),
    "median, laplace": pinball(X4, curve(X4), 0.5, kernel="laplace"),
    "quantile 0.05": pinball(X4, curve(X4), 0.05),
    "quantile 0.9, weights": pinball(X4, curve(X4), 0.9, RANDOM_WEIGHT),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
every_width = pytest.mark.parametrize("width", [0.03, 0.3, 1.0, 5.0, 50.0])


def easy_to_hard(n):
    """From everything at its bound down to the smallest lam of the default grid."""
    return np.geomspace(10.0, 1e-3 / n, 8)


# ------------------------------------------------------------------------------------ certificates


@every_problem
@every_width
def test_a_solve_ends_with_a_true_certificate(problem, width):
    path = solve(problem, width, easy_to_hard(len(problem.target)))
    assert (path.status == CONVERGED).all()
    assert (path.gap <= TOLERANCE).all()
    for q in range(len(path.gap)):
        assert path.true_gap(q) <= TRUE * TOLERANCE
        assert path.true_gap(q) == pytest.approx(path.gap[q], abs=(TRUE - 1) * TOLERANCE)


@every_problem
@every_width
def test_coefficients_lie_in_their_box(problem, width):
    path = solve(problem, width, easy_to_hard(len(problem.target)))
    for q, exact in enumerate(path.exact):
        assert (path.beta[q] >= exact.lo * (1 + BOUND_ROUNDING)).all()
        assert (path.beta[q] <= exact.hi * (1 + BOUND_ROUNDING)).all()


@every_problem
@every_width
def test_what_a_coefficient_could_still_gain_is_within_the_gap(problem, width):
    path = solve(problem, width, easy_to_hard(len(problem.target)))
    for q, exact in enumerate(path.exact):
        beta = np.clip(path.beta[q], exact.lo, exact.hi)
        r = exact.target - exact.K @ path.beta[q]
        # KKT: r > 0 only at the upper bound, r < 0 only at the lower one.
        slackness = np.where(r > 0, exact.hi - beta, exact.lo - beta) * r
        saved_by_clipping = path.plain_gap(q) - path.true_gap(q)
        assert 2 * exact.lam * slackness.max() <= TRUE * TOLERANCE + saved_by_clipping


def test_free_coefficients_have_no_residual_when_the_gap_is_tiny():
    tolerance = 1e-6
    path = solve(replace(PROBLEMS["hinge"], clip=NO_CLIP), 0.3, [1e-3], tolerance=tolerance)
    (exact,) = path.exact
    room = np.minimum(path.beta[0] - exact.lo, exact.hi - path.beta[0])
    free = room > 0.1 * (exact.hi - exact.lo)
    assert free.any()
    r = (exact.target - exact.K @ path.beta[0])[free]
    assert (np.abs(r) * room[free] <= TRUE * tolerance / (2 * exact.lam)).all()


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-4, 1e-5])
def test_the_tolerance_is_what_is_reached(tolerance):
    path = solve(PROBLEMS["hinge"], 0.5, np.geomspace(1, 1e-4, 5), tolerance=tolerance)
    assert (path.status == CONVERGED).all()
    for q in range(len(path.gap)):
        assert path.true_gap(q) <= TRUE * tolerance


@pytest.mark.parametrize("max_steps", [0, 1, 7, 100])
def test_out_of_steps_is_said_and_its_gap_is_true(max_steps):
    path = solve(PROBLEMS["hinge"], 1.0, [1e-5], max_steps=max_steps)
    assert path.status == MAX_STEPS
    assert path.steps <= max_steps
    assert path.gap > TOLERANCE
    assert path.true_gap(0) == pytest.approx(path.gap[0], rel=1e-3)


hard_problems = pytest.mark.parametrize("name", ["hinge", "hinge, laplace", "quantile 0.05"])
hard_widths = pytest.mark.parametrize("width", [1.0, 5.0, 50.0])


@hard_problems
@hard_widths
def test_a_tiny_lam_converges_or_says_that_precision_ended_it(name, width):
    problem = PROBLEMS[name]
    path = solve(problem, width, np.geomspace(1e-3, 1e-8, 6) / len(problem.target))
    assert np.isfinite(path.beta).all()
    assert np.isin(path.status, [CONVERGED, PRECISION]).all()
    assert ((path.gap <= TOLERANCE) == (path.status == CONVERGED)).all()


@hard_problems
@hard_widths
def test_certificates_are_true_down_to_the_smallest_lam_of_any_grid(name, width):
    problem = PROBLEMS[name]
    path = solve(problem, width, np.geomspace(1e-3, 1e-5, 5) / len(problem.target))
    for q in np.flatnonzero(path.status == CONVERGED):
        assert path.true_gap(q) <= TRUE * TOLERANCE


@pytest.mark.parametrize(
    ("problem", "width", "smallest"),
    [
        (PROBLEMS["quantile 0.05"], 50.0, 1e-8),
        (hinge(X4, Y4, np.where(Y4 > 0, 0.026, 1.974), kernel="laplace"), 50.0, 1e-4),
    ],
    ids=["far below any grid", "class weights"],
)
def test_certificates_are_true_for_coefficients_of_any_size(problem, width, smallest):
    path = solve(problem, width, np.geomspace(10, smallest / len(problem.target), 8))
    for q in np.flatnonzero(path.status == CONVERGED):
        assert path.true_gap(q) <= TRUE * TOLERANCE


@pytest.mark.parametrize("lam", [1e300, 1e44, 1e-44, 1e-300])
def test_a_lam_whose_box_float32_cannot_hold_gives_finite_numbers(lam):
    path = solve(PROBLEMS["hinge"], 1.0, [lam])
    assert np.isfinite(path.gap).all()
    assert np.isfinite(path.beta).all()
    assert np.isin(path.status, [CONVERGED, PRECISION]).all()


# -------------------------------------------------------------------------------------------- laws


@every_problem
@pytest.mark.parametrize("width", [0.3, 5.0])
def test_negated_targets_give_exactly_negated_coefficients(problem, width):
    lams = easy_to_hard(len(problem.target))
    path, mirrored = (solve(p, width, lams) for p in (problem, problem.negated()))
    np.testing.assert_array_equal(mirrored.beta, -path.beta)
    np.testing.assert_array_equal(mirrored.gap, path.gap)
    np.testing.assert_array_equal(mirrored.steps, path.steps)


@every_problem
@pytest.mark.parametrize("width", [0.3, 2.0])
def test_a_warm_start_ends_where_a_cold_start_ends(problem, width):
    problem = replace(problem, clip=NO_CLIP)
    lams = np.geomspace(1.0, 1e-1 / len(problem.target), 6)
    warm = solve(problem, width, lams)
    for q, lam in enumerate(lams):
        cold = solve(problem, width, [lam])
        exact = warm.exact[q]
        assert reference.dual_risk(exact, warm.beta[q]) == pytest.approx(
            reference.dual_risk(exact, cold.beta[0]), abs=TRUE * TOLERANCE
        )
        apart = function_distance(exact, warm.beta[q], cold.beta[0])
        assert apart <= certified_distance(exact, TRUE * TOLERANCE, TRUE * TOLERANCE)


def test_a_second_solve_gives_the_same_bits():
    problem, lams = PROBLEMS["hinge, weights"], easy_to_hard(len(Y4))
    first, second = (solve(problem, 1.0, lams) for _ in range(2))
    np.testing.assert_array_equal(first.beta, second.beta)
    np.testing.assert_array_equal(first.gap, second.gap)


def test_weights_count_by_their_ratio_only():
    lams = easy_to_hard(len(Y4))
    path = solve(hinge(X4, Y4, RANDOM_WEIGHT), 1.0, lams)
    quadrupled = solve(hinge(X4, Y4, 4 * RANDOM_WEIGHT), 1.0, lams)
    np.testing.assert_array_equal(quadrupled.beta, path.beta)


def test_a_weight_of_two_is_a_row_given_twice():
    twice = np.arange(len(Y4)) % 3 == 0
    repeated = np.concatenate([np.arange(len(Y4)), np.flatnonzero(twice)])
    lams = np.geomspace(1.0, 1e-3, 4)
    weighted = solve(hinge(X4, Y4, 1.0 + twice, clip=NO_CLIP), 1.0, lams)
    doubled = solve(hinge(X4, Y4, clip=NO_CLIP).rows(repeated), 1.0, lams)
    for q in range(len(lams)):
        assert reference.dual_risk(weighted.exact[q], weighted.beta[q]) == pytest.approx(
            reference.dual_risk(doubled.exact[q], doubled.beta[q]), abs=TRUE * TOLERANCE
        )


@pytest.mark.parametrize("name", ["hinge", "median, laplace"])
def test_samples_with_an_empty_box_never_move_and_do_not_matter(name):
    problem = replace(PROBLEMS[name], clip=NO_CLIP)
    present = np.random.default_rng(2).random(len(problem.target)) < 0.6
    empty = replace(
        problem,
        lo=(problem.lo * present).astype(np.float32),
        hi=(problem.hi * present).astype(np.float32),
        weight=problem.weight * present,
    )
    lams = np.geomspace(1.0, 1e-4, 5)
    path, without = solve(empty, 1.0, lams), solve(problem.rows(present), 1.0, lams)
    assert (path.beta[:, ~present] == 0).all()
    assert (path.status == CONVERGED).all()
    for q in range(len(lams)):
        assert reference.dual_risk(path.exact[q], path.beta[q]) == pytest.approx(
            reference.dual_risk(without.exact[q], without.beta[q]), abs=TRUE * TOLERANCE
        )


# ------------------------------------------------------------------------------------------- folds


FOLDS = {
    "five": [26, 52, 78, 104, 130],
    "uneven": [1, 50, 51, 129, 130],
    "whole vectors": [16, 64, 96, 130],
    "two": [65, 130],
    "one is empty": [40, 40, 130],
}


@pytest.mark.parametrize("ends", FOLDS.values(), ids=FOLDS.keys())
@pytest.mark.parametrize("name", ["hinge", "hinge, weights", "quantile 0.05"])
def test_the_fold_left_out_gets_no_coefficients_but_values(name, ends):
    problem = PROBLEMS[name]
    lams = easy_to_hard(len(problem.target))
    for fold, end in enumerate(ends):
        held_out = slice(ends[fold - 1] if fold else 0, end)
        path = solve(problem, 1.0, lams, ends=ends, fold=fold)
        assert (path.beta[:, held_out] == 0).all()
        assert path.values.shape == (len(lams), held_out.stop - held_out.start)
        for q in range(len(lams)):
            error = np.abs(path.values[q] - path.K[held_out] @ path.beta[q])
            assert (error <= VALUE_ROUNDING * np.abs(path.beta[q]).sum()).all()
            assert path.true_gap(q) <= TRUE * TOLERANCE


@pytest.mark.parametrize("ends", FOLDS.values(), ids=FOLDS.keys())
def test_leaving_a_fold_out_is_solving_without_its_rows(ends):
    problem = replace(PROBLEMS["hinge"], clip=NO_CLIP)
    lams = np.geomspace(1.0, 1e-4, 5)
    for fold, end in enumerate(ends):
        train = np.ones(len(problem.target), dtype=bool)
        train[ends[fold - 1] if fold else 0 : end] = False
        path = solve(problem, 1.0, lams, ends=ends, fold=fold)
        alone = solve(problem.rows(train), 1.0, lams)
        for q, exact in enumerate(alone.exact):
            apart = function_distance(exact, path.beta[q][train], alone.beta[q])
            assert apart <= certified_distance(exact, TRUE * TOLERANCE, TRUE * TOLERANCE)


def test_several_problems_on_one_cell_do_not_disturb_each_other():
    first, second = PROBLEMS["hinge"], PROBLEMS["quantile 0.05"]
    cell = Cell(X4, [len(X4)], "gauss")
    for problem in (first, second):
        cell.add_problem(problem.target, problem.lo, problem.hi, problem.clip)
    lams = list(np.geomspace(1.0, 1e-4, 4))
    for width in (2.0, 0.5):
        cell.set_width(width)
        for number, problem in enumerate((first, second)):
            beta, *_ = cell.solve_path(number, -1, lams, float(len(X4)), TOLERANCE, MANY_STEPS)
            np.testing.assert_array_equal(beta, solve(problem, width, lams).beta)


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
        # The function is a constant c: lam c^2 + share(+) max(0, 1 - c) + share(-) max(0, 1 + c).
        share = np.mean(y > 0)
        c = np.clip((2 * share - 1) / (2 * exact.lam), -1, 1)
        optimum = exact.lam * c**2 + share * (1 - c) + (1 - share) * (1 + c)
        found = reference.primal_risk(exact, path.beta[q])
        assert found == pytest.approx(optimum, abs=TRUE * TOLERANCE)


@given(
    n=st.integers(1, 50),
    d=st.integers(1, 5),
    distinct=st.integers(1, 50),
    seed=st.integers(0, 2**32 - 1),
    width=st.sampled_from([0.05, 0.5, 5.0]),
    kernel=st.sampled_from(["gauss", "laplace"]),
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
    with pytest.raises(ValueError, match="every box must contain 0"):
        cell.add_problem(zero, zero + 1, zero + 2, 1.0)
    with pytest.raises(ValueError, match="one entry per row"):
        cell.add_problem(zero[1:], zero, zero, 1.0)
    with pytest.raises(ValueError, match="clipping bound must be positive"):
        cell.add_problem(zero, zero, zero, 0.0)
    with pytest.raises(ValueError, match="no such problem"):
        cell.solve_path(0, -1, [1.0], 1.0, TOLERANCE, MANY_STEPS)
    cell.add_problem(zero, zero, zero, 1.0)
    cell.set_width(1.0)
    with pytest.raises(ValueError, match="no such fold"):
        cell.solve_path(0, 1, [1.0], 1.0, TOLERANCE, MANY_STEPS)
    with pytest.raises(ValueError, match="lambdas must be positive and descend"):
        cell.solve_path(0, -1, [1e-3, 1e-2], 1.0, TOLERANCE, MANY_STEPS)
    with pytest.raises(ValueError, match="weights and tolerance must be positive"):
        cell.solve_path(0, -1, [1.0], 0.0, TOLERANCE, MANY_STEPS)


@pytest.mark.parametrize("ready", ["no width", "problem after width"])
def test_a_path_on_a_kernel_matrix_older_than_the_problem_is_refused(ready):
    problem = PROBLEMS["hinge"]
    cell = Cell(X4, [len(X4)], "gauss")
    if ready == "problem after width":
        cell.set_width(1.0)
    cell.add_problem(problem.target, problem.lo, problem.hi, problem.clip)
    with pytest.raises(ValueError, match="set a width after the problem was added"):
        cell.solve_path(0, -1, [1e-3], float(len(X4)), TOLERANCE, MANY_STEPS)


def test_a_nan_among_the_targets_ends_and_is_not_called_converged():
    y = Y4.copy()
    y[7] = np.nan
    problem = replace(PROBLEMS["hinge"], target=y.astype(np.float32))
    token, found = CancelToken(), []
    worker = threading.Thread(target=lambda: found.append(solve(problem, 1.0, [1e-3], max_steps=1000, token=token)))
    worker.start()
    worker.join(timeout=60)
    token.cancel()
    worker.join()
    assert found[0].status in (MAX_STEPS, PRECISION)
