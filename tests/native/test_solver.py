"""The box-constrained solver: certificates, laws, and folds."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import reference
from problems import (
    BOUND_ROUNDING,
    CONVERGED,
    MANY_STEPS,
    MAX_STEPS,
    NO_CLIP,
    PRECISION,
    PROBLEMS,
    RANDOM_WEIGHT,
    TOLERANCE,
    TRUE,
    VALUE_ROUNDING,
    X4,
    Y4,
    certified_distance,
    easy_to_hard,
    every_problem,
    every_width,
    function_distance,
    hinge,
    pinball,
    solve,
)

from localsvm._native import Cell, StopRule
from localsvm.data import toy_mixture

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
    slack = np.minimum(path.beta[0] - exact.lo, exact.hi - path.beta[0])
    free = slack > 0.1 * (exact.hi - exact.lo)
    assert free.any()
    r = (exact.target - exact.K @ path.beta[0])[free]
    assert (np.abs(r) * slack[free] <= TRUE * tolerance / (2 * exact.lam)).all()


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
    small, converged = path.gap <= TOLERANCE, path.status == CONVERGED
    assert small[converged].all()
    # Below zero it proves nothing where K, rounded, is not positive definite.
    assert (path.gap[small & ~converged] < 0).all()


@hard_problems
@hard_widths
def test_certificates_are_true_down_to_the_smallest_lam_of_any_grid(name, width):
    problem = PROBLEMS[name]
    path = solve(problem, width, np.geomspace(1e-3, 1e-5, 5) / len(problem.target))
    for q in np.flatnonzero(path.status == CONVERGED):
        assert path.true_gap(q) <= TRUE * TOLERANCE


def noise(n, n_features=5):
    """Samples whose labels say nothing about them: nearly all coefficients move, again and again."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, n_features)).astype(np.float32), np.where(rng.random(n) < 0.5, -1.0, 1.0)


@pytest.mark.parametrize("make", [hinge, partial(pinball, tau=0.3)], ids=["hinge", "pinball"])
@pytest.mark.parametrize("lam", [1e-3, 1e-4])
def test_certificates_of_tiny_gaps_are_true_and_boxes_kept_after_many_extrapolations(make, lam):
    n = 400
    problem = replace(make(*noise(n)), clip=NO_CLIP)
    path = solve(problem, 4.0, [lam / n], tolerance=1e-4)
    assert path.status == CONVERGED
    assert path.steps[0] > n / 2 + 10 * 96  # an extrapolation step every 96 steps, after the first n/2
    assert path.true_gap(0) <= TRUE * 1e-4
    (exact,) = path.exact
    assert (path.beta[0] >= exact.lo * (1 + BOUND_ROUNDING)).all()
    assert (path.beta[0] <= exact.hi * (1 + BOUND_ROUNDING)).all()


@pytest.mark.parametrize(("n", "n_features", "width"), [(800, 20, 8.0), (1200, 28, 12.0)])
def test_rounding_in_extrapolations_does_not_accumulate_along_a_path(n, n_features, width):
    path = solve(hinge(*noise(n, n_features)), width, np.geomspace(1e-1, 1e-3, 5) / n)
    off = [path.true_gap(q) - path.gap[q] for q in range(5)]
    assert np.abs(off).max() <= 0.015 * TOLERANCE


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


@pytest.mark.parametrize("width", [1.0, 3.0])
def test_a_gap_below_zero_that_a_rounded_kernel_made_is_no_certificate(width):
    # Coin flips: coefficients grow until they find out that the rounded matrix is not positive definite.
    random = np.random.default_rng(0)
    X, y = random.random((200, 2)).astype(np.float32), np.where(random.random(200) < 0.5, -1.0, 1.0)
    path = solve(hinge(X, y), width, [1e-20, 1e-22])
    assert (path.gap < 0).any()
    assert (path.status[path.gap < 0] == PRECISION).all()


@pytest.mark.parametrize("lam", [1e300, 1e44, 1e-44, 1e-300])
def test_a_lam_whose_box_float32_cannot_hold_gives_finite_numbers(lam):
    path = solve(PROBLEMS["hinge"], 1.0, [lam])
    assert np.isfinite(path.gap).all()
    assert np.isfinite(path.beta).all()
    assert np.isin(path.status, [CONVERGED, PRECISION]).all()


@pytest.mark.parametrize("may_move", [slice(0, 64), slice(64, 128), slice(40, 48), slice(100, 101)])
def test_the_last_that_may_move_are_found_wherever_they_are(may_move):
    X, y = toy_mixture(128, 2, random_state=5)
    weight = np.zeros(128)
    weight[may_move] = 1.0
    path = solve(hinge(X, y, weight), 0.2, np.geomspace(1, 1e-4, 4))
    assert (path.status == CONVERGED).all()
    for q in range(4):
        assert path.true_gap(q) <= TRUE * TOLERANCE


def test_subnormal_numbers_are_numbers_again_after_a_solve():
    solve(PROBLEMS["hinge"], 1.0, [1e-3])
    assert (np.full(64, 1e-40, dtype=np.float32) * np.float32(0.5)).all()


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
def test_the_validation_fold_has_no_coefficients_but_values(name, ends):
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
            solved = cell.solve_path(number, -1, lams, float(len(X4)), StopRule(TOLERANCE, MANY_STEPS))
            np.testing.assert_array_equal(solved.beta, solve(problem, width, lams).beta)
