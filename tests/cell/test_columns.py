"""The samples of all problems side by side."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm.cell.columns import Columns
from localsvm.cell.folds import FoldedRows
from localsvm.cell.path import validate
from localsvm.tasks import Problem
from localsvm.tasks.losses import Hinge, Pinball, Tube

seeds = st.integers(0, 2**32 - 1)


def folded(n, ends):
    return FoldedRows(np.zeros((n, 1), np.float32), np.zeros(n), np.ones(n), tuple(ends))


@st.composite
def laid_out(draw):
    """Problems on any rows of a cell of some folds, some of them empty, and where their columns are."""
    rng = np.random.default_rng(draw(seeds))
    n, n_folds, n_problems = (draw(st.integers(1, most)) for most in (15, 4, 5))
    ends = [*np.sort(rng.integers(0, n + 1, size=n_folds - 1)).tolist(), n]
    problems = []
    for number in range(n_problems):
        whole = rng.uniform() < 0.3
        rows = None if whole else np.sort(rng.choice(n, size=rng.integers(1, n + 1), replace=False))
        size = n if whole else len(rows)
        loss = Hinge() if rng.uniform() < 0.5 else Pinball(0.3)
        y, weight = rng.choice([-1.0, 1.0], size=size), rng.uniform(0.1, 2, size=size)
        problems.append(Problem(number, loss, y, weight, rows))
    return problems, folded(n, ends), rng


@given(laid_out())
@settings(deadline=None)
def test_the_columns_of_a_problem_are_its_samples(case):
    problems, rows, _ = case
    columns = Columns.of(problems, rows)
    assert columns.of_problem(len(problems) - 1).stop == len(columns.row)
    for number, problem in enumerate(problems):
        mine = columns.of_problem(number)
        expected = np.arange(len(rows.X)) if problem.rows is None else problem.rows
        np.testing.assert_array_equal(columns.row[mine], expected)
        np.testing.assert_array_equal(columns.y[mine], problem.y)
        np.testing.assert_array_equal(columns.weight[mine], problem.weight)
        assert (columns.problem[mine] == number).all()
        assert (columns.clip[mine] == problem.clip).all()


@given(laid_out())
@settings(deadline=None)
def test_sums_are_those_over_the_samples_of_a_problem_in_a_fold(case):
    problems, rows, rng = case
    columns = Columns.of(problems, rows)
    values = rng.normal(size=(3, len(columns.row)))
    sums = columns.by_fold(values)
    assert sums.shape == (3, len(problems), rows.n_folds)
    for number in range(len(problems)):
        for fold in range(rows.n_folds):
            in_fold = np.isin(columns.row, np.arange(len(rows.X))[rows.fold(fold)])
            mine = in_fold & (columns.problem == number)
            np.testing.assert_allclose(sums[:, number, fold], values[:, mine].sum(axis=1), atol=1e-12)
            assert mine.any() or (sums[:, number, fold] == 0).all()


@given(laid_out())
@settings(deadline=None)
def test_the_sums_of_a_problem_are_the_same_to_the_bit_without_the_others(case):
    problems, rows, rng = case
    columns = Columns.of(problems, rows)
    # Of very different size: a running sum would leave nothing of the small ones.
    values = (
        rng.normal(size=len(columns.row))
        * np.float64(10.0) ** rng.integers(-15, 15, size=len(problems))[columns.problem]
    )
    together = columns.by_fold(values)
    for number, problem in enumerate(problems):
        alone = Columns.of([problem], rows).by_fold(values[columns.of_problem(number)])
        np.testing.assert_array_equal(together[number], alone[0])


@given(laid_out())
@settings(deadline=None)
def test_every_column_belongs_to_the_loss_of_its_problem(case):
    problems, rows, _ = case
    columns = Columns.of(problems, rows)
    times = np.zeros(len(columns.row), dtype=int)
    for loss, where in columns.by_loss():
        times[where] += 1
        assert all(problems[number].loss == loss for number in np.unique(columns.problem[where]))
    assert (times == 1).all()


@given(laid_out())
@settings(deadline=None)
def test_validation_sums_the_losses_of_clipped_values(case):
    problems, rows, rng = case
    columns = Columns.of(problems, rows)
    n_lams = 2
    values = rng.normal(scale=3, size=(n_lams, len(columns.row))).astype(np.float32)
    found = validate(columns, values)
    for number, problem in enumerate(problems):
        mine = columns.of_problem(number)
        f = np.clip(values[:, mine].astype(np.float64), -problem.clip, problem.clip)
        for sums, loss in ((found.risk, problem.loss.risk), (found.loss, problem.loss.value)):
            assert sums.shape == (len(problems), rows.n_folds, n_lams)
            total = (loss(problem.y, f) * problem.weight).sum(axis=1)
            np.testing.assert_allclose(sums[number].sum(axis=0), total, atol=1e-9)


def test_one_sided_samples_keep_their_side():
    y, side = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -1.0, -1.0, 1.0])
    problems = [Problem(number, Tube(), y, np.ones(4), side=sign * side) for number, sign in enumerate((1, -1))]
    losses = Columns.of(problems, folded(4, [4])).losses(np.zeros(8))
    np.testing.assert_array_equal(losses, [2, 0, 0, 8, 0, 4, 6, 0])


def test_problems_of_one_loss_are_evaluated_together():
    problems = [Problem(number, loss, np.ones(2), np.ones(2)) for number, loss in enumerate([Hinge(), Hinge()])]
    ((loss, where),) = Columns.of(problems, folded(2, [2])).by_loss()
    assert loss == Hinge()
    assert where == slice(0, 4)


@pytest.mark.parametrize("ends", [[3], [0, 3], [3, 3], [0, 0, 3, 3]])
def test_folds_may_be_empty(ends):
    problem = Problem(0, Hinge(), np.ones(2), np.ones(2), np.array([0, 2]))
    sums = Columns.of([problem, problem], folded(3, ends)).by_fold(np.array([1.0, 2.0, 4.0, 8.0]))
    assert sums.sum(axis=1).tolist() == [3, 12]
