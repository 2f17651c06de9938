"""Rows on disk: the same model as in memory, bit for bit."""

import pickle

import numpy as np
import pytest
from cells import blobs, same_cells

from localsvm import Grid, InvalidData, LocalSVC, LocalSVR
from localsvm.data import disk
from localsvm.data.disk import RowFile
from localsvm.data.table import Table
from localsvm.partition import voronoi

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

SMALL = Grid(n_widths=3, n_lams=3)
PARTITIONS = ["voronoi", "overlap", "chunks", "none"]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Trees of several levels, and windows of few rows, on small data."""
    monkeypatch.setattr(voronoi, "LARGEST_TRAVERSAL", 150)
    monkeypatch.setattr(disk, "_WINDOW_BYTES", 2000)
    monkeypatch.setattr(disk, "_GAP_BYTES", 100)
    monkeypatch.setattr(disk, "_COLUMNS_BYTES", 5000)


def on_disk(X, directory, names=None, labels=None):
    rows = RowFile(X.shape, X.dtype, directory)
    rows.write(0, X)
    return Table(rows, names or {}, labels=labels)


@pytest.fixture
def rows():
    X, y = blobs(600, 3)
    return X.astype(np.float64), y


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_model_is_that_of_the_rows_in_memory(rows, tmp_path, partition, dtype):
    X, y = rows[0].astype(dtype), rows[1]
    clf = LocalSVC(cell_size=60, partition=partition, grid=SMALL, random_state=3)
    expected = clf.fit(X, y).decision_function(X)
    found = clf.fit(on_disk(X, tmp_path), y)
    np.testing.assert_array_equal(found.decision_function(X), expected)
    np.testing.assert_array_equal(found.decision_function(on_disk(X, tmp_path)), expected)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scaling", ["auto", "minmax", "standard", "quantile", None])
def test_scaling_is_that_of_the_rows_in_memory(rows, tmp_path, scaling):
    X, y = rows
    model = LocalSVR(cell_size=100, grid=SMALL, scaling=scaling, random_state=0)
    expected = model.fit(X, y.astype(float)).model_
    found = model.fit(on_disk(X, tmp_path), y.astype(float)).model_
    # Pickled, the support vectors that are on disk are in memory.
    for ours, theirs in zip(pickle.loads(pickle.dumps(found.cells)), expected.cells, strict=True):
        same_cells(ours, theirs)


@pytest.mark.parametrize("what", ["groups", "time"])
def test_groups_and_times_make_the_same_folds_as_in_memory(rows, tmp_path, what):
    X, y = rows
    given = {what: np.random.default_rng(0).integers(0, 40, 600)}
    clf = LocalSVC(cell_size=60, grid=SMALL, random_state=3)
    expected = clf.fit(X, y, **given).decision_function(X)
    np.testing.assert_array_equal(clf.fit(on_disk(X, tmp_path), y, **given).decision_function(X), expected)


def test_missing_values_categories_and_weights_are_those_of_the_rows_in_memory(rows, tmp_path):
    X, y = rows
    rng = np.random.default_rng(0)
    X = np.column_stack([X, rng.integers(0, 3, len(X))]).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 3, len(X))
    names = {X.shape[1] - 1: ("blue", "green", "red")}
    clf = LocalSVC(cell_size=80, grid=SMALL, missing="impute", random_state=0)
    expected = clf.fit(Table(X, names), y, weight).predict_proba(Table(X, names))
    found = clf.fit(on_disk(X, tmp_path, names), y, weight)
    np.testing.assert_array_equal(found.predict_proba(Table(X, names)), expected)


def test_names_of_columns_are_remembered_and_compared(rows, tmp_path):
    X, y = rows
    labels = tuple(f"x{j}" for j in range(X.shape[1]))
    clf = LocalSVC(grid=SMALL).fit(on_disk(X, tmp_path, labels=labels), y)
    assert clf.feature_names_in_.tolist() == list(labels) and clf.n_features_in_ == X.shape[1]
    with pytest.raises(InvalidData, match="not those of the training data"):
        clf.predict(Table(X, labels=labels[::-1]))
    with pytest.raises(InvalidData, match=rf"has {X.shape[1] - 1} columns, but the training data had {X.shape[1]}"):
        clf.predict(Table(X[:, 1:]))


def test_missing_values_are_found_on_disk(rows, tmp_path):
    X, y = rows
    X[411, 1] = X[20, 1] = np.nan
    with pytest.raises(InvalidData, match=r"column 1 has 2 missing values \(NaN or None; first at row 20\)"):
        LocalSVC(grid=SMALL).fit(on_disk(X, tmp_path), y)
