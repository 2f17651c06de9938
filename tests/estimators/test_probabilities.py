"""predict_proba: the decision stays, the numbers are probabilities, and near the true ones where these are known."""

import pickle

import numpy as np
import pytest
from cells import blobs
from partitions import Halves
from scipy.special import softmax
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from localsvm import Grid, LocalSVC
from localsvm.data import toy_mixture, toy_posterior

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]

SMALL = Grid(n_widths=4, n_lams=4)
KINDS = {
    "one cell": {},
    "voronoi": {"cell_size": 60},
    "chunks": {"cell_size": 60, "partition": "chunks"},
    "overlap": {"cell_size": 60, "partition": "overlap"},
    "radius": {"partition": "radius", "cell_radius": 0.3},
    "retrain, racing": {"cell_size": 60, "refit": "retrain", "search": "racing"},
    "one split": {"cell_size": 60, "n_folds": 1},
}
TASKS = {
    "two classes": (2, {}),
    "two classes, squares": (2, {"loss": "squared"}),
    "two classes, balanced": (2, {"class_weight": "balanced"}),
    "two classes, f1": (2, {"objective": "f1"}),
    "two classes, few false alarms": (2, {"false_alarm": 0.1}),
    "two classes, weights": (2, {"positive_weights": [0.5, 1, 2]}),
    "pairs": (4, {}),
    "pairs, class weights": (4, {"class_weight": {"ash": 5.0, "cedar": 0.2}}),
    "pairs, squares": (4, {"loss": "squared"}),
    "one against the rest": (4, {"multiclass": "ovr"}),
    "one against the rest, squares": (4, {"multiclass": "ovr", "loss": "squared"}),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_task = pytest.mark.parametrize("task", TASKS)


def fit(task, kind="one cell", **parameters):
    n_classes, options = TASKS[task]
    X, y = blobs(300, n_classes, d=3, noise=0.9)
    names = np.array(["ash", "birch", "cedar", "elm"])
    return LocalSVC(grid=SMALL, **{**options, **KINDS[kind], **parameters}).fit(X, names[y.astype(int)])


@pytest.fixture(scope="module")
def points():
    X, _ = blobs(300, 4, d=3, noise=2.0, seed=1)
    return np.concatenate([X, np.float32([[1e3, 0, 0], [0, -1e20, 0]])])


@every_kind
@every_task
def test_the_most_probable_class_is_predicted_and_probabilities_sum_to_one(points, task, kind):
    clf = fit(task, kind)
    p = clf.predict_proba(points)
    assert p.shape == (len(points), TASKS[task][0])
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(points))
    np.testing.assert_array_equal(clf.predict_log_proba(points), np.log(p))


@pytest.mark.parametrize("task", ["two classes", "two classes, f1", "two classes, squares"])
def test_in_a_cell_larger_decision_values_are_more_probable(points, task):
    clf = fit(task)
    order = np.argsort(clf.decision_function(points))
    assert (np.diff(clf.predict_proba(points)[order, 1]) >= -1e-12).all()


@pytest.mark.parametrize("kind", ["one cell", "voronoi", "chunks", "overlap"])
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_two_classes_have_about_the_probabilities_of_the_toy_problem(kind, loss):
    X, y = toy_mixture(1500, 2, random_state=0)
    options = KINDS[kind] | ({"cell_size": 400} if kind != "one cell" else {})
    P, truth = toy_mixture(4000, 2, random_state=1)
    p = LocalSVC(grid=SMALL, loss=loss, **options).fit(X, y).predict_proba(P)[:, 1]
    eta = toy_posterior(P)
    assert np.abs(p - eta).mean() < 0.1
    best, ignorant = log_loss(truth, eta), log_loss(truth, np.full(len(truth), (y > 0).mean()))
    assert log_loss(truth, p) - best < 0.25 * (ignorant - best)
    for begin in np.arange(0.1, 0.9, 0.2):
        near = (p >= begin) & (p < begin + 0.2)
        if near.sum() > 300:
            assert abs((truth[near] > 0).mean() - p[near].mean()) < 0.12


@pytest.mark.parametrize("kind", ["one cell", "voronoi"])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_classes_have_about_the_probabilities_of_their_gaussians(kind, multiclass):
    centers, noise = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]), 0.9
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=3000)
    X = centers[y] + noise * rng.normal(size=(3000, 2))
    truth = softmax(-np.square(X[:, None] - centers).sum(axis=2) / (2 * noise**2), axis=1)
    options = {"cell_size": 400} if kind == "voronoi" else {}
    clf = LocalSVC(grid=SMALL, multiclass=multiclass, **options).fit(X[:1200], y[:1200])
    p = clf.predict_proba(X[1200:])
    assert np.abs(p - truth[1200:]).mean() < 0.1
    best, ignorant = log_loss(y[1200:], truth[1200:]), np.log(3)
    assert log_loss(y[1200:], p) - best < 0.3 * (ignorant - best)


@pytest.mark.parametrize("task", ["two classes", "two classes, f1", "pairs", "one against the rest"])
@every_kind
def test_order_of_rows_threads_and_pickling_change_no_bit(points, task, kind):
    n_classes, options = TASKS[task]
    X, y = blobs(200, n_classes, d=3, noise=0.9)
    order = np.random.default_rng(0).permutation(200)
    one = LocalSVC(grid=SMALL, n_jobs=1, **{**options, **KINDS[kind]}).fit(X, y)
    two = LocalSVC(grid=SMALL, n_jobs=3, **{**options, **KINDS[kind]}).fit(X[order], y[order])
    p = one.predict_proba(points)
    np.testing.assert_array_equal(two.predict_proba(points), p)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict_proba(points), p)
    np.testing.assert_array_equal(one.predict_proba(points[::-1])[::-1], p)


@pytest.mark.parametrize("task", ["two classes", "pairs"])
def test_an_integer_weight_is_a_repetition(points, task):
    X, y = blobs(200, TASKS[task][0], d=3, noise=0.9)
    counts = np.random.default_rng(1).integers(0, 4, size=200)
    weighted = LocalSVC(grid=SMALL).fit(X, y, sample_weight=counts).predict_proba(points)
    repeated = LocalSVC(grid=SMALL).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict_proba(points)
    np.testing.assert_array_equal(weighted, repeated)


@every_task
def test_a_cell_without_rows_has_probabilities_too(points, task):
    clf = fit(task, partition=Halves(), scaling=None)
    clf.model_.partition.to_the_empty_one = True
    p = clf.predict_proba(points)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(points))
    assert ((p > 0) & (p < 1)).all()


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_class_that_a_cell_has_not_seen_is_not_impossible(multiclass):
    X = np.concatenate([np.linspace(0, 1, 120), np.linspace(5, 6, 120)])[:, None]
    y = np.concatenate([np.arange(120) % 2, 2 + np.arange(120) % 2])
    clf = LocalSVC(grid=SMALL, cell_size=130, multiclass=multiclass).fit(X, y)
    left = clf.predict_proba([[0.5]])[0]
    assert 0 < left[2:].max() < 0.05 < left[:2].min()


def test_two_rows_and_equal_rows_have_probabilities():
    for X, y in (([[0.0], [1.0]], [0, 1]), (np.ones((9, 2)), [0] * 6 + [1] * 3), (np.ones((9, 2)), [0, 1, 2] * 3)):
        clf = LocalSVC(grid=SMALL).fit(X, y)
        p = clf.predict_proba(X)
        np.testing.assert_array_equal(p.argmax(axis=1), clf.predict(X))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_probabilities_before_fit_are_an_error():
    for method in (LocalSVC().predict_proba, LocalSVC().predict_log_proba):
        with pytest.raises(NotFittedError, match="This LocalSVC instance is not fitted yet"):
            method([[1.0]])
