"""Packed cells: the same values whatever is packed, within a bound on memory, read only where they are touched."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from single import svc

import localsvm
from localsvm import Grid, LocalSVC, LocalSVR
from localsvm.data import toy_mixture
from localsvm.model import predict_scores
from localsvm.model.packed import PackedCells

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]
SMALL = {"cell_size": 60, "grid": Grid(n_widths=2, n_lams=2)}


class Touched:
    """Cells that remember which of them were asked for."""

    def __init__(self, cells):
        self.cells, self.numbers = cells, []

    def __len__(self):
        return len(self.cells)

    def __getitem__(self, number):
        self.numbers.append(number)
        return self.cells[number]


@pytest.fixture(scope="module")
def model():
    return svc(**SMALL).fit(*toy_mixture(600, 3, random_state=0)).model_


@pytest.fixture(scope="module")
def points(model):
    X = model.scaling.apply(toy_mixture(2000, 3, random_state=1)[0])
    return X, model.partition.assign(X)


def one_cell_at_a_time(model, points, labels):
    out = np.empty((len(points), model.reduction.n_outputs))
    for cell in np.unique(labels):
        out[labels == cell] = model.cells[cell].functions.values(points[labels == cell])
    return out


def packed_cells(model, cells=None, max_bytes=None):
    return PackedCells(cells or model.cells, model.n_features, model.reduction.n_outputs, max_bytes)


@pytest.mark.parametrize("max_bytes", [None, 1, 5000, 20_000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_bound_on_memory_changes_no_value(model, points, max_bytes, n_threads):
    packed = packed_cells(model, max_bytes=max_bytes)
    expected = one_cell_at_a_time(model, *points)
    for _ in range(2):
        np.testing.assert_array_equal(packed.values(*points, n_threads), expected)


@pytest.mark.parametrize("max_bytes", [5000, 20_000])
def test_no_more_is_kept_than_the_bound_allows(model, points, max_bytes):
    packed = packed_cells(model, max_bytes=max_bytes)
    for begin in range(0, 2000, 50):
        packed.values(*(part[begin : begin + 50] for part in points))
        assert 0 < packed.n_bytes <= max_bytes


def test_only_cells_that_are_touched_are_read_and_only_once(model, points):
    cells = Touched(model.cells)
    packed = packed_cells(model, cells)
    X, labels = points
    some = np.isin(labels, [1, 3])
    for _ in range(3):
        packed.values(X[some], labels[some])
    assert sorted(cells.numbers) == [1, 3]


def test_threads_share_what_is_packed(model, points):
    packed = packed_cells(model, max_bytes=20_000)
    expected = one_cell_at_a_time(model, *points)

    def of_a_part(begin):
        return packed.values(*(part[begin : begin + 17] for part in points))

    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(of_a_part, range(0, 2000, 17)))
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_a_pickle_is_no_larger_for_having_predicted(model, points):
    fresh = svc(**SMALL).fit(*toy_mixture(600, 3, random_state=0)).model_
    before = len(pickle.dumps(fresh))
    predict_scores(fresh, points[0])
    assert len(pickle.dumps(fresh)) == before


@pytest.mark.parametrize(
    ("estimator", "y_of"),
    [
        (LocalSVC(**SMALL, members=1), lambda X, y: (X[:, 0] * 4).astype(int)),
        (svc(**SMALL, multiclass="ovo"), lambda X, y: (X[:, 0] * 4).astype(int)),
        (LocalSVR(**SMALL, members=1), lambda X, y: np.column_stack([X[:, 0], X[:, 1] * y, y])),
    ],
    ids=["probabilities", "pairs", "targets"],
)
def test_a_stored_model_reads_the_cells_of_the_rows_and_has_their_values(estimator, y_of, tmp_path):
    X, y = toy_mixture(600, 3, random_state=0)
    estimator.fit(X, y_of(X, y)).save(tmp_path / "model.lsvm")
    again = localsvm.load(tmp_path / "model.lsvm")
    np.testing.assert_array_equal(predict_scores(again.model_, X), predict_scores(estimator.model_, X))


def test_rows_of_a_cell_that_a_model_does_not_have_are_refused(model, points):
    X = points[0][:3]
    with pytest.raises(IndexError):
        packed_cells(model).values(X, np.array([0, 1, 10_000], dtype=np.int32))
