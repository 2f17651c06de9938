"""Blends: the mean of several grid points that has the lowest out-of-fold loss."""

from dataclasses import replace

import numpy as np
import pytest
from cells import cell_values, same_cells, settings_for, task_of
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from localsvm.cell import Grid, train_cell
from localsvm.cell.columns import Columns
from localsvm.cell.combine import blend_weights
from localsvm.cell.folds import make_folds
from localsvm.tasks import Regression
from localsvm.tasks.losses import Expectile, Pinball, Squared

WIDTHS, LAMS = (1.0, 0.4, 0.2, 0.1), (1e-1, 1e-2, 1e-3)
LOSSES = (Squared(tolerance=1e-8), Expectile(0.8, tolerance=1e-8), Pinball(0.3, tolerance=1e-6))
by_name = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def wave(n, seed=0):
    """Slow on one side and fast on the other, so that no width fits both."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1)).astype(np.float32)
    return X, np.sin(np.where(X[:, 0] < 0, 1.5, 12) * X[:, 0]) + 0.5 * rng.normal(size=n)


def columns_of(task, loss):
    rows = make_folds(task.rows, 5, stratify=False)
    return Columns.of(Regression((loss,)).problems(rows.y, rows.weight), rows)


def mean_loss(problem, f):
    clipped = np.clip(f, -problem.clip, problem.clip)
    return np.average(problem.loss.value(problem.y, clipped), weights=problem.weight, axis=-1)


@given(seed=st.integers(0, 2**32 - 1), n_lams=st.integers(1, 5), loss=st.sampled_from(LOSSES))
@example_settings(deadline=None)
def test_a_blend_is_a_mean_of_few_points_and_no_worse_than_the_best(seed, n_lams, loss):
    rng = np.random.default_rng(seed)
    columns = columns_of(task_of(*wave(40, seed)), loss)
    (problem,) = columns.problems
    noise = rng.uniform(0.05, 2, size=(6, n_lams, 1)) * rng.normal(size=(6, n_lams, len(problem.y)))
    values = np.clip(problem.y + noise, -problem.clip, problem.clip).astype(np.float32)
    risk = mean_loss(problem, values)
    (weights,) = blend_weights(columns, values, risk[None], 5)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)
    assert np.count_nonzero(weights) <= 10
    assert weights.any(axis=1).sum() <= 3
    assert mean_loss(problem, np.tensordot(weights, values, 2)) <= risk.min() * (1 + 1e-5)


def test_points_that_racing_dropped_have_no_weight():
    columns = columns_of(task_of(*wave(40)), LOSSES[0])
    values = np.zeros((3, 2, 40), dtype=np.float32)
    risk = np.array([[[np.inf, np.inf], [1.0, np.inf], [np.inf, np.inf]]])
    (weights,) = blend_weights(columns, values, risk, 5)
    assert weights[1, 0] == 1


def greedy(values, loss):
    """The members of a mean of ten, of at most three widths, each the best one to add; out-of-fold values by point."""
    members = []
    for _ in range(10):
        widths = {width for width, _ in members}
        allowed = [p for p in values if len(widths) < 3 or p[0] in widths]
        members.append(min(allowed, key=lambda p: loss(np.mean([values[q] for q in [*members, p]], axis=0))))
    return members


@by_name
def test_the_function_is_the_mean_of_those_trained_at_its_points(loss):
    X, y = wave(150)
    task, test = task_of(X, y), wave(60, seed=1)[0]
    settings = settings_for(reduction=Regression((loss,)), n_folds=5)
    alone = {
        (width, lam): train_cell(task, replace(settings, grid=Grid(widths=[width], lams=[lam]), refit="retrain"))
        for width in WIDTHS
        for lam in LAMS
    }
    first = next(iter(alone.values())).out_of_fold
    values = {point: cell.out_of_fold.scores[:, 0].astype(np.float64) for point, cell in alone.items()}
    members = greedy(values, lambda f: np.average(loss.value(first.y, f), weights=first.weight))
    assert len(set(members)) > 1

    blended = train_cell(task, replace(settings, grid=Grid(widths=WIDTHS, lams=LAMS), refit="blend"))
    expected = np.mean([cell_values(alone[point], test) for point in members], axis=0)
    np.testing.assert_allclose(cell_values(blended, test), expected, atol=0.02)
    assert {part.width for part in blended.functions.sums} == {width for width, _ in members}
    assert blended.risk <= min(cell.risk for cell in alone.values()) * (1 + 1e-3)


@by_name
def test_a_blend_of_one_point_is_that_point_retrained(loss):
    settings = settings_for(reduction=Regression((loss,)), grid=Grid(widths=[0.7], lams=[1e-2]))
    task = task_of(*wave(60))
    same_cells(train_cell(task, replace(settings, refit="blend")), train_cell(task, replace(settings, refit="retrain")))


def test_every_solution_of_a_blend_is_certified():
    settings = settings_for(reduction=Regression((LOSSES[0],)), grid=Grid(widths=WIDTHS, lams=LAMS), refit="blend")
    certificates = train_cell(task_of(*wave(100)), settings).certificates
    assert certificates.refit_gap <= LOSSES[0].tolerance
    assert certificates.n_unconverged == 0
