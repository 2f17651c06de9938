"""Selection of the grid point, and the combination of the fold solutions."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from localsvm.cell.columns import Columns, FoldWeights
from localsvm.cell.combine import combination_weights, combine
from localsvm.cell.folds import FoldedRows
from localsvm.cell.outputs import kernel_sums, terms_by_width
from localsvm.cell.select import EQUAL_RISK, select, select_lams, select_width
from localsvm.cell.trained import CellFunctions
from localsvm.tasks import Problem
from localsvm.tasks.losses import Hinge

grid_shapes = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 6))
n_folds = st.shared(st.integers(1, 8), key="folds")
risks = st.floats(0, 2, allow_subnormal=False)


def at(values, choice):
    """The values (problem, width, lam) at the chosen points."""
    return values[np.arange(len(values)), choice.width, choice.lam]


def selected(risk, loss):
    """The choice of a single problem, as a pair of indices."""
    choice = select(np.asarray(risk)[None], np.asarray(loss)[None])
    return int(choice.width[0]), int(choice.lam[0])


# --------------------------------------------------------------------------------------- selection


@given(data=st.data(), shape=grid_shapes)
@settings(deadline=None)
def test_no_grid_point_has_less_risk_than_the_chosen_one(data, shape):
    risk, loss = (data.draw(hnp.arrays(np.float64, shape, elements=risks)) for _ in range(2))
    choice = select(risk, loss)
    assert (at(risk, choice) <= risk.min(axis=(1, 2)) + EQUAL_RISK).all()


@given(data=st.data(), shape=grid_shapes)
@settings(deadline=None)
def test_the_choice_is_that_of_the_reference_for_every_problem(data, shape):
    # Few different values, so that ties of both kinds are common.
    few = st.sampled_from([0.0, 0.25, 0.5])
    risk, loss = (data.draw(hnp.arrays(np.float64, shape, elements=few)) for _ in range(2))
    choice = select(risk, loss)
    expected = [reference.select(of_problem, ties) for of_problem, ties in zip(risk, loss, strict=True)]
    assert list(zip(choice.width, choice.lam, strict=True)) == expected


def test_equal_risks_are_decided_by_the_loss_and_equal_losses_by_smoothness():
    risk = np.array([[0.2, 0.1, 0.1], [0.1, 0.1, 0.3]])
    assert selected(risk, np.array([[0, 4, 3], [2, 5, 0.0]])) == (1, 0)
    # Widths and lams descend: the first of equals is the smoothest.
    assert selected(risk, np.ones_like(risk)) == (0, 1)


def test_rounding_does_not_make_a_difference_of_equal_risks():
    # 0.3 in two ways that differ in the last bit.
    risk = np.array([[0.1 + 0.2, 0.3]])
    assert risk[0, 0] != risk[0, 1]
    assert selected(risk, [[1.0, 2.0]]) == (0, 0)
    assert selected(risk[:, ::-1], [[1.0, 2.0]]) == (0, 0)


@given(data=st.data(), shape=grid_shapes)
@settings(deadline=None)
def test_the_best_of_some_widths_stays_the_best_until_it_is_beaten(data, shape):
    # Coefficients are kept of the best width so far only, so a later choice must not go back.
    close = st.floats(0.1, 0.1 + 5 * EQUAL_RISK)
    risk = data.draw(hnp.arrays(np.float64, shape, elements=close))
    loss = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(0, 1)))
    remembered = np.full(shape[0], -1)
    for w in range(shape[1]):
        solved = np.arange(shape[1])[:, None] <= w
        choice = select(np.where(solved, risk, np.inf), np.where(solved, loss, np.inf))
        remembered = np.where(choice.width == w, w, remembered)
    np.testing.assert_array_equal(remembered, select(risk, loss).width)


@pytest.mark.parametrize("n", [3, 7, 60, 128, 1600, 4096])
def test_equal_fractions_of_samples_tie_however_they_were_added_up(n):
    wrong = np.arange(n + 1)
    once, in_parts = wrong / n, np.array([np.full(k, 1 / n).sum() for k in wrong])
    for risk in zip(once, in_parts, strict=True):
        assert selected([risk], [[1.0, 0.0]]) == (0, 1)
        assert selected([risk], [[0.0, 1.0]]) == (0, 0)


def test_grid_points_that_were_skipped_are_never_chosen():
    risk = np.array([[np.inf, 0.4], [np.inf, np.inf]])
    loss = np.where(np.isfinite(risk), 1.0, np.inf)
    assert selected(risk, loss) == (0, 1)
    assert select_lams(risk[:1], loss[:1]).tolist() == [1]
    assert select_width(np.array([np.inf, 0.4, np.inf]), np.array([np.inf, 1.0, np.inf])) == 1


@given(data=st.data(), shape=grid_shapes)
@settings(deadline=None)
def test_lams_and_widths_are_chosen_as_points_of_a_grid_are(data, shape):
    few = st.sampled_from([0.0, 0.25, 0.5])
    risk, loss = (data.draw(hnp.arrays(np.float64, shape[:2], elements=few)) for _ in range(2))
    expected = [reference.select(r[None], t[None])[1] for r, t in zip(risk, loss, strict=True)]
    assert select_lams(risk, loss).tolist() == expected
    assert select_width(risk[0], loss[0]) == expected[0]


# ------------------------------------------------------------------------------ combination weights


@given(data=st.data(), n_problems=st.integers(1, 4), k=n_folds)
@settings(deadline=None)
def test_weights_are_positive_sum_to_one_and_fall_with_the_risk(data, n_problems, k):
    risk = data.draw(hnp.arrays(np.float64, (n_problems, k), elements=risks))
    fold_weight = data.draw(hnp.arrays(np.float64, (n_problems, k), elements=st.floats(0.5, 1e4)))
    weights = combination_weights(risk, fold_weight)
    assert weights.sum(axis=1) == pytest.approx(1)
    assert (weights > 0).all()
    for mine, of_problem, mass in zip(weights, risk, fold_weight, strict=True):
        assert (np.diff(mine[np.argsort(of_problem)]) <= 1e-15).all()
        np.testing.assert_allclose(mine, reference.combination_weights(of_problem, mass), rtol=1e-9)


def test_weights_are_exponential_in_the_risks():
    risk, weight = np.array([0.1, 0.2, 0.4]), np.array([300.0, 400.0, 500.0])
    logs = np.log(combination_weights(risk, weight))
    # The fold of largest risk has the exponent -(400 samples per fold)/100 = -4.
    np.testing.assert_allclose(logs - logs[0], -4 * (risk - risk[0]) / 0.4)


@pytest.mark.parametrize("risk", [0.0, 0.3])
def test_folds_of_equal_risk_have_equal_weights(risk):
    weights = combination_weights(np.full(4, risk), np.array([1.0, 10.0, 100.0, 1000.0]))
    np.testing.assert_allclose(weights, 0.25)


def test_many_samples_do_not_underflow_all_weights():
    weights = combination_weights(np.array([0.1, 0.2, 0.2]), np.full(3, 1e9))
    np.testing.assert_allclose(weights, [1, 0, 0])


# -------------------------------------------------------------------------------------- combination


def columns_of(sizes, n_rows):
    """Problems on the first rows of a cell, as many as the sizes say; the last has all of them."""
    rows = FoldedRows(np.zeros((n_rows, 1), np.float32), np.ones(n_rows), np.ones(n_rows), (n_rows,))
    problems = [
        Problem(number, Hinge(), np.ones(size), np.ones(size), None if size == n_rows else np.arange(size))
        for number, size in enumerate(sizes)
    ]
    return Columns.of(problems, rows)


@given(data=st.data(), k=n_folds, sizes=st.lists(st.integers(1, 20), min_size=1, max_size=4))
@settings(deadline=None)
def test_the_combination_is_the_weighted_average_of_the_fold_solutions_by_problem(data, k, sizes):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    columns = columns_of(sizes, 20)
    beta = rng.normal(size=(k, sum(sizes))).astype(np.float32)
    risk, weight = rng.uniform(size=(len(sizes), k)), rng.uniform(1, 50, size=(len(sizes), k))
    combined = combine(columns, beta, risk * weight, FoldWeights(weight.sum(axis=1), weight))
    assert combined.dtype == np.float32
    for number in range(len(sizes)):
        mine = columns.of_problem(number)
        expected = reference.combination_weights(risk[number], weight[number]) @ beta[:, mine].astype(np.float64)
        np.testing.assert_allclose(combined[mine], expected, rtol=1e-6, atol=1e-7)


def test_a_combination_of_equal_solutions_is_that_solution():
    beta = np.tile(np.float32([1.5, -2.0, 0.0]), (5, 1))
    weights = FoldWeights(np.array([100.0]), np.full((1, 5), 20.0))
    risk = np.array([[2.0, 4.0, 6.0, 4.0, 2.0]])
    np.testing.assert_allclose(combine(columns_of([3], 3), beta, risk, weights), beta[0], rtol=1e-7)


# -------------------------------------------------------------------------------------- kernel sums


@given(data=st.data(), n_problems=st.integers(1, 10))
@settings(deadline=None, max_examples=50)
def test_kernel_sums_are_the_functions_of_the_coefficients(data, n_problems):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n = 12
    X = rng.normal(size=(n, 2)).astype(np.float32)
    rows = FoldedRows(X, np.ones(n), np.ones(n), (n,))
    problems, scales = [], rng.choice([1.0, 2.5], size=n_problems)
    for number, scale in enumerate(scales):
        members = None if rng.uniform() < 0.3 else np.sort(rng.choice(n, rng.integers(1, n), replace=False))
        size = n if members is None else len(members)
        problems.append(Problem(number, Hinge(), np.ones(size), np.ones(size), members, scale=scale))
    columns = Columns.of(problems, rows)
    beta = (rng.normal(size=len(columns.row)) * (rng.uniform(size=len(columns.row)) < 0.7)).astype(np.float32)
    width = rng.choice([0.5, 2.0], size=n_problems)
    sums = kernel_sums(columns, terms_by_width(beta, width), X)
    unbounded = np.tile([-np.inf, np.inf], (n_problems, 1))
    values = CellFunctions("gauss", np.zeros(n_problems), unbounded, sums).values(X)
    for number in range(n_problems):
        mine = columns.of_problem(number)
        exact = reference.decision_values(X, X[columns.row[mine]], scales[number] * beta[mine], "gauss", width[number])
        np.testing.assert_allclose(values[:, number], exact, atol=1e-4)
    for part in sums:
        assert part.coefficients.any(axis=0).all(), "a support vector counts for some output"
        assert len(np.unique(part.support_vectors, axis=0)) == len(part.support_vectors)


def test_problems_on_the_same_rows_share_their_support_vectors():
    X = np.arange(6, dtype=np.float32)[:, None]
    rows = FoldedRows(X, np.ones(6), np.ones(6), (6,))
    problems = [Problem(output, Hinge(), np.ones(6), np.ones(6)) for output in range(3)]
    (shared,) = kernel_sums(Columns.of(problems, rows), terms_by_width(np.ones(18, np.float32), np.ones(3)), X)
    assert shared.outputs.tolist() == [0, 1, 2]
    assert shared.coefficients.shape == (3, 6)
