"""LocalSVC with more than two classes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cells import blobs, same_cells
from partitions import Halves
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from localsvm import Grid, InvalidData, LocalSVC
from localsvm.cell import CellSettings
from localsvm.fit.memory import _TASK_COPIES
from localsvm.tasks import OneVsOne, OneVsRest

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

SMALL = Grid(n_widths=3, n_lams=3)
K = 4
KINDS = {
    "one cell": {},
    "voronoi": {"cell_size": 60},
    "chunks": {"cell_size": 60, "partition": "chunks"},
    "overlap": {"cell_size": 60, "partition": "overlap"},
    "radius": {"partition": "radius", "cell_radius": 0.3},
    "retrain, racing": {"cell_size": 60, "refit": "retrain", "search": "racing"},
    "one split": {"cell_size": 60, "n_folds": 1},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_reduction = pytest.mark.parametrize("multiclass", ["ovo", "ovr"])


@pytest.fixture(scope="module")
def rows():
    X, y = blobs(300, K, d=3, noise=0.9)
    return X, y.astype(int)


@pytest.fixture(scope="module")
def points():
    X, _ = blobs(200, K, d=3, noise=2.0, seed=1)
    return np.concatenate([X, np.float32([[1e3, 0, 0], [0, -1e20, 0]])])


def fit(data, kind="one cell", weight=None, **parameters):
    options = {"grid": SMALL, "scaling": "minmax", "members": 1, **KINDS[kind], **parameters}
    return LocalSVC(**options).fit(*data, sample_weight=weight)


# ------------------------------------------------------------------------------------------- scores


@every_kind
@every_reduction
def test_the_class_of_the_largest_decision_value_is_predicted(rows, points, kind, multiclass):
    clf = fit(rows, kind, multiclass=multiclass)
    scores = clf.decision_function(points)
    assert scores.shape == (len(points), K)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(clf.predict(points), clf.classes_[scores.argmax(axis=1)])
    assert clf.score(*rows) > 0.8


@every_kind
def test_decision_values_of_pairs_are_between_minus_one_and_one_and_no_two_classes_win(rows, points, kind):
    scores = fit(rows, kind, loss="hinge").decision_function(points)
    assert (np.abs(scores) <= 1 + 1e-12).all()
    # What one class has against its rival, that one lacks: only the mean, a tenth, can lift both above zero.
    assert (np.sort(scores, axis=1)[:, -2] <= 0.1 + 1e-12).all()


@every_reduction
def test_the_accuracy_is_that_of_another_svm(multiclass):
    X, y = blobs(3400, 3, noise=1.1, seed=3)
    train, test = slice(0, 400), slice(400, None)
    grid = {"C": np.geomspace(0.1, 100, 4), "gamma": np.geomspace(0.03, 3, 4)}
    other = GridSearchCV(SVC(), grid, cv=3).fit(X[train], y[train])
    error, known = (
        1 - clf.score(X[test], y[test]) for clf in (fit((X[train], y[train]), multiclass=multiclass), other)
    )
    assert known < 0.3, "the other has learned it"
    assert error < known + 0.02


@every_reduction
def test_cells_are_as_accurate_as_one_svm(multiclass):
    X, y = blobs(3000, 5, noise=0.7, seed=4)
    train, test = slice(0, 1500), slice(1500, None)
    one, many = (
        fit((X[train], y[train]), multiclass=multiclass, cell_size=size).score(X[test], y[test]) for size in (2000, 300)
    )
    assert many > one - 0.03


# ------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["cat", "dog", "emu", "fox"]),
        np.array(["cat", "dog", "emu", "fox"], dtype=object),
        np.array([-2.0, 0.0, 2.0, 1e6]),
        np.array([-128, -1, 0, 127], dtype=np.int8),
        np.array([0, 1, 200, 2**63], dtype=np.uint64),
    ],
    ids=["str", "object", "float", "int8", "uint64"],
)
def test_labels_of_any_type_come_back_as_they_went_in(rows, labels):
    X, y = rows
    clf = fit((X, labels[y]))
    assert clf.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(clf.classes_, labels)
    predicted = clf.predict(X)
    assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(predicted, labels[fit(rows).predict(X)])


def test_labels_may_be_a_pandas_series_of_categories(rows):
    X, y = rows
    names = np.array(["a", "b", "c", "d"])
    predicted = fit((X, pd.Series(names[y], dtype="category"))).predict(X)
    np.testing.assert_array_equal(predicted, names[fit(rows).predict(X)])


@every_reduction
def test_labels_of_weight_zero_are_no_classes(rows, points, multiclass):
    X, y = rows
    extra = np.where(np.arange(len(y)) % 5 == 0, 2 * y + 1, 2 * y)
    weight = np.where(extra % 2 == 0, 1.0, 0.0)
    clf = fit((X, extra), weight=weight, multiclass=multiclass)
    assert clf.classes_.tolist() == [0, 2, 4, 6]
    present = weight > 0
    without = fit((X[present], extra[present]), multiclass=multiclass)
    np.testing.assert_array_equal(clf.decision_function(points), without.decision_function(points))


# ----------------------------------------------------------------------------------- what must not matter


def same_models(first, second, points):
    same_cells(first.model_.cells, second.model_.cells)
    np.testing.assert_array_equal(first.decision_function(points), second.decision_function(points))


@every_kind
@every_reduction
def test_threads_and_row_order_do_not_matter_bit_for_bit(rows, points, kind, multiclass):
    X, y = rows
    weight = np.random.default_rng(2).gamma(1.0, size=len(y))
    one = fit(rows, kind, weight, multiclass=multiclass, n_jobs=1)
    order = np.random.default_rng(0).permutation(len(y))
    for n_jobs in (2, 5):
        again = fit((X[order], y[order]), kind, weight[order], multiclass=multiclass, n_jobs=n_jobs)
        same_models(again, one, points)


@pytest.mark.parametrize("kind", ["one cell", "radius"])  # where cell_size does not count rows
@every_reduction
def test_an_integer_weight_is_a_repetition(rows, points, kind, multiclass):
    X, y = rows
    counts = np.random.default_rng(3).integers(0, 4, size=len(y))
    often = fit((np.repeat(X, counts, axis=0), np.repeat(y, counts)), kind, multiclass=multiclass)
    same_models(fit(rows, kind, counts, multiclass=multiclass), often, points)


@pytest.mark.parametrize(("multiclass", "reduction"), [("ovo", OneVsOne(K)), ("ovr", OneVsRest(K))])
def test_memory_does_not_matter_until_it_is_too_little(rows, points, multiclass, reduction):
    needed = CellSettings(reduction=reduction, grid=SMALL).bytes_needed(300, 3)
    model, task = 4 * 300 * (3 + reduction.columns_per_row), _TASK_COPIES * 4 * 300 * 3
    enough = needed.smallest + model + task
    expected = fit(rows, multiclass=multiclass, n_jobs=1)
    same_models(fit(rows, multiclass=multiclass, n_jobs=1, max_memory=enough), expected, points)
    with pytest.raises(InvalidData, match=r"training needs .* but max_memory allows"):
        fit(rows, multiclass=multiclass, n_jobs=1, max_memory=enough - 1)


@every_reduction
def test_a_pickled_classifier_predicts_the_same_bits(rows, points, multiclass):
    clf = fit(rows, "voronoi", multiclass=multiclass)
    same_models(pickle.loads(pickle.dumps(clf)), clf, points)


# -------------------------------------------------------------------------------------------- cells


@every_reduction
def test_every_cell_that_has_all_classes_is_an_svm_of_its_own(rows, points, multiclass):
    X, y = rows
    clf = fit(rows, cell_size=150, multiclass=multiclass)
    scaled, new = clf.model_.scaling.apply(X), clf.model_.scaling.apply(points)
    labels, of_new = clf.model_.partition.assign(scaled), clf.model_.partition.assign(new)
    compared = 0
    for cell in range(clf.n_cells_):
        mine, here = labels == cell, of_new == cell
        if len(set(y[mine])) == K and here.any():
            alone = fit((scaled[mine], y[mine]), partition="none", scaling=None, multiclass=multiclass)
            expected = alone.decision_function(new[here])
            np.testing.assert_array_equal(clf.decision_function(points)[here], expected)
            compared += 1
    assert compared > 0


@every_reduction
def test_cells_of_one_and_of_two_classes_predict_them(multiclass):
    X = np.linspace(0, 1, 600)[:, None]
    y = np.array(["left", "middle", "right"])[np.digitize(X[:, 0], [0.3, 0.6])]
    clf = LocalSVC(cell_size=40, grid=SMALL, multiclass=multiclass).fit(X, y)
    constant = [cell for cell in clf.model_.cells if cell.n_support == 0]
    assert len(constant) >= clf.n_cells_ - 4
    assert clf.score(X, y) > 0.99
    # Far away a cell still predicts from the classes it has.
    assert clf.predict([[-5.0], [5.0]]).tolist() == ["left", "right"]


@every_reduction
def test_a_class_of_one_sample_works(rows, points, multiclass):
    X, y = rows
    clf = fit((X, np.where(np.arange(len(y)) == 7, 99, y)), "voronoi", multiclass=multiclass)
    assert clf.classes_.tolist() == [0, 1, 2, 3, 99]
    scores = clf.decision_function(points)
    assert scores.shape == (len(points), 5) and np.isfinite(scores).all()
    assert clf.score(*rows) > 0.8


@every_reduction
def test_every_row_may_be_a_class(multiclass):
    X = np.arange(6.0)[:, None]
    clf = LocalSVC(grid=Grid(widths=[0.1], lams=[1e-3]), refit="retrain", multiclass=multiclass).fit(X, list("abcdef"))
    assert clf.predict(X).tolist() == list("abcdef")


@every_reduction
def test_many_classes_in_many_cells_are_separated(multiclass):
    X, y = blobs(2000, 25, noise=0.15)
    clf = fit((X[:1000], y[:1000]), cell_size=200, multiclass=multiclass)
    assert clf.score(X[1000:], y[1000:]) > 0.9


@every_reduction
@pytest.mark.parametrize("heavy", range(K))
def test_a_cell_without_rows_predicts_the_heaviest_class_of_all(rows, points, multiclass, heavy):
    clf = fit(rows, partition=Halves(), scaling=None, multiclass=multiclass, class_weight={heavy: 10.0})
    clf.model_.partition.to_the_empty_one = True
    assert (clf.predict(points) == heavy).all()


@every_reduction
def test_records_of_cells_have_one_width_and_a_lam_for_every_problem(rows, multiclass):
    (cell,) = fit(rows, multiclass=multiclass).cells_
    n_problems = 6 if multiclass == "ovo" else 4
    assert isinstance(cell["width"], float)
    assert isinstance(cell["lam"], float) or len(cell["lam"]) == n_problems
    assert 0 < cell["support_vectors"] <= cell["size"] == 300
    assert 0 < cell["cv_risk"] < 0.5


# ------------------------------------------------------------------------------------ class weights


@every_reduction
def test_class_weights_are_the_sample_weights_of_their_rows(rows, points, multiclass):
    weight = np.array([2.5, 1.0, 0.5, 4.0])[rows[1]]
    by_class = fit(rows, multiclass=multiclass, class_weight={0: 2.5, 2: 0.5, 3: 4.0})
    same_models(by_class, fit(rows, weight=weight, multiclass=multiclass), points)


@every_reduction
def test_balanced_classes_have_the_same_total_weight(rows, points, multiclass):
    X, y = rows
    some = np.flatnonzero((y != 1) | (np.arange(len(y)) % 4 == 0))
    factor = len(some) / (K * np.bincount(y[some]))
    balanced = fit((X[some], y[some]), multiclass=multiclass, class_weight="balanced")
    by_hand = fit((X[some], y[some]), multiclass=multiclass, class_weight=dict(enumerate(factor)))
    same_models(balanced, by_hand, points)


@every_reduction
def test_a_heavier_class_is_predicted_more_often(rows, points, multiclass):
    rates = [
        (fit(rows, multiclass=multiclass, class_weight={2: factor}).predict(points) == 2).mean()
        for factor in (0.02, 1.0, 50.0)
    ]
    assert rates == sorted(rates)
    assert rates[0] < rates[-1]


# ------------------------------------------------------------------------------------- scikit-learn


def test_grid_search_over_the_size_of_cells_and_the_reduction_works(rows):
    choices = {"cell_size": [50, 300], "multiclass": ["ovo", "ovr"]}
    search = GridSearchCV(LocalSVC(grid=SMALL), choices, cv=2).fit(*rows)
    assert search.best_score_ > 0.8
    assert search.predict(rows[0]).shape == (300,)


@every_reduction
def test_it_is_the_last_step_of_a_pipeline_and_can_be_cloned(rows, multiclass):
    pipeline = make_pipeline(StandardScaler(), LocalSVC(grid=SMALL, scaling=None, multiclass=multiclass))
    copy = clone(pipeline.fit(*rows))
    assert copy[-1].multiclass == multiclass
    np.testing.assert_array_equal(copy.fit(*rows).decision_function(rows[0]), pipeline.decision_function(rows[0]))
    assert cross_val_score(copy, *rows, cv=3, scoring="balanced_accuracy").mean() > 0.8


def test_it_can_be_calibrated(rows):
    calibrated = CalibratedClassifierCV(LocalSVC(grid=SMALL), cv=2).fit(*rows)
    probability = calibrated.predict_proba(rows[0])
    assert probability.shape == (300, K)
    assert (probability.argmax(axis=1) == rows[1]).mean() > 0.8
