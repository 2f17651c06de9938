"""Coarse cells: a tree that grows in parts is the one that grows in one place, and estimators refine them."""

import numpy as np
import pytest

import localsvm
from localsvm import LocalSVC
from localsvm.data import toy_mixture
from localsvm.partition import CoarseCells
from localsvm.partition.coarse import join_trees
from localsvm.partition.voronoi import SplitLimit, VoronoiPartition, build_voronoi

LIMIT = SplitLimit(100)


def some_centers(X, count=3):
    """A few distinct rows."""
    return np.unique(X, axis=0)[:: max(1, len(np.unique(X, axis=0)) // count)][:count]


def upper_nodes(partition):
    """The root, and the nodes right below it, of a tree of several levels; their leaves are renumbered."""
    coarse = CoarseCells.around(partition.nodes[0].centers)
    for cell, child in enumerate(partition.nodes[0].children.tolist()):
        if child >= 0 and any(partition.nodes[child].children >= 0):
            coarse = coarse.split(cell, partition.nodes[child].centers)
    return coarse


def grown_apart(build, X, coarse):
    """Cut the rows of every coarse cell on their own, as tasks do it."""
    labels, trees = coarse.assign(X), []
    for cell in range(len(coarse)):
        own = np.ascontiguousarray(X[labels == cell])
        radius = float(np.sqrt(np.square(own.astype(float) - coarse.center(cell)).sum(axis=1).max()))
        if LIMIT.allows(len(own), radius):
            trees.append(VoronoiPartition(coarse.center(cell)[None, :], np.array([radius]), ()))
        else:
            trees.append(build(build_voronoi, own, LIMIT)[0])
    return join_trees(coarse, trees)


def assert_same_tree(one, other):
    assert np.array_equal(one.centers, other.centers)
    np.testing.assert_allclose(one.radii, other.radii, rtol=1e-6)
    assert len(one.nodes) == len(other.nodes)
    for a, b in zip(one.nodes, other.nodes, strict=True):
        assert np.array_equal(a.centers, b.centers) and np.array_equal(a.children, b.children)


def test_parts_that_grew_apart_are_one_tree(hostile, depth, build):
    coarse = CoarseCells.around(some_centers(hostile))
    together, members = build(build_voronoi, hostile, LIMIT, upper=coarse.nodes)
    apart, numbers = grown_apart(build, hostile, coarse)
    assert_same_tree(together, apart)
    assert sorted(np.concatenate(numbers).tolist()) == list(range(len(apart.centers)))
    assert np.array_equal(np.bincount(together.assign(hostile), minlength=len(members)), members.sizes)


def test_the_upper_nodes_of_a_tree_grow_into_that_tree(hostile, depth, build):
    whole, members = build(build_voronoi, hostile, LIMIT)
    again, same = build(build_voronoi, hostile, LIMIT, upper=upper_nodes(whole).nodes)
    assert_same_tree(whole, again)
    assert np.array_equal(members.sizes, same.sizes)


def test_a_split_moves_no_other_row(build):
    X = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    coarse = CoarseCells.around(X[:4])
    split = coarse.split(2, X[4:7])
    before, after = coarse.assign(X), split.assign(X)
    assert len(split) == 6
    assert np.array_equal(before[before != 2], after[before != 2])
    assert set(after[before == 2]) == {2, 4, 5}
    assert all(np.array_equal(split.center(cell), X[row]) for cell, row in enumerate((0, 1, 4, 3, 5, 6)))


def test_no_nodes_are_one_coarse_cell_of_all_rows(build):
    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    assert len(CoarseCells()) == 1 and not CoarseCells().assign(X).any()
    plain, _ = build(build_voronoi, X, LIMIT)
    joined, _ = join_trees(CoarseCells(), [plain])
    assert_same_tree(plain, joined)


@pytest.fixture(scope="module")
def on_coarse_cells():
    X, y = toy_mixture(400, 2, random_state=0)
    far = np.array([[9.0, 9.0]])  # no row is near to it
    coarse = CoarseCells.around(np.concatenate([X[:3], far]).astype(np.float32))
    return LocalSVC(partition=coarse, cell_size=80, grid=2, n_folds=2, scaling=None).fit(X, y), X


def test_an_estimator_cuts_coarse_cells_into_cells(on_coarse_cells):
    clf, X = on_coarse_cells
    sizes = [cell["size"] for cell in clf.cells_]
    assert sum(sizes) == 400 and max(sizes) <= 80
    assert 0 in sizes, "a coarse cell without rows is a cell without rows"
    assert np.isfinite(clf.predict_proba([[9.0, 9.0]])).all()
    assert np.array_equal(np.bincount(clf.apply(X), minlength=len(sizes)), sizes)


def test_a_model_on_coarse_cells_is_saved_with_the_cells_they_became(on_coarse_cells, tmp_path):
    clf, X = on_coarse_cells
    clf.save(tmp_path / "model.lsvm")
    again = localsvm.load(tmp_path / "model.lsvm")
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert isinstance(again.partition, VoronoiPartition)
