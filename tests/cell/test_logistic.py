"""Probabilities of classes in a cell, compared with Newton's method in plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from cells import cell_values, task_of
from reference import kernel_matrix

from localsvm.cell import CellSettings, Grid, train_cell
from localsvm.cell.folds import make_folds
from localsvm.tasks import Probabilities
from localsvm.tasks.losses import Logistic

WIDTH, LAMS = 1.5, (0.1, 0.02, 0.004)
TIGHT = Logistic(tolerance=1e-7)


def classes(n, n_classes, seed=0):
    """Rows of classes that overlap, the last class rarer than the others; labels -1 and 1 of two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).astype(np.float32)
    scores = X @ rng.normal(size=(2, n_classes)) + rng.gumbel(size=(n, n_classes)) - 0.5 * np.arange(n_classes)
    y = scores.argmax(axis=1)
    return X, np.where(y == 1, 1.0, -1.0) if n_classes == 2 else y.astype(float)


def task_for(X, y, n_classes, weight=None):
    task = task_of(X, y, weight)
    mass = np.bincount(np.maximum(task.rows.y, 0).astype(int), task.rows.weight, n_classes)
    return task, Probabilities(tuple((mass / mass.sum()).tolist()), TIGHT)


def settings_for(reduction, **changes):
    return CellSettings(reduction=reduction, grid=Grid(widths=[WIDTH], lams=LAMS), **changes)


def least_squares(K, target, weight, lam, train):
    """Minimize lam ||f||^2 + 1/W sum w (target - f)^2 over the rows of `train`; return the values of f at all rows."""
    c = lam * weight[train].sum()
    beta = np.linalg.solve(K[np.ix_(train, train)] + np.diag(c / weight[train]), target[train])
    return K[:, train] @ beta


def newton_twin(X, indicator, weight, ends, constants):
    """Return out-of-fold scores after least squares and Newton steps with a line search, and the last lam.

    Both are for all classes together. The functions of every fold are evaluated at all rows, and go their own way.
    """
    K = kernel_matrix("gauss", WIDTH, X, X)
    folds = np.split(np.arange(len(X)), ends[:-1])
    two = indicator.shape[1] == 1

    def solutions(target, weights, lam):
        """Solve every class and fold with targets and weights of their own (fold, row, class): values at all rows."""
        found = np.empty(target.shape)
        for fold, of_fold in enumerate(folds):
            train = np.setdiff1d(np.arange(len(X)), of_fold)
            for c in range(target.shape[2]):
                z, v = target[fold, :, c], weights[fold, :, c]
                offset = v[train] @ z[train] / v[train].sum()
                found[fold, :, c] = offset + least_squares(K, z - offset, v, lam, train)
        return found

    def out_of_fold(values):
        found = np.empty(values.shape[1:])
        for fold, of_fold in enumerate(folds):
            found[of_fold] = values[fold, of_fold]
        return found

    def log_loss(values):
        scores = out_of_fold(values)
        if two:
            return float(weight @ np.logaddexp(0, np.where(indicator[:, 0] > 0, -scores[:, 0], scores[:, 0])))
        total = np.log(np.exp(scores).sum(axis=1))
        return float(weight @ (total - (scores * indicator).sum(axis=1)))

    def probabilities(scores):
        if two:
            return 1 / (1 + np.exp(-scores))
        return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)

    rate = weight @ indicator / weight.sum()
    # Least squares has the offset of all rows, and as for other tasks with a common width, every class its own lam.
    shifted = np.tile(indicator - rate, (len(folds), 1, 1))
    p = np.empty(shifted.shape)
    for c in range(shifted.shape[2]):
        paths = [squares_twin(K, shifted[0, :, c], weight, lam, folds) + rate[c] for lam in LAMS]
        losses = [weight @ np.square(indicator[:, c] - out_of_fold(f[..., None])[:, 0]) for f in paths]
        p[..., c] = paths[int(np.argmin(losses))]
    least = np.minimum(0.02, np.minimum(rate, 1 - rate) / 4)
    p = np.clip(p, least, 1 - least)
    scores = np.tile(constants, (len(folds), len(X), 1))
    for number in range(5):
        variance = p * (1 - p)
        score = np.log(p / (1 - p)) if two else np.log(p)
        steps = [solutions(score + (indicator - p) / variance, weight[:, None] * variance, lam) for lam in LAMS]
        lam = int(np.argmin([log_loss(found) for found in steps]))
        lengths = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2) if number else (0.5, 0.75, 1, 1.25, 1.5, 2)
        line = [scores + length * (steps[lam] - scores) for length in lengths]
        scores = min(line, key=log_loss)
        p = np.clip(probabilities(scores), 1e-3, 1 - 1e-3)
    return out_of_fold(scores), lam


def squares_twin(K, target, weight, lam, folds):
    """Return the least-squares values of every fold's solution at all rows (fold, row)."""
    rows = np.arange(len(K))
    return np.stack([least_squares(K, target, weight, lam, np.setdiff1d(rows, fold)) for fold in folds])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_newtons_method(n_classes):
    X, y = classes(120, n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    task, reduction = task_for(X, y, n_classes, weight)
    cell = train_cell(task, settings_for(reduction))
    rows = make_folds(task.rows, 5, stratify=True)
    expected, lam = newton_twin(
        rows.X, reduction.indicators(rows.y), rows.weight, rows.ends, reduction.constants(rows.y, rows.weight)
    )
    np.testing.assert_allclose(cell.out_of_fold.scores, expected, atol=2e-3)
    assert (cell.lam == LAMS[lam]).all()
    assert cell.risk == pytest.approx(rows.weight @ reduction.risk(rows.y, expected) / rows.weight.sum(), abs=1e-4)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_probabilities_of_new_rows_are_better_than_rates(n_classes, refit):
    X, y = classes(600, n_classes)
    task, reduction = task_for(X[:300], y[:300], n_classes)
    cell = train_cell(task, settings_for(reduction, refit=refit))
    losses = reduction.risk(y[300:], cell.functions.values(X[300:]))
    constants = reduction.constants(y[:300], np.ones(300))
    assert losses.mean() < reduction.risk(y[300:], np.tile(constants, (300, 1))).mean() - 0.05


def test_out_of_fold_log_loss_is_that_of_new_rows():
    rng = np.random.default_rng(1)
    centers = rng.normal(scale=2.0, size=(10, 10))
    y = rng.integers(0, 10, size=3600)
    X = (centers[y] + rng.normal(size=(len(y), 10))).astype(np.float32)
    task, reduction = task_for(X[:600], y[:600].astype(float), 10)
    grid = Grid(widths=[6.0], lams=[1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
    cell = train_cell(task, CellSettings(reduction=reduction, grid=grid))
    of_new_rows = reduction.risk(y[600:].astype(float), cell.functions.values(X[600:])).mean()
    # Working targets that depend on the labels of validation rows end at 0.04 out of fold, and 0.12.
    assert cell.risk == pytest.approx(of_new_rows, rel=0.25)


@pytest.mark.parametrize("n_classes", [2, 8])
def test_labels_that_are_noise_have_the_log_loss_of_the_rates(n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, size=600)
    labels = np.where(y == 1, 1.0, -1.0) if n_classes == 2 else y.astype(float)
    task, reduction = task_for(rng.normal(size=(600, 5)).astype(np.float32), labels, n_classes)
    cell = train_cell(task, CellSettings(reduction=reduction, grid=Grid(widths=[1.0], lams=[1e-1, 1e-2, 1e-3])))
    of_rates = reduction.risk(task.rows.y, np.tile(reduction.constants(task.rows.y, task.rows.weight), (600, 1)))
    assert cell.risk == pytest.approx(of_rates.mean(), rel=0.02)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_of_classes_that_do_not_overlap_are_nearly_certain(n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, size=400)
    X = (4.0 * np.eye(n_classes)[y] + 0.3 * rng.normal(size=(400, n_classes))).astype(np.float32)
    labels = np.where(y == 1, 1.0, -1.0) if n_classes == 2 else y.astype(float)
    task, reduction = task_for(X, labels, n_classes)
    assert train_cell(task, settings_for(reduction)).risk < 0.0015  # steps of length 1 end at .0038 and .0020


def test_retrained_scores_solve_the_last_step_on_all_samples():
    X, y = classes(100, 2)
    task, reduction = task_for(X, y, 2)
    combined, retrained = (train_cell(task, settings_for(reduction, refit=refit)) for refit in ("combine", "retrain"))
    np.testing.assert_array_equal(combined.out_of_fold.scores, retrained.out_of_fold.scores)
    assert retrained.certificates.refit_gap < 1e-4
    # An average over folds is close to the solution on all samples, and not equal to it.
    difference = np.abs(cell_values(combined, X) - cell_values(retrained, X)).max()
    assert 0 < difference < 0.5


def test_a_class_that_is_absent_from_a_cell_has_a_small_probability():
    X, y = classes(200, 3)
    task, reduction = task_for(X, y, 3)
    present = replace(task, rows=task_of(X[y < 2], y[y < 2]).rows)
    cell = train_cell(present, settings_for(reduction))
    found = reduction.probabilities(cell.functions.values(X))
    assert (found[:, 2] > 0).all() and found[:, 2].max() < 0.02
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_cell_of_one_class_or_of_one_row_has_its_rates():
    reduction = Probabilities((0.9, 0.1))
    one_class = train_cell(task_of([[0.0], [1.0], [2.0]], [-1.0, -1.0, -1.0]), settings_for(reduction))
    assert reduction.probabilities(one_class.functions.constants[None])[0, 1] == pytest.approx(0.1 / 4)
    one_row = train_cell(task_of([[0.0]] * 4, [-1.0, 1.0, 1.0, 1.0]), settings_for(reduction))
    assert reduction.probabilities(one_row.functions.constants[None])[0, 1] == pytest.approx(3.1 / 5)


def test_exchanged_classes_have_opposite_log_odds():
    X, y = classes(150, 2)
    task, reduction = task_for(X, y, 2)
    other, opposite = task_for(X, -y, 2)
    cell, exchanged = train_cell(task, settings_for(reduction)), train_cell(other, settings_for(opposite))
    np.testing.assert_allclose(cell_values(cell, X), -cell_values(exchanged, X), atol=2e-3)
