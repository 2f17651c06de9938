"""Prediction: every row from its own cell, whatever other rows are asked for with it."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
import reference
from cells import coefficients, support_vectors
from single import svc

from localsvm import Grid
from localsvm.data import toy_mixture
from localsvm.model import predict, predict_scores

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

KINDS = {
    "voronoi": {"cell_size": 60},
    "chunks": {"partition": "chunks", "cell_size": 60},
    "overlap": {"partition": "overlap", "cell_size": 60},
    "radius": {"partition": "radius", "cell_radius": 0.2},
    "none": {"partition": "none"},
    "laplace": {"cell_size": 60, "kernel": "laplace"},
    "manhattan": {"cell_size": 60, "kernel": "manhattan"},
    "quantile": {"cell_size": 60, "scaling": "quantile"},
}


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    X, y = toy_mixture(400, 3, random_state=0)
    options = {"grid": Grid(n_widths=3, n_lams=3), "scaling": "minmax", **KINDS[request.param]}
    return svc(**options).fit(X, y)


@pytest.fixture(scope="module")
def points():
    return toy_mixture(333, 3, random_state=1)[0]


def test_values_are_those_of_the_reference_in_the_row_s_own_cell(fitted, points):
    model = fitted.model_
    rows = model.scaling.apply(points)
    labels = model.partition.assign(rows)
    values = fitted.decision_function(points)
    everywhere = np.empty((len(points), len(model.cells)))
    reach = np.empty(len(model.cells))
    for j, cell in enumerate(model.cells):
        beta = coefficients(cell).astype(np.float64)
        everywhere[:, j] = (
            reference.decision_values(rows, support_vectors(cell), beta, cell.functions.kernel, *cell.width)
            if len(beta)
            else cell.functions.constants[0]
        )
        reach[j] = np.abs(beta).sum()
    averaged = fitted.partition == "chunks"
    expected = everywhere.mean(axis=1) if averaged else everywhere[np.arange(len(points)), labels]
    allowed = 1e-5 * (reach.mean() if averaged else reach[labels]) + 1e-6
    assert (np.abs(values - expected) <= allowed).all()


def test_every_row_alone_has_the_value_it_has_among_others(fitted, points):
    together = fitted.decision_function(points)
    one_by_one = np.concatenate([fitted.decision_function(points[i : i + 1]) for i in range(len(points))])
    np.testing.assert_array_equal(one_by_one, together)


def test_rows_keep_their_order(fitted, points):
    order = np.random.default_rng(0).permutation(len(points))
    np.testing.assert_array_equal(fitted.decision_function(points[order]), fitted.decision_function(points)[order])


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_the_number_of_threads_does_not_matter(fitted, points, n_jobs):
    many = np.tile(points, (40, 1))
    values = predict_scores(fitted.model_, many, n_jobs)[:, 0]
    np.testing.assert_array_equal(values, np.tile(fitted.decision_function(points), 40))


@pytest.mark.parametrize(("grouped", "evaluated"), [(1, 1), (50, 7), (100, 1000), (333, 333)])
def test_the_size_of_blocks_does_not_matter(fitted, points, monkeypatch, grouped, evaluated):
    expected = fitted.decision_function(points)
    monkeypatch.setattr(predict, "_GROUP_VALUES", grouped * points.shape[1])
    monkeypatch.setattr(predict, "BLOCK_ROWS", evaluated)
    for n_threads in (1, 3):
        np.testing.assert_array_equal(predict_scores(fitted.model_, points, n_threads)[:, 0], expected)


def test_neither_precision_nor_layout_matter(fitted, points):
    expected = fitted.decision_function(points)
    for same in (points.astype(np.float64), np.asfortranarray(points), np.repeat(points, 2, axis=0)[::2]):
        np.testing.assert_array_equal(fitted.decision_function(same), expected)


def test_a_pickled_model_predicts_the_same_bits(fitted, points):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(points), fitted.decision_function(points))
    assert again.n_cells_ == fitted.n_cells_


@pytest.mark.parametrize("far", [1e3, 1e15, 1e19, 1e30, 3e38, 1e300])
def test_rows_far_outside_have_a_finite_value(fitted, far):
    X = far * np.array([[1.0, 0, 0], [-1, 1, -1], [0, 0, 1]])
    values = fitted.decision_function(X)
    assert np.isfinite(values).all()
    assert np.isin(fitted.predict(X), fitted.classes_).all()


def test_the_training_rows_are_recognised():
    X = np.arange(200, dtype=np.float64)[:, None]
    y = (np.arange(200) // 10) % 2
    clf = svc(cell_size=50, grid=Grid(widths=[0.03], lams=[1e-5])).fit(X, y)
    assert clf.score(X, y) > 0.98


def test_no_rows_are_refused_as_scikit_learn_demands(fitted):
    with pytest.raises(ValueError, match="0 sample"):
        fitted.predict(np.zeros((0, 3)))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_no_rows_have_no_values(fitted, n_threads):
    assert predict_scores(fitted.model_, np.zeros((0, 3)), n_threads).shape == (0, 1)


# ---------------------------------------------------------------------------------- several voters


@dataclass(frozen=True)
class Neighbours:
    """Cells of which the nearest two predict a row, right of 0; left of it only the nearest does."""

    centers: np.ndarray
    radii: np.ndarray

    def _nearest(self, X, count):
        squared = np.square(X[:, None, :] - self.centers[None, :, :]).sum(axis=2)
        return np.argsort(squared, axis=1, kind="stable")[:, :count]

    def assign(self, X):
        return self._nearest(X, 1)[:, 0]

    def voters(self, X):
        votes = np.zeros((len(X), len(self.centers)), dtype=bool)
        np.put_along_axis(votes, self._nearest(X, 2), True, axis=1)
        nearest = np.zeros_like(votes)
        np.put_along_axis(nearest, self._nearest(X, 1), True, axis=1)
        return np.where(X[:, :1] > 0, votes, nearest)


def test_the_mean_of_those_cells_counts_that_vote(points):
    X, y = toy_mixture(400, 3, random_state=0)
    mine = Neighbours(X[:5].copy(), np.ones(5))
    clf = svc(partition=mine, scaling=None, grid=Grid(n_widths=3, n_lams=3)).fit(X, y)
    of_cells = np.stack(
        [
            predict_scores(replace(clf.model_, partition=OnlyOne(mine.centers, mine.radii, j)), points)[:, 0]
            for j in range(5)
        ],
        axis=1,
    )
    voters = mine.voters(points)
    assert set(voters.sum(axis=1)) == {1, 2}
    expected = np.where(voters, of_cells, 0).sum(axis=1) / voters.sum(axis=1)
    np.testing.assert_array_equal(clf.decision_function(points), expected)


@dataclass(frozen=True)
class OnlyOne:
    """Every row is predicted by the same cell."""

    centers: np.ndarray
    radii: np.ndarray
    cell: int

    def assign(self, X):
        return np.full(len(X), self.cell)


def test_apply_names_the_cell_that_predicts(fitted, points):
    cells = fitted.apply(points)
    if hasattr(fitted.model_.partition, "voters"):  # all chunks predict
        assert set(cells) <= set(range(fitted.n_cells_))
        return
    scaled = fitted.model_.scaling.apply(points)
    scores = predict_scores(fitted.model_, points)
    for cell in np.unique(cells):
        here = cells == cell
        np.testing.assert_allclose(predict.cell_scores(fitted.model_, cell, scaled[here]), scores[here], atol=1e-6)
