"""The flow of a fit: the same model for any threads, order and precision; what every cell is; timings."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from cells import coefficients, same_cells
from single import svc

from localsvm import Grid, InvalidParameter
from localsvm.cell.grid import cell_radius
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.data import toy_bayes_error, toy_mixture
from localsvm.data.content import canonical_rows
from localsvm.partition import VoronoiPartition, voronoi_partition

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

SMALL = Grid(n_widths=3, n_lams=3)
KINDS = {
    "voronoi": {"cell_size": 80},
    "chunks": {"partition": "chunks", "cell_size": 80},
    "radius": {"partition": "radius", "cell_radius": 0.3},
    "overlap": {"partition": "overlap", "cell_size": 80},
    "none": {"partition": "none"},
    "one split": {"cell_size": 80, "n_folds": 1},
    "pilot": {"cell_size": 300, "scaling": "auto"},
    "quantile": {"cell_size": 80, "scaling": "quantile"},
    "retrain, racing": {"cell_size": 80, "refit": "retrain", "search": "racing"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def toy():
    """Rows on comparable scales; some of them twice, some with both labels."""
    X, y = toy_mixture(700, 3, random_state=0)
    X[650:] = X[:50]
    return X, y


@pytest.fixture(scope="module")
def points():
    return np.concatenate([toy_mixture(300, 3, random_state=9)[0], np.float32([[50, 0, 0], [0, -200, 0]])])


def fit(data, kind="voronoi", weight=None, **parameters):
    options = {"scaling": "minmax", "grid": SMALL, **KINDS[kind], **parameters}
    return svc(**options).fit(*data, sample_weight=weight)


def same_models(first, second, points):
    a, b = first.model_, second.model_
    np.testing.assert_array_equal(a.partition.centers, b.partition.centers)
    np.testing.assert_array_equal(a.partition.radii, b.partition.radii)
    np.testing.assert_array_equal(a.scaling.apply(points), b.scaling.apply(points))
    for mine, yours in zip(a.cells, b.cells, strict=True):
        same_cells(mine, yours)
    np.testing.assert_array_equal(first.decision_function(points), second.decision_function(points))


# ------------------------------------------------------------------------------ what does not matter


@every_kind
def test_the_number_of_threads_does_not_matter_bit_for_bit(toy, points, kind):
    one = fit(toy, kind, n_jobs=1)
    assert kind in ("none", "pilot") or one.n_cells_ > 5
    for n_jobs in (2, 5):
        same_models(fit(toy, kind, n_jobs=n_jobs), one, points)


@every_kind
def test_row_order_does_not_matter_bit_for_bit(toy, points, kind):
    X, y = toy
    weight = np.random.default_rng(2).gamma(1.0, size=len(y))
    expected = fit(toy, kind, weight)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(y))
        same_models(fit((X[order], y[order]), kind, weight[order]), expected, points)


@every_kind
def test_neither_precision_nor_memory_layout_matter_bit_for_bit(toy, points, kind):
    X, y = toy
    expected = fit(toy, kind)
    wide = np.zeros((len(y), 6), dtype=np.float32)
    wide[:, ::2] = X
    for same in (X.astype(np.float64), np.asfortranarray(X), np.asfortranarray(X, dtype=np.float64), wide[:, ::2]):
        same_models(fit((same, y), kind), expected, points)


@every_kind
def test_rows_of_weight_zero_are_as_if_absent_bit_for_bit(toy, points, kind):
    X, y = toy
    weight = np.random.default_rng(3).integers(0, 3, size=len(y)).astype(float)
    present = weight > 0
    extreme = np.where(present[:, None], X, 1e6 * X)
    same_models(fit((extreme, y), kind, weight), fit((X[present], y[present]), kind, weight[present]), points)


def test_rows_beyond_a_traversal_and_a_block_give_the_same_model_too(points):
    X, y = toy_mixture(60_000, 3, random_state=4)
    grid = Grid(widths=[0.1], lams=[1e-3])
    clf = fit((X, y), n_jobs=1, grid=grid, n_folds=1, cell_size=500)
    assert len(clf.model_.partition.nodes) > 1
    order = np.random.default_rng(0).permutation(len(y))
    again = fit((X[order].astype(np.float64), y[order]), n_jobs=3, grid=grid, n_folds=1, cell_size=500)
    same_models(again, clf, points)


# ------------------------------------------------------------------------------------ what a cell is


def alone(rows, y, **options):
    """Return an SVM of one cell on rows that are already scaled."""
    return svc(partition="none", scaling=None, grid=SMALL, **options).fit(rows, y)


@pytest.mark.parametrize("scaling", ["minmax", "quantile"])
@pytest.mark.parametrize("partition", ["voronoi", "chunks"])
def test_one_cell_is_no_partition_bit_for_bit(toy, points, partition, scaling):
    one, none = (
        svc(partition=kind, cell_size=700, grid=SMALL, scaling=scaling).fit(*toy) for kind in (partition, "none")
    )
    assert one.n_cells_ == 1
    np.testing.assert_array_equal(one.decision_function(points), none.decision_function(points))


@pytest.mark.parametrize("kind", ["voronoi", "one split", "quantile", "radius"])
def test_every_cell_is_an_svm_of_its_own_on_its_rows(toy, points, kind):
    X, y = toy
    clf = fit(toy, kind)
    rows, new = clf.model_.scaling.apply(X), clf.model_.scaling.apply(points)
    labels, of_new = clf.model_.partition.assign(rows), clf.model_.partition.assign(new)
    values = clf.decision_function(points)
    compared = 0
    for cell in range(clf.n_cells_):
        mine = labels == cell
        if len(set(y[mine])) == 1:
            assert (values[of_new == cell] == y[mine][0]).all()
        elif (of_new == cell).any():
            svm = alone(rows[mine], y[mine], n_folds=clf.n_folds)
            np.testing.assert_array_equal(values[of_new == cell], svm.decision_function(new[of_new == cell]))
            compared += 1
    assert compared > 3


def test_chunks_are_the_mean_of_svms_trained_on_each(toy, points):
    X, y = toy
    clf = fit(toy, "chunks")
    rows, new = clf.model_.scaling.apply(X), clf.model_.scaling.apply(points)
    chunk = clf.model_.partition.assign(rows)
    svms = [alone(rows[chunk == j], y[chunk == j]) for j in range(clf.n_cells_)]
    mean = sum(svm.decision_function(new) for svm in svms) / len(svms)
    assert len(svms) == 9
    np.testing.assert_array_equal(clf.decision_function(points), mean)


def test_an_overlapping_cell_trains_on_more_rows_than_it_predicts(toy):
    X, _ = toy
    clf = fit(toy, "overlap")
    owned = np.bincount(clf.model_.partition.assign(clf.model_.scaling.apply(X)))
    trained = np.array([cell.total_weight for cell in clf.model_.cells])
    assert (owned <= 40).all()
    assert (trained <= 80).all()
    assert (trained > owned).all()


def test_a_cell_of_one_class_predicts_it():
    X = np.linspace(-1, 1, 400)[:, None]
    y = np.where(X[:, 0] < -0.5, "left", "right")
    clf = svc(cell_size=40, grid=SMALL).fit(X, y)
    constant = [cell for cell in clf.model_.cells if cell.n_support == 0]
    assert len(constant) >= clf.n_cells_ - 2
    assert clf.score(X, y) == 1.0
    values = clf.decision_function(X[[0, -1]])
    assert values.tolist() == [-1, 1]


def test_every_cell_of_one_class_is_a_model_too():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    clf = svc(cell_size=2, grid=SMALL).fit(X, [0, 0, 1, 1])
    assert clf.predict([[0.1], [0.9]]).tolist() == [0, 1]
    assert [cell["cv_risk"] for cell in clf.cells_] == [0, 0]


def test_a_single_split_validates_on_a_fifth_and_trains_on_the_others(toy):
    X, y = toy_mixture(500, 3, random_state=5)
    clf = svc(n_folds=1, grid=SMALL).fit(X, y)
    (cell,) = clf.model_.cells
    assert cell.certificates.gap.shape == (3, 3, 1)
    # Risks are multiples of 1/100; with five folds they would be of 1/500.
    np.testing.assert_allclose(cell.risks * 100, np.round(cell.risks * 100), atol=1e-9)
    assert cell.n_support <= 400
    assert clf.score(X, y) > 0.8
    retrained = svc(n_folds=1, grid=Grid(widths=[0.01], lams=[1e-4]), refit="retrain").fit(X, y)
    assert retrained.model_.cells[0].n_support > 400


def test_records_of_cells_have_their_sizes_in_the_order_of_the_centers(toy):
    X, _ = toy
    clf = fit(toy)
    rows = clf.model_.scaling.apply(X)
    labels = clf.model_.partition.assign(rows)
    samples = []
    for cell in range(clf.n_cells_):
        mine = labels == cell
        samples.append(canonical_rows(rows[mine], toy[1][mine].astype(np.float64), np.ones(mine.sum()), 0))
    assert [record["size"] for record in clf.cells_] == [len(each.y) for each in samples]
    assert [cell.number for cell in clf.model_.cells] == list(range(clf.n_cells_))
    trained = train_cell(CellTask(samples[2], cell_radius(samples[2])), CellSettings(grid=SMALL))
    np.testing.assert_array_equal(coefficients(trained), coefficients(clf.model_.cells[2]))


# ------------------------------------------------------------------------------------- a user's own


@dataclass
class Stripes:
    """Cells [-inf, 0), [0, 1), [1, inf) of the first feature, and one that nothing belongs to."""

    centers: np.ndarray = field(default_factory=lambda: np.float32([[-1, 0, 0], [0.5, 0, 0], [2, 0, 0], [99, 0, 0]]))
    radii: np.ndarray = field(default_factory=lambda: np.ones(4))
    to_the_empty_one: bool = False

    def assign(self, X):
        assert X.dtype == np.float32
        return np.full(len(X), 3) if self.to_the_empty_one else np.digitize(X[:, 0], [0.0, 1.0])


def test_a_partition_of_the_user_s_own_is_used(toy, points):
    X, y = toy
    clf = svc(partition=Stripes(), scaling=None, grid=SMALL).fit(X, y)
    assert clf.n_cells_ == 4
    values = clf.decision_function(points)
    stripe, of_points = (np.digitize(rows[:, 0], [0.0, 1.0]) for rows in (X, points))
    for cell in range(3):
        svm = alone(X[stripe == cell], y[stripe == cell])
        np.testing.assert_array_equal(values[of_points == cell], svm.decision_function(points[of_points == cell]))


@pytest.mark.parametrize("majority", [-1, 1])
def test_a_cell_without_rows_predicts_the_majority_of_all(toy, points, majority):
    X, y = toy
    y = np.where(np.arange(len(y)) < 500, majority, y)
    clf = svc(partition=Stripes(), scaling=None, grid=SMALL).fit(X, y)
    clf.model_.partition.to_the_empty_one = True
    assert (clf.predict(points) == majority).all()
    assert clf.cells_[3]["size"] == 0


def test_a_partition_made_of_some_rows_serves_others(toy):
    X, y = toy
    cells = voronoi_partition(X[:300], 50)
    assert isinstance(cells, VoronoiPartition)
    clf = svc(partition=cells, scaling=None, grid=SMALL).fit(X, y)
    assert clf.n_cells_ == len(cells.centers)
    assert clf.score(X, y) > 0.8


@pytest.mark.parametrize("answer", [lambda X: np.zeros(1, int), lambda X: np.full(len(X), 4), lambda X: X[:, 0]])
def test_an_assignment_that_cannot_be_one_is_refused_in_fit_and_in_predict(toy, points, answer):
    mine = Stripes()
    clf = svc(partition=mine, scaling=None, grid=SMALL).fit(*toy)
    mine.assign = answer
    with pytest.raises(InvalidParameter, match=r"partition\.assign returned"):
        clf.decision_function(points)
    with pytest.raises(InvalidParameter, match=r"partition\.assign returned"):
        clf.fit(*toy)


# ------------------------------------------------------------------------------- timings, many rows


@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_timings_are_the_seconds_of_every_phase(toy, refit):
    clf = svc(refit=refit, n_jobs=1, grid=10, cell_size=200).fit(*toy)
    phases = ["scaling", "relevance", "partition", "kernel", "solver", "validation", "selection", "calibration"]
    assert list(clf.timings_) == [*phases, "total"]
    assert all(seconds > 0 for seconds in clf.timings_.values())
    # On one thread nothing overlaps.
    assert sum(clf.timings_[phase] for phase in phases) <= clf.timings_["total"]


def test_progress_grows_until_all_cells_are_done(toy):
    events = []
    clf = svc(cell_size=50, grid=SMALL).fit(*toy, callback=events.append)
    assert (events[-1].cells_done, events[-1].samples_done) == (clf.n_cells_, 700)
    for name in ("cells_done", "samples_done", "seconds"):
        seen = [getattr(event, name) for event in events]
        assert seen == sorted(seen)


def test_a_million_rows_are_learned_from():
    X, y = toy_mixture(1_000_000, 3, random_state=0)
    clf = svc(grid=SMALL, n_folds=1, cell_size=500, scaling="minmax").fit(X, y)
    assert 2000 <= clf.n_cells_ < 4000
    assert sum(record["size"] for record in clf.cells_) > 990_000
    new, labels = toy_mixture(50_000, 3, random_state=1)
    assert 1 - clf.score(new, labels) < toy_bayes_error(3) + 0.01


def test_cells_are_of_5000_rows_where_there_are_few_whether_said_or_not(points):
    data = toy_mixture(5100, 3, random_state=4)
    chosen, given = (
        fit(data, "none", partition="voronoi", grid=Grid(1, 1), **size) for size in ({}, {"cell_size": 5000})
    )
    assert chosen.n_cells_ == 2
    same_models(chosen, given, points)
