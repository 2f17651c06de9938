"""Cells of one class, of two samples, of identical rows: all that a partition of real data can produce."""

import numpy as np
import pytest
import reference
from cells import (
    cell_values,
    settings_for,
    task_of,
    toy_task,
)

from localsvm.cell import CellSettings, Grid, train_cell
from localsvm.cell.grid import median_distance
from localsvm.cell.select import EQUAL_RISK
from localsvm.data import toy_mixture

DEFAULTS = {
    "default": CellSettings(),
    "laplace": CellSettings(kernel="laplace"),
    "manhattan": CellSettings(kernel="manhattan"),
    "retrain": CellSettings(refit="retrain"),
    "racing": CellSettings(search="racing"),
    "paper": CellSettings(grid=Grid.paper()),
    "liquidsvm": CellSettings(grid=Grid.liquidsvm()),
}
every_setting = pytest.mark.parametrize("settings", DEFAULTS.values(), ids=DEFAULTS.keys())


@every_setting
@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_cell_of_one_class_is_the_constant_of_that_class(settings, label, n):
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    trained = train_cell(task_of(X, np.full(n, label)), settings)
    np.testing.assert_array_equal(cell_values(trained, X), np.full(n, label))
    assert trained.risk == 0
    assert trained.edge is None
    assert trained.certificates.n_unconverged == 0


@every_setting
@pytest.mark.parametrize(("X", "y"), [([[0], [1]], [1, -1]), ([[0], [1], [5]], [1, -1, 1])])
def test_two_and_three_samples_are_trained_on(settings, X, y):
    trained = train_cell(task_of(X, y, radius=1.0), settings)
    f = cell_values(trained, np.asarray(X, dtype=np.float32))
    assert np.isfinite(f).all()
    assert trained.certificates.gap.shape[2] == len(X)
    assert 0 <= trained.risk <= 1


def test_two_samples_retrained_are_separated():
    settings = CellSettings(grid=Grid(widths=[0.5], lams=[1e-3]), refit="retrain")
    trained = train_cell(task_of([[0], [1]], [1, -1]), settings)
    f = cell_values(trained, np.array([[0], [1]], dtype=np.float32))
    assert f[0] > 0 > f[1]


@every_setting
@pytest.mark.parametrize("radius", [0.0, 1.0])
def test_identical_rows_of_both_classes_give_the_sign_of_the_majority(settings, radius):
    X = np.ones((9, 3), dtype=np.float32)
    y = np.array([1, 1, 1, 1, 1, 1, -1, -1, -1.0])
    for sign in (1.0, -1.0):
        trained = train_cell(task_of(X, sign * y, radius=radius), settings)
        assert np.sign(cell_values(trained, X[:1])) == sign
        assert trained.n_samples == 2


@every_setting
def test_two_distinct_points_with_noisy_labels_give_each_its_majority(settings):
    X = np.repeat(np.array([[0.0], [1.0]], dtype=np.float32), 10, axis=0)
    y = np.where(np.arange(20) < 10, 1.0, -1.0)
    y[[0, 10]] *= -1
    trained = train_cell(task_of(X, y, radius=0.5), settings)
    assert np.isfinite(cell_values(trained, X)).all()
    if settings.refit == "retrain":
        np.testing.assert_array_equal(np.sign(cell_values(trained, X[[0, -1]])), [1, -1])


@every_setting
def test_a_rare_class_of_one_sample_does_not_break_the_folds(settings):
    X, _ = toy_mixture(40, 2, random_state=12)
    y = np.ones(40)
    y[3] = -1
    trained = train_cell(task_of(X, y), settings)
    assert np.isfinite(cell_values(trained, X)).all()
    assert trained.risk <= 1 / 40 + EQUAL_RISK


@pytest.mark.parametrize("n_folds", [2, 5, 100])
def test_more_folds_than_samples_is_leave_one_out(n_folds):
    task = toy_task(12)
    trained = train_cell(task, settings_for(n_folds=n_folds))
    assert trained.certificates.gap.shape[2] == min(n_folds, len(task.rows.y))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_tiny_and_huge_features_differ_only_in_their_unit(scale):
    X, y = toy_mixture(60, 2, random_state=13)
    trained = train_cell(task_of(X * np.float32(scale), y, radius=scale), CellSettings())
    f = cell_values(trained, task_of(X * np.float32(scale), y).rows.X)
    assert np.isfinite(f).all()
    assert trained.risk < 0.5


def test_the_unit_of_the_default_grid_is_a_typical_distance():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(500, 6)).astype(np.float32)
    euclidean, manhattan = np.sqrt(reference.squared_distances(X, X)), reference.manhattan_distances(X, X)
    for kernel, distances in (("gauss", euclidean), ("laplace", euclidean), ("manhattan", manhattan)):
        assert median_distance(X, kernel) == pytest.approx(np.median(distances), rel=0.1)
        assert median_distance(np.ones((5, 2), dtype=np.float32), kernel) == 1.0
        assert median_distance(np.float32([[0.0], [3.0]]), kernel) == 3.0
