"""Laws of Voronoi partitions, on hostile rows: sizes, radii, nothing avoidable, and content instead of order."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm.errors import InvalidData
from localsvm.partition import Partition, voronoi, voronoi_partition
from localsvm.partition.voronoi import SplitLimit, build_voronoi

ROUNDING = 1e-6  # relative: squared distances are sums of float32 products


def sizes_of(partition, X):
    return np.bincount(partition.assign(X), minlength=len(partition.centers))


def walk(partition, x):
    """The cell of one row, from the root down, by the reference."""
    number = 0
    while number >= 0:
        node = partition.nodes[number]
        number = int(node.children[reference.nearest_center(x[None, :], node.centers)[0][0]])
    return -1 - number


def rows_of_nodes(partition, X):
    """The rows that meet every node."""
    rows = {0: np.arange(len(X))}
    for number, node in enumerate(partition.nodes):
        labels, _ = reference.nearest_center(X[rows[number]], node.centers)
        for c, child in enumerate(node.children):
            if child >= 0:
                rows[int(child)] = rows[number][labels == c]
    return rows


def assert_no_tiny_cell_can_be_dissolved(X, centers, cell_size):
    before = np.bincount(reference.nearest_center(X, centers)[0], minlength=len(centers))
    for gone in np.flatnonzero(before < cell_size / 8) if len(centers) > 1 else ():
        left = np.delete(np.arange(len(centers)), gone)
        after = np.bincount(reference.nearest_center(X, centers[left])[0], minlength=len(left))
        assert ((after > before[left]) & (after > cell_size)).any(), f"center {gone} of {len(centers)}"


# ------------------------------------------------------------------------------------- bounded size


@pytest.mark.parametrize("cell_size", [1, 37, 300])
def test_no_cell_exceeds_the_size_unless_its_rows_are_equal(hostile, depth, cell_size):
    if cell_size == 1 and len(hostile) > 1000:
        hostile = np.ascontiguousarray(hostile[:: len(hostile) // 300])
    partition = voronoi_partition(hostile, cell_size)
    labels = partition.assign(hostile)
    for cell in np.flatnonzero(np.bincount(labels) > cell_size):
        rows = hostile[labels == cell]
        assert (rows == rows[0]).all()


def test_every_row_trains_exactly_one_cell_the_one_it_is_assigned_to(hostile, depth, build):
    partition, members = build(build_voronoi, hostile, SplitLimit(50))
    assert len(members) == len(partition.centers) == len(partition.radii)
    np.testing.assert_array_equal(np.sort(members.order), np.arange(len(hostile)))
    labels = partition.assign(hostile)
    for cell in range(len(members)):
        assert len(members.rows(cell)) > 0
        assert (labels[members.rows(cell)] == cell).all()


@pytest.mark.parametrize("cell_size", [40, 200])
def test_no_cell_below_an_eighth_of_the_size_can_be_dissolved(hostile, depth, cell_size):
    partition = voronoi_partition(hostile, cell_size)
    checked = 0
    for number, rows in rows_of_nodes(partition, hostile).items():
        # Larger nodes have centers of a sample; their children are split again.
        if len(rows) <= voronoi.LARGEST_TRAVERSAL:
            assert_no_tiny_cell_can_be_dissolved(hostile[rows], partition.nodes[number].centers, cell_size)
            checked += 1
    assert checked > 0 or len(partition.nodes) == 1


def test_rows_within_the_size_are_one_cell(hostile):
    partition = voronoi_partition(hostile, len(hostile))
    assert len(partition.centers) == 1
    assert not partition.assign(hostile).any()


def test_centers_are_rows_of_their_cell_and_radii_their_largest_distance(hostile, depth):
    partition = voronoi_partition(hostile, 50)
    np.testing.assert_array_equal(partition.assign(partition.centers), np.arange(len(partition.centers)))
    rows = {tuple(x) for x in hostile.tolist()}
    assert {tuple(c) for c in partition.centers.tolist()} <= rows
    labels = partition.assign(hostile)
    distance = np.sqrt(np.square(hostile.astype(np.float64) - partition.centers[labels]).sum(axis=1))
    expected = np.zeros(len(partition.centers))
    np.maximum.at(expected, labels, distance)
    np.testing.assert_allclose(partition.radii, expected, rtol=ROUNDING)


def test_it_has_what_a_partition_needs(hostile):
    assert isinstance(voronoi_partition(hostile), Partition)


@st.composite
def lattice_rows(draw):
    """Rows with many duplicates and many equal distances."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, span = draw(st.integers(1, 400)), draw(st.integers(1, 4)), draw(st.integers(1, 12))
    return rng.integers(0, span, size=(n, d)).astype(np.float32)


@given(X=lattice_rows(), cell_size=st.integers(1, 60), seed=st.integers(0, 2**64 - 1))
@settings(deadline=None, max_examples=60)
def test_the_laws_hold_for_any_rows_with_ties(X, cell_size, seed):
    partition = voronoi_partition(X, cell_size, random_state=seed)
    labels = partition.assign(X)
    sizes = np.bincount(labels, minlength=len(partition.centers))
    assert (sizes > 0).all()
    for cell in np.flatnonzero(sizes > cell_size):
        assert len(np.unique(X[labels == cell], axis=0)) == 1
    assert len(partition.nodes) == 1
    np.testing.assert_array_equal(labels, reference.nearest_center(X, partition.centers)[0])
    assert_no_tiny_cell_can_be_dissolved(X, partition.centers, cell_size)


# ------------------------------------------------------------------------------------------- assign


def test_one_node_assigns_the_nearest_center_to_new_rows(hostile):
    partition = voronoi_partition(hostile, 100)
    rng = np.random.default_rng(1)
    new = hostile[rng.integers(0, len(hostile), 300)] + rng.normal(size=(300, hostile.shape[1])).astype(np.float32)
    np.testing.assert_array_equal(partition.assign(new), reference.nearest_center(new, partition.centers)[0])


@pytest.mark.parametrize("depth", ["subsamples"], indirect=True)
def test_a_tree_assigns_by_the_nearest_center_of_every_node(hostile, depth):
    partition = voronoi_partition(hostile, 50)
    rng = np.random.default_rng(1)
    new = hostile[rng.integers(0, len(hostile), 100)] + rng.normal(size=(100, hostile.shape[1])).astype(np.float32)
    assert partition.assign(new).tolist() == [walk(partition, x) for x in new]
    assert len(partition.nodes) > 1 or len(hostile) <= voronoi.LARGEST_TRAVERSAL or np.ptp(hostile) == 0


def test_assign_takes_any_layout_and_precision_and_number_of_rows(depth):
    X = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    partition = voronoi_partition(X, 50)
    expected = partition.assign(X)
    for same in (np.asfortranarray(X), X.astype(np.float64), np.repeat(X, 2, axis=0)[::2], X.tolist()):
        np.testing.assert_array_equal(partition.assign(same), expected)
    assert partition.assign(X[:0]).shape == (0,)
    assert partition.assign(X[7:8]).tolist() == [expected[7]]


# ----------------------------------------------------------------------- content, not order or threads


def test_row_order_does_not_matter(hostile, depth):
    partition = voronoi_partition(hostile, 50)
    order = np.random.default_rng(0).permutation(len(hostile))
    again = voronoi_partition(hostile[order], 50)
    np.testing.assert_array_equal(again.centers, partition.centers)
    np.testing.assert_array_equal(again.radii, partition.radii)
    np.testing.assert_array_equal(again.assign(hostile), partition.assign(hostile))


def test_threads_do_not_matter(hostile, depth, build):
    partition, members = build(build_voronoi, hostile, SplitLimit(50))
    with ThreadPoolExecutor(4) as pool:
        threaded, threaded_members = build(build_voronoi, hostile, SplitLimit(50), pool.map)
    np.testing.assert_array_equal(threaded.centers, partition.centers)
    np.testing.assert_array_equal(threaded_members.order, members.order)
    np.testing.assert_array_equal(threaded_members.ends, members.ends)


def test_another_seed_gives_another_partition(depth):
    X = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    first, second = (voronoi_partition(X, 50, random_state=seed) for seed in (0, 1))
    assert first.centers.shape != second.centers.shape or (first.centers != second.centers).any()


# ------------------------------------------------------------------------------------------- radius


@pytest.mark.parametrize("fraction", [0.03, 0.3, 2.0])
def test_no_cell_exceeds_the_radius(hostile, depth, fraction):
    spread = float(np.linalg.norm(hostile.std(axis=0))) or 1.0
    radius = fraction * spread
    partition = voronoi_partition(hostile, cell_radius=radius)
    labels = partition.assign(hostile)
    distance = np.sqrt(np.square(hostile.astype(np.float64) - partition.centers[labels]).sum(axis=1))
    assert distance.max() <= radius * (1 + ROUNDING)
    assert partition.radii.max() <= radius * (1 + ROUNDING)
    assert (np.bincount(labels, minlength=len(partition.centers)) > 0).all()


def test_cells_of_bounded_radius_are_few(depth):
    # A covering of the unit square by centers more than r apart: discs of radius r/2 do not overlap.
    X = np.random.default_rng(0).uniform(size=(3000, 2)).astype(np.float32)
    for radius in (0.1, 0.3):
        cells = len(voronoi_partition(X, cell_radius=radius).centers)
        packed = (1 + radius) ** 2 / (np.pi * (radius / 2) ** 2)
        assert cells <= packed * (1 if depth == "one traversal" else 3)


def test_the_size_is_of_no_account_beside_a_radius():
    X = np.random.default_rng(0).uniform(size=(500, 2)).astype(np.float32)
    first, second = (voronoi_partition(X, size, cell_radius=0.2) for size in (3, 5000))
    np.testing.assert_array_equal(first.centers, second.centers)


# --------------------------------------------------------------------------------------- many rows


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "duplicates", "grid"])
def test_more_rows_than_a_traversal_takes_obey_the_laws_too(kind):
    rng = np.random.default_rng(0)
    n = 130_000
    X = {
        "normal": rng.normal(size=(n, 3)),
        "heavy tails": rng.standard_cauchy(size=(n, 3)),
        "duplicates": np.concatenate(
            [np.zeros((n // 2, 2)), rng.normal(size=(3000, 2))[rng.integers(0, 3000, n // 2)]]
        ),
        "grid": rng.integers(0, 400, size=(n, 2)),
    }[kind].astype(np.float32)
    partition = voronoi_partition(X, 1000)
    assert len(partition.nodes) > 1
    labels = partition.assign(X)
    sizes = np.bincount(labels, minlength=len(partition.centers))
    assert (sizes > 0).all()
    for cell in np.flatnonzero(sizes > 1000):
        assert (X[labels == cell] == X[labels == cell][0]).all()
    order = rng.permutation(n)
    np.testing.assert_array_equal(voronoi_partition(X[order], 1000).centers, partition.centers)


def test_a_cell_size_beyond_a_traversal_is_kept(build):
    X = np.random.default_rng(0).normal(size=(200_000, 2)).astype(np.float32)
    partition, members = build(build_voronoi, X, SplitLimit(80_000))
    assert members.sizes.max() <= 80_000
    assert len(members) <= 8
    np.testing.assert_array_equal(np.bincount(partition.assign(X)), members.sizes)


# ----------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_rows_that_are_not_finite_in_single_precision_are_refused(value):
    X = np.ones((5, 2))
    X[3, 1] = value
    with pytest.raises(InvalidData, match="NaN or infinite in single precision"):
        voronoi_partition(X, 2)


@pytest.mark.parametrize("X", [[1.0, 2.0], np.zeros((0, 2)), np.zeros((3, 0)), 5.0])
def test_what_is_no_table_of_rows_is_refused_with_its_shape(X):
    with pytest.raises(InvalidData, match="X has shape"):
        voronoi_partition(X, 2)
