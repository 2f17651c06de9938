"""The way down a tree of centers against a row-by-row search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import _native


def random_tree(rng, n_features, n_nodes):
    """Nodes of random centers; every node but the first hangs at a random earlier one."""
    sizes = rng.integers(2, 40, n_nodes)
    children = [np.full(size, -1, dtype=np.int64) for size in sizes]
    for node in range(1, n_nodes):
        parent = int(rng.integers(0, node))
        free = np.flatnonzero(children[parent] < 0)
        if len(free):
            children[parent][rng.choice(free)] = node
    leaf = 0
    for below in children:
        for c in np.flatnonzero(below < 0):
            below[c], leaf = -1 - leaf, leaf + 1
    # A coarse grid, so that rows are equally far from several centers.
    centers = [rng.integers(0, 4, (size, n_features)).astype(np.float32) for size in sizes]
    return list(zip(centers, children, strict=True))


def descend_slowly(nodes, x):
    number = 0
    while True:
        centers, children = nodes[number]
        squared = np.zeros(len(centers), dtype=np.float32)
        for k in range(len(x)):
            squared += np.square(x[k] - centers[:, k])
        nearest = int(squared.argmin())
        if children[nearest] < 0:
            return -1 - children[nearest], squared[nearest]
        number = children[nearest]


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 6), st.integers(0, 80))
@settings(max_examples=60, deadline=None)
def test_rows_reach_the_leaf_of_a_search_one_by_one_ties_to_the_first(seed, n_features, n_nodes, n_rows):
    rng = np.random.default_rng(seed)
    nodes = random_tree(rng, n_features, n_nodes)
    X = rng.integers(0, 4, (n_rows, n_features)).astype(np.float32)
    leaves, squared = _native.CenterTree(n_features, nodes).descend(X)
    expected = [descend_slowly(nodes, x) for x in X]
    assert leaves.tolist() == [leaf for leaf, _ in expected]
    np.testing.assert_array_equal(squared, np.array([distance for _, distance in expected], dtype=np.float32))


@pytest.mark.parametrize("n_centers", [1, 5, 16, 33, 255, 256, 257, 1000])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e3, 1e6, 1e18])
@pytest.mark.parametrize("rounded", [False, True])
def test_centers_are_those_of_nearest_centers(n_centers, offset, rounded):
    # Rounded, many centers are equally far, or equal; with an offset, products of rows and centers lose all digits.
    rng = np.random.default_rng(n_centers)
    X, centers = (rng.normal(size=(n, 7)) for n in (300, n_centers))
    X, centers = ((np.round(rows) if rounded else rows) + offset for rows in (X, centers))
    X, centers = X.astype(np.float32), centers.astype(np.float32)
    X[:50] = centers[rng.integers(0, n_centers, 50)]
    tree = _native.CenterTree(7, [(centers, -1 - np.arange(n_centers))])
    for found, expected in zip(tree.descend(X), _native.nearest_centers(X, centers), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_rows_infinitely_far_go_to_the_first_center():
    tree = _native.CenterTree(2, [(np.zeros((3, 2), np.float32), -1 - np.arange(3))])
    leaves, squared = tree.descend(np.full((1, 2), 3e38, np.float32))
    assert (leaves[0], squared[0]) == (0, np.inf)


@pytest.mark.parametrize("children", [[0, -1], [1, -1], [5, -1]])
def test_a_tree_that_leads_back_or_nowhere_is_refused(children):
    with pytest.raises(ValueError, match="after their parents"):
        _native.CenterTree(1, [(np.zeros((2, 1), np.float32), np.array(children))])


def test_arrays_that_do_not_fit_are_refused():
    centers, to = np.zeros((2, 3), np.float32), np.array([-1, -2])
    with pytest.raises(ValueError, match="one child per center"):
        _native.CenterTree(3, [(centers, to[:1])])
    with pytest.raises(ValueError, match="same number of features"):
        _native.CenterTree(2, [(centers, to)])
    with pytest.raises(ValueError, match="same number of features"):
        _native.CenterTree(3, [(centers, to)]).descend(np.zeros((1, 2), np.float32))
