"""Test results by cell, and the distinguishing features of cells."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from partitions import Halves

from localsvm import LocalSVC, LocalSVR
from localsvm.data import toy_mixture
from localsvm.evaluation import Evaluator
from localsvm.evaluation.places import Places

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


def evaluate(estimator, X, y, weight=None):
    evaluator = Evaluator(estimator)
    evaluator.add(X, y, weight)
    return evaluator.result()


@pytest.fixture(scope="module")
def fitted():
    X, y = toy_mixture(2500, 3, random_state=0)
    return LocalSVC(cell_size=60, grid=2).fit(X[:500], y[:500]), X[500:], y[500:]


def test_losses_by_cell_are_means_over_the_rows_of_the_cell(fitted):
    clf, X, y = fitted
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    cells = evaluate(clf, X, y, weight).cells
    owner, wrong = clf.apply(X), clf.predict(X) != y
    for number in range(clf.n_cells_):
        here = (owner == number) & (weight > 0)
        assert cells.n_rows[number] == here.sum()
        if here.any():
            assert cells.loss[number] == pytest.approx(np.average(wrong[here], weights=weight[here]))
            expected = [weight[here & (y == label)].sum() for label in clf.classes_]
            np.testing.assert_allclose(cells.classes[number], expected)
        else:
            assert cells.loss[number] is None


def test_a_single_bad_row_does_not_make_a_cell_the_worst():
    rng = np.random.default_rng(0)
    X = np.repeat([0.0, 10.0, 20.0], 100)[:, None] + rng.uniform(size=(300, 1))
    model = LocalSVR(cell_size=100, grid=2).fit(X, X[:, 0])
    assert model.n_cells_ == 3
    left, middle, right = model.apply([[0.5], [10.5], [20.5]])
    off = np.concatenate([np.full(100, 1.0), np.zeros(100), [1.5]])
    worst = evaluate(model, X[:201], model.predict(X[:201]) + off).worst_cells
    assert [cell.cell for cell in worst] == [left, right, middle]
    assert worst[1].loss > worst[0].loss


def test_a_worst_cell_has_its_test_and_training_results(fitted):
    clf, X, y = fitted
    result = evaluate(clf, X, y)
    for cell in result.worst_cells:
        record = clf.cells_[cell.cell]
        assert (cell.size, cell.radius, cell.support_vectors) == (
            record["size"],
            record["radius"],
            record["support_vectors"],
        )
        assert cell.loss == result.cells.loss[cell.cell]
        assert cell.n_rows == result.cells.n_rows[cell.cell]
    json.dumps(asdict(result), allow_nan=False)
    assert "cells" not in result.summary()


def test_averaged_cells_have_no_results_by_cell():
    X, y = toy_mixture(600, 3, random_state=0)
    clf = LocalSVC(partition="chunks", cell_size=100, grid=2).fit(X[:300], y[:300])
    result = evaluate(clf, X[300:], y[300:])
    assert result.cells is None
    assert result.worst_cells == ()
    assert result.headline.value == pytest.approx(np.mean(clf.predict(X[300:]) != y[300:]))


def test_a_cell_without_test_rows_is_not_among_the_worst():
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    clf = LocalSVC(partition=Halves(), scaling=None, grid=2).fit(X, X[:, 1] > 0)
    result = evaluate(clf, X, X[:, 1] > 0)
    assert result.cells.n_rows[2] == 0
    assert 2 not in [cell.cell for cell in result.worst_cells]


def test_distinguishing_features_are_in_units_of_the_input():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"height": rng.normal(2000, 1, size=600), "slope": rng.normal(size=600)})
    frame.loc[:39, "height"] = 9000 + rng.normal(size=40)
    frame["wood"] = np.where(np.arange(600) < 40, "pine", "oak")
    frame.loc[50:55, "slope"] = np.nan
    model = LocalSVR(cell_size=60, grid=2, missing="impute").fit(frame, frame["height"])
    high = int(model.apply(frame.iloc[:1])[0])
    place = Places(model).of(high)
    assert "wood = pine" in place
    (height,) = (phrase for phrase in place if phrase.startswith("height"))
    assert height.endswith("(high)")
    assert float(height.split()[1].replace(",", "")) == pytest.approx(9000, rel=0.01)


def test_a_single_cell_has_no_distinguishing_features():
    X, y = toy_mixture(100, 2, random_state=0)
    assert Places(LocalSVC(partition="none", grid=2).fit(X, y)).of(0) == ()
