"""Recommendations appear for the models that need them, and only for these."""

from dataclasses import replace

import numpy as np
import pytest
from cells import blobs
from partitions import Halves
from single import svc, svr

from localsvm import Grid, LocalQuantileRegressor
from localsvm.data import toy_mixture
from localsvm.evaluation import Evaluator
from localsvm.report.recommendations import cv_risk, recommend, scaling_name

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


def titles(estimator, evaluation=None):
    return {item.title: item for item in recommend(estimator, evaluation)}


def evaluate(estimator, X, y):
    evaluator = Evaluator(estimator)
    evaluator.add(X, y)
    return evaluator.result()


def test_a_choice_at_the_edge_recommends_a_wider_grid():
    X, y = toy_mixture(300, 2, random_state=0)
    grid = Grid(n_widths=3, width=(1e-5, 0.1), n_lams=2)
    found = titles(svc(grid=grid, random_state=0).fit(X, y))["Hyper-parameters at the edge of the grid"]
    assert found.is_warning
    assert "grid=Grid(n_widths=4, n_lams=2, width=(1e-05, " in found.text


def test_warnings_come_first(models):
    for kind in ("two_classes", "quantiles", "hostile_classes"):
        flags = [item.is_warning for item in recommend(models(kind).estimator, models(kind).evaluation)]
        assert flags == sorted(flags, reverse=True)


def test_cells_with_a_single_class_are_counted():
    X = np.concatenate([np.linspace(0, 0.1, 60), np.linspace(1, 2, 60)])[:, None]
    y = np.concatenate([np.zeros(60), np.arange(60) % 2])
    clf = svc(cell_size=60, grid=2).fit(X, y)
    assert "1 of 2 cells" in titles(clf)["Cells with a single class"].text
    mixed = svc(cell_size=200, grid=2).fit(X, y)
    assert "Cells with a single class" not in titles(mixed)


def test_cells_with_a_single_target_value_are_named_as_such():
    X = np.concatenate([np.linspace(0, 0.1, 60), np.linspace(1, 2, 60)])[:, None]
    model = svr(cell_size=60, grid=2).fit(X, np.where(X[:, 0] < 1, 0.0, X[:, 0]))
    assert "Cells with a single target value" in titles(model)


def test_small_and_empty_cells_are_reported():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    clf = svc(partition=Halves(), scaling=None, grid=2).fit(X, X[:, 1] > 0)
    assert titles(clf)["Empty cells"].text.startswith("1 of 3 cells")
    assert "Very small cells" not in titles(clf)
    tiny = svc(cell_size=20, scaling=None, grid=2).fit(X, X[:, 1] > 0)
    assert titles(tiny)["Very small cells"].is_warning


def test_classes_that_occur_in_few_cells_are_named():
    X, y = blobs(3000, 13, noise=0.2)
    names = np.array([f"class {c}" for c in range(13)])[y.astype(int)]
    clf = svc(cell_size=60, grid=1, n_folds=2).fit(X, names)
    text = titles(clf)["Classes that occur in few cells"].text
    assert "class " in text
    assert "and 8 more" in text


@pytest.mark.parametrize(
    ("scaling", "name"), [("minmax", "Min-max"), ("standard", "Standard"), ("quantile", "Quantile")]
)
def test_an_automatic_scaling_is_recognized_by_its_values(scaling, name):
    X, y = toy_mixture(600, 3, random_state=0)
    clf = svc(cell_size=100, grid=2, scaling=scaling).fit(X, y)
    assert scaling_name(clf) == name
    clf.scaling = "auto"  # as if it had been selected
    assert scaling_name(clf) == name
    assert titles(clf)["Scaling"].text.startswith(name)


def test_chunks_and_many_support_vectors_are_reported(models):
    rng = np.random.default_rng(0)
    noise = svc(grid=2, random_state=0).fit(rng.normal(size=(200, 5)), rng.integers(0, 2, size=200))
    assert "Most rows are support vectors" in titles(noise)
    assert "Random chunks" in titles(models("chunks").estimator)
    assert "Random chunks" not in titles(noise)


def test_only_a_test_error_far_above_the_cross_validated_one_is_reported():
    X, y = toy_mixture(3000, 2, random_state=0)
    clf = svc(grid=3, random_state=0).fit(X[:600], y[:600])
    name = "Test error above the cross-validated error"
    assert name not in titles(clf, evaluate(clf, X[600:], y[600:]))
    assert name in titles(clf, evaluate(clf, X[600:], -y[600:]))


def test_unknown_labels_are_named():
    X, y = toy_mixture(400, 2, random_state=0)
    clf = svc(grid=2).fit(X[:200], y[:200])
    evaluation = evaluate(clf, X[200:], np.where(np.arange(200) < 5, 7, y[200:]))
    text = titles(clf, evaluation)["Unknown labels"].text
    assert text.startswith("5 of 200 test rows")
    assert "such as 7" in text


def test_poorly_calibrated_probabilities_are_reported():
    X, y = toy_mixture(4000, 2, random_state=0)
    model = svc(grid=3).fit(X[:1000], y[:1000])
    assert "Poorly calibrated probabilities" not in titles(model, evaluate(model, X[1000:], y[1000:]))
    assert "Poorly calibrated probabilities" in titles(model, evaluate(model, X[1000:], -y[1000:]))


def test_quantiles_off_their_level_are_reported():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(2000, 1)), rng.normal(size=2000)
    model = LocalQuantileRegressor(quantile=[0.25, 0.75], grid=2).fit(X[:1000], y[:1000])
    moved = titles(model, evaluate(model, X[1000:], y[1000:] + 1))["Quantiles off their level"]
    assert "at level 0.25" in moved.text
    assert "at level 0.75" in moved.text


def test_the_mean_risk_of_cells_is_weighted_by_their_rows(models):
    model = models("two_classes").estimator.model_
    risks, rows = [cell.risk for cell in model.cells], [cell.n_samples for cell in model.cells]
    assert cv_risk(model) == pytest.approx(np.average(risks, weights=rows))
    unknown = replace(model, cells=tuple(replace(cell, risk=np.nan) for cell in model.cells))
    assert np.isnan(cv_risk(unknown))


def test_a_test_error_of_11_8_is_noticed_where_10_4_was_promised():
    X, y = toy_mixture(3000, 2, random_state=0)
    clf = svc(loss="hinge", grid=3).fit(X[:2000], y[:2000])
    shifted = np.where(np.random.default_rng(0).random(1000) < 0.04, -y[2000:], y[2000:])
    wide = [np.concatenate([part] * 12) for part in (X[2000:], shifted)]
    found = titles(clf, evaluate(clf, *wide))
    text = found["Test error above the cross-validated error"].text
    assert f"the cross-validated error {100 * (1 - clf.cv_score_):.2f} %" in text
    assert "Test error above the cross-validated error" not in titles(clf, evaluate(clf, X[2000:], y[2000:]))


def test_probabilities_and_numbers_are_compared_with_what_they_promised():
    X = np.random.default_rng(0).uniform(size=(1500, 2))
    y = np.sin(6 * X[:, 0])
    reg = svr(members=1, grid=3).fit(X[:500], y[:500])
    noise = np.random.default_rng(1).normal(scale=0.5, size=1000)
    assert "Test RMSE above the cross-validated RMSE" in titles(reg, evaluate(reg, X[500:], y[500:] + noise))
    clf = svc(objective="log_loss", members=1, grid=3).fit(X[:500], y[:500] > 0)
    flipped = np.where(noise > 0.3, y[500:] <= 0, y[500:] > 0)
    assert "Test error above the cross-validated error" in titles(clf, evaluate(clf, X[500:], flipped))
