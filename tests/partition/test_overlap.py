"""Overlapping cells: own rows first, then the nearest of the neighbours."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference

from localsvm.partition import Partition, overlap
from localsvm.partition.overlap import build_overlap
from localsvm.partition.voronoi import SplitLimit, build_voronoi

CELL_SIZE = 60


@pytest.fixture
def built(hostile, depth, build):
    partition, members = build(build_overlap, hostile, CELL_SIZE)
    _, own = build(build_voronoi, hostile, SplitLimit(CELL_SIZE // 2))
    return hostile, partition, members, own


def test_the_cells_that_predict_are_voronoi_cells_of_half_the_size(built, build):
    X, partition, members, own = built
    assert isinstance(partition, Partition)
    assert len(members) == len(own) == len(partition.centers) == len(partition.radii)
    labels = partition.assign(X)
    for cell in range(len(own)):
        assert (labels[own.rows(cell)] == cell).all()
        assert len(own.rows(cell)) <= CELL_SIZE // 2 or (X[own.rows(cell)] == X[own.rows(cell)][0]).all()


def test_a_cell_trains_on_its_own_rows_and_on_no_row_twice(built):
    _, _, members, own = built
    for cell in range(len(own)):
        rows = members.rows(cell)
        assert len(set(rows.tolist())) == len(rows)
        assert set(own.rows(cell).tolist()) <= set(rows.tolist())


def test_no_cell_trains_on_more_rows_than_the_size_unless_its_own_are_equal(built):
    _, _, members, own = built
    for cell in range(len(own)):
        assert len(members.rows(cell)) <= max(CELL_SIZE, len(own.rows(cell)))


def test_rows_of_the_neighbours_are_nearer_than_those_left_out(built):
    X, partition, members, own = built
    reached = 0
    for cell, center in enumerate(partition.centers):
        distance = np.square(partition.centers.astype(np.float64) - center).sum(axis=1)
        neighbours = [j for j in np.argsort(distance, kind="stable") if j != cell][: overlap._NEIGHBOURS]
        foreign = np.concatenate([own.rows(j) for j in neighbours] or [np.zeros(0, dtype=int)])
        squared = reference.nearest_center(X[foreign], center[None, :])[1] if len(foreign) else np.zeros(0)
        inside = np.isin(foreign, members.rows(cell))
        assert len(own.rows(cell)) + inside.sum() == len(members.rows(cell))
        if inside.any() and not inside.all():
            assert squared[inside].max() < squared[~inside].min()
        # A ball is not full only where the next rows are equally far and do not fit together.
        free = CELL_SIZE - len(members.rows(cell))
        if free > 0 and not inside.all():
            assert (squared == squared[~inside].min()).sum() > free
        reached += inside.sum()
    assert reached > 0 or len(own) == 1 or len(np.unique(X, axis=0)) < len(X)


def test_the_radius_reaches_every_training_row(built):
    X, partition, members, _ = built
    for cell, center in enumerate(partition.centers):
        distance = np.linalg.norm(X[members.rows(cell)].astype(np.float64) - center, axis=1)
        assert partition.radii[cell] == pytest.approx(distance.max(), rel=1e-6)


def test_one_cell_has_no_neighbours(build):
    X = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    partition, members = build(build_overlap, X, 60)
    assert members.sizes.tolist() == [20]
    assert partition.assign(X).tolist() == [0] * 20


def test_neither_row_order_nor_threads_matter(hostile, depth, build):
    partition, members = build(build_overlap, hostile, CELL_SIZE)
    order = np.random.default_rng(0).permutation(len(hostile))
    again, shuffled = build(build_overlap, np.ascontiguousarray(hostile[order]), CELL_SIZE)
    with ThreadPoolExecutor(4) as pool:
        threaded, threaded_members = build(build_overlap, hostile, CELL_SIZE, pool.map)
    for other in (again, threaded):
        np.testing.assert_array_equal(other.centers, partition.centers)
        np.testing.assert_array_equal(other.radii, partition.radii)
    np.testing.assert_array_equal(threaded_members.order, members.order)
    for cell in range(len(members)):
        assert set(order[shuffled.rows(cell)].tolist()) == set(members.rows(cell).tolist())
