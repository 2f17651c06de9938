"""Cells with real targets: quantiles, several targets, units."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from cells import cell_values, same_cells, settings_for, task_of
from scipy.optimize import minimize

from localsvm.cell import CellSettings, Grid, train_cell
from localsvm.cell.folds import make_folds
from localsvm.tasks import Levels, Regression, TubeRegression
from localsvm.tasks.losses import Pinball, Tube

LEVELS = (0.1, 0.5, 0.9)
TIGHT, REFERENCE_TIGHT = 1e-6, 1e-7


def wave(n, n_targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1)).astype(np.float32)
    shape = (n,) if n_targets is None else (n, n_targets)
    x = X[:, 0] if n_targets is None else X + np.arange(n_targets)
    return X, np.sin(2 * x) + 0.2 * rng.normal(size=shape)


def quantiles(*levels):
    return Levels(tuple(Pinball(tau) for tau in levels))


class UnclippedPinball(Pinball):
    """Pinball loss whose solves stop at the plain gap, so that lam ||f - f*||^2 <= gap."""

    def clip(self, y):
        return 1e30


@pytest.mark.parametrize("tau", LEVELS)
def test_a_retrained_quantile_is_the_svm_of_the_pinball_loss(tau):
    X, y = wave(70)
    width, lam = 0.7, 1e-2
    settings = settings_for(
        reduction=Regression((UnclippedPinball(tau, tolerance=TIGHT),)),
        grid=Grid(widths=[width], lams=[lam]),
        refit="retrain",
    )
    task = task_of(X, 100 + 7 * y)
    trained = train_cell(task, settings)
    rows = task.rows
    offset, scale = Pinball(tau).best_constant(rows.y, rows.weight), rows.y.std()
    K = reference.kernel_matrix("gauss", width, rows.X, rows.X)
    exact = reference.pinball_problem(K, (rows.y - offset) / scale, rows.weight, lam, tau)
    solution = reference.solve_box(exact, tolerance=REFERENCE_TIGHT)
    f = np.clip(offset + scale * (K @ solution.beta), rows.y.min(), rows.y.max())
    allowed = scale * (np.sqrt(TIGHT / lam) + np.sqrt(REFERENCE_TIGHT / lam)) + 1e-3
    assert np.abs(cell_values(trained, rows.X) - f).max() <= allowed
    assert np.ptp(f) > 20 * allowed


class UnclippedTube(Tube):
    """Epsilon-insensitive loss whose solves stop at the plain gap."""

    def clip(self, y):
        return 1e30


def tube_oracle(K, y, weight, lam, epsilon):
    """The coefficients of the SVM of the epsilon-insensitive loss: the dual in a - b, both in the box, by L-BFGS-B.

    minimize (a-b)'K(a-b)/2 - y'(a-b) + epsilon sum(a+b) over 0 <= a, b <= weight / (2 lam sum(weight))
    """
    n, box = len(y), weight / (2 * lam * weight.sum())

    def dual(x):
        a, b = x[:n], x[n:]
        Kb = K @ (a - b)
        value = (a - b) @ Kb / 2 - y @ (a - b) + epsilon * x.sum()
        return value, np.concatenate([Kb - y + epsilon, y - Kb + epsilon])

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-10}
    bounds = [(0, bound) for bound in (*box, *box)]
    found = minimize(dual, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    beta = found.x[:n] - found.x[n:]
    f = K @ beta
    loss = np.maximum(0, np.abs(y - f) - epsilon) @ weight / weight.sum()
    gap = lam * (beta @ f) + loss + 2 * lam * found.fun
    return beta, gap


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_retrained_tube_is_the_svm_of_the_epsilon_insensitive_loss(epsilon, weighted):
    X, y = wave(60)
    width, lam = 0.7, 1e-2
    weight = np.random.default_rng(5).uniform(0.2, 3.0, size=60) if weighted else None
    reduction = TubeRegression(losses=(UnclippedTube(tolerance=TIGHT),), epsilon=epsilon)
    settings = settings_for(reduction=reduction, grid=Grid(widths=[width], lams=[lam]), refit="retrain")
    task = task_of(X, 20 + 7 * y, weight)
    rows = task.rows
    trained = train_cell(task, settings)
    (offset,) = trained.functions.constants
    scale = np.sqrt(np.cov(rows.y, aweights=rows.weight, ddof=0))
    K = reference.kernel_matrix("gauss", width, rows.X, rows.X)
    beta, gap = tube_oracle(K, (rows.y - offset) / scale, rows.weight, lam, epsilon / scale)
    assert gap < 1e-5
    f = np.clip(offset + scale * (K @ beta), rows.y.min(), rows.y.max())
    allowed = scale * (np.sqrt(TIGHT / lam) + np.sqrt(max(gap, 0) / lam)) + 1e-3
    assert np.abs(cell_values(trained, rows.X) - f).max() <= allowed
    assert np.ptp(f) > 10 * allowed


@pytest.mark.parametrize("refit", ["combine", "retrain", "blend"])
@pytest.mark.parametrize("search", ["full", "racing"])
def test_several_quantiles_and_targets_are_those_of_each_to_the_bit(search, refit):
    X, y = wave(120, 2)
    settings = settings_for(n_folds=4, search=search, refit=refit)
    losses = tuple(Pinball(tau) for tau in LEVELS)
    together = train_cell(task_of(X, y), replace(settings, reduction=Regression(losses, 2)))
    for output in range(6):
        of_one = Regression((losses[output % 3],))
        alone = train_cell(task_of(X, y[:, output // 3]), replace(settings, reduction=of_one))
        assert (together.width[output], together.lam[output]) == (alone.width[0], alone.lam[0])
        np.testing.assert_array_equal(together.out_of_fold.scores[:, output], alone.out_of_fold.scores[:, 0])
        np.testing.assert_allclose(together.functions.values(X)[:, output], cell_values(alone, X), atol=1e-4)


def test_about_the_right_fraction_of_new_targets_lies_below_a_quantile():
    trained = train_cell(
        task_of(*wave(500)), CellSettings(reduction=quantiles(*LEVELS), grid=Grid(n_widths=5, n_lams=5))
    )
    X, y = wave(4000, seed=1)
    below = (y[:, None] < trained.functions.values(X)).mean(axis=0)
    np.testing.assert_allclose(below, LEVELS, atol=0.07)


def test_the_risk_is_the_mean_loss_of_the_out_of_fold_scores_in_the_targets_unit():
    X, y = wave(100)
    trained = train_cell(task_of(X, 50 * y), settings_for(reduction=quantiles(*LEVELS)))
    found = trained.out_of_fold
    losses = [Pinball(tau).value(found.y, f) for tau, f in zip(LEVELS, found.scores.T.astype(float), strict=True)]
    assert trained.risk == pytest.approx(np.mean(losses))
    assert (np.diff(found.scores, axis=1) >= 0).all()
    # Those of the grid points are of the same unit, and of each level's best point none is better than the choice.
    assert trained.risks.min() == pytest.approx(trained.risk, rel=0.1)


def test_the_unit_of_the_targets_is_that_of_the_function():
    X, y = wave(100)
    settings = settings_for(reduction=quantiles(*LEVELS))
    plain, in_quarters = (train_cell(task_of(X, factor * y), settings) for factor in (1, 4))
    np.testing.assert_array_equal(in_quarters.functions.values(X), 4 * plain.functions.values(X))
    np.testing.assert_array_equal(in_quarters.risks, 4 * plain.risks)
    np.testing.assert_array_equal(in_quarters.width, plain.width)


def test_predictions_stay_within_the_targets_of_the_cell():
    X, y = wave(80)
    trained = train_cell(task_of(X, y), settings_for(reduction=quantiles(0.01, 0.99)))
    values = trained.functions.values(np.linspace(-50, 50, 500, dtype=np.float32)[:, None])
    assert values.min() >= y.min() and values.max() <= y.max()


def test_threads_and_row_order_do_not_matter():
    X, y = wave(90, 2)
    settings = settings_for(reduction=Regression((Pinball(0.3), Pinball(0.6)), 2))
    order = np.random.default_rng(0).permutation(90)
    one = train_cell(task_of(X, y), settings)
    same_cells(train_cell(task_of(X[order], y[order]), settings, n_threads=3), one)


def test_one_target_given_as_a_column_is_one_target():
    X, y = wave(60)
    settings = settings_for(reduction=quantiles(*LEVELS))
    flat, column = (train_cell(task_of(X, target), settings) for target in (y, y[:, None]))
    np.testing.assert_array_equal(flat.functions.values(X), column.functions.values(X))


def test_folds_of_a_regression_are_those_of_the_rows_whatever_the_targets():
    X, y = wave(50, 2)
    settings = settings_for()
    folds = [make_folds(task_of(X, target).rows, settings.n_folds, stratify=False) for target in (y, y[:, 0], -y)]
    assert len({rows.ends for rows in folds}) == 1
    for rows in folds[1:]:
        np.testing.assert_array_equal(rows.X, folds[0].X)


@pytest.mark.parametrize("refit", ["combine", "retrain", "blend"])
@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_equal_targets_give_a_constant_and_others_are_trained_on(n, refit):
    X, y = wave(n, 2)
    y[:, 0] = 3.0
    settings = CellSettings(reduction=Regression((Pinball(0.5),), 2), grid=Grid(n_widths=3, n_lams=3), refit=refit)
    trained = train_cell(task_of(X, y), settings)
    values = trained.functions.values(X)
    assert (values[:, 0] == 3.0).all()
    assert ((values[:, 1] >= y[:, 1].min()) & (values[:, 1] <= y[:, 1].max())).all()


@pytest.mark.parametrize("refit", ["combine", "retrain", "blend"])
def test_different_targets_of_equal_rows_give_their_quantile(refit):
    X, y = np.ones((9, 2)), np.arange(9.0)
    settings = CellSettings(reduction=quantiles(0.25, 0.5), grid=Grid(n_widths=3, n_lams=3), refit=refit)
    trained = train_cell(task_of(X, y), settings)
    np.testing.assert_allclose(trained.functions.values(X[:1].astype(np.float32)), [[2, 4]], atol=0.5)
    assert np.isnan(trained.out_of_fold.scores).all()
