"""The choice of a partition: by name, by radius, or a user's own."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localsvm.data.content import content_hash
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import AffineScaling, fit_scaling
from localsvm.errors import InvalidParameter
from localsvm.partition import (
    ChunkPartition,
    Members,
    OverlapPartition,
    Partition,
    PartitionPlan,
    VoronoiPartition,
    WholePartition,
    build_partition,
    voronoi_partition,
)
from localsvm.partition.build import NAMES, check_assignment

X = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
IDENTITY = AffineScaling(np.zeros(3), np.ones(3))


@dataclass(frozen=True)
class Halves:
    """A user's own: two sides of a plane."""

    answer: object = None
    centers = np.array([[-1, 0, 0], [1, 0, 0]], dtype=np.float32)
    radii = np.ones(2)

    def assign(self, X):
        return (X[:, 0] > 0).astype(int) if self.answer is None else self.answer


def built(kind, rows=X, scaling=IDENTITY, **sizes):
    plan = PartitionPlan(kind, **{"cell_size": 60, **sizes})
    return build_partition(plan, ScaledRows(rows, scaling), content_hash(rows, 0), 0)


@pytest.mark.parametrize(
    ("kind", "type_of_it"),
    [
        ("voronoi", VoronoiPartition),
        ("chunks", ChunkPartition),
        ("radius", VoronoiPartition),
        ("overlap", OverlapPartition),
        ("none", WholePartition),
    ],
)
def test_every_name_makes_its_partition_of_all_rows(kind, type_of_it):
    partition, members = built(kind, cell_radius=0.5)
    assert type(partition) is type_of_it
    assert isinstance(partition, Partition)
    assert len(members) == len(partition.centers) == len(partition.radii)
    assert partition.centers.shape[1] == 3
    assert set(members.order.tolist()) == set(range(500))
    assert partition.assign(X).max() < len(members)
    assert kind in NAMES


def test_a_radius_is_of_account_for_its_own_name_only():
    by_size, _ = built("voronoi", cell_radius=0.01)
    np.testing.assert_array_equal(by_size.centers, voronoi_partition(X, 60).centers)
    by_radius, _ = built("radius", cell_radius=0.5)
    np.testing.assert_array_equal(by_radius.centers, voronoi_partition(X, cell_radius=0.5).centers)
    assert by_radius.radii.max() <= 0.5


def test_partitions_are_made_of_scaled_rows():
    rows = X * np.float32([1e3, 1, 1e-3]) + 5
    scaling = fit_scaling("minmax", rows, np.ones(500))
    partition, _ = built("voronoi", rows, scaling)
    assert partition.centers.min() >= 0 and partition.centers.max() <= 1
    assert (np.bincount(partition.assign(scaling.apply(rows))) <= 60).all()


def test_no_partition_is_one_cell_around_the_box():
    partition, members = built("none")
    assert members.sizes.tolist() == [500]
    np.testing.assert_allclose(partition.centers[0], (X.min(axis=0) + X.max(axis=0)) / 2, rtol=1e-6)
    assert partition.radii[0] == pytest.approx(np.linalg.norm(X - partition.centers[0], axis=1).max(), rel=1e-6)
    assert partition.assign(X[:4]).tolist() == [0, 0, 0, 0]


# ------------------------------------------------------------------------------------- a user's own


def test_an_object_of_the_user_is_taken_as_it_is():
    mine = Halves()
    partition, members = built(mine)
    assert partition is mine
    for cell in (0, 1):
        np.testing.assert_array_equal(members.rows(cell), np.flatnonzero((X[:, 0] > 0) == cell))


def test_a_fitted_partition_can_be_given_again():
    fitted = voronoi_partition(X, 60)
    partition, members = built(fitted)
    assert partition is fitted
    np.testing.assert_array_equal(np.bincount(fitted.assign(X)), members.sizes)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (np.zeros(499, dtype=int), r"shape \(499,\) and type int64 for 500 rows"),
        (np.zeros((500, 1), dtype=int), r"shape \(500, 1\)"),
        (np.zeros(500), "type float64"),
        (np.zeros(500, dtype=bool), "type bool"),
        (["a"] * 500, "type <U1"),
        (7, r"shape \(\)"),
        (np.full(500, 2), "cell numbers from 2 to 2, but there are 2 centers"),
        (np.arange(500) - 1, "cell numbers from -1 to 498"),
    ],
    ids=repr,
)
def test_an_assignment_that_cannot_be_one_is_refused(answer, said):
    with pytest.raises(InvalidParameter, match=f"partition.assign returned .*{said}"):
        built(Halves(answer))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_cell_numbers_of_any_integer_type_will_do(dtype):
    labels = check_assignment(np.array([0, 1, 1], dtype=dtype), 3, 2)
    assert labels.tolist() == [0, 1, 1]
    assert check_assignment(labels[:0], 0, 2).shape == (0,)


@pytest.mark.parametrize("missing", ["centers", "radii", "assign"])
def test_an_object_without_a_part_is_refused_with_its_name(missing):
    parts = {"centers": np.zeros((1, 3)), "radii": np.zeros(1), "assign": lambda rows: np.zeros(len(rows), dtype=int)}
    del parts[missing]
    with pytest.raises(InvalidParameter, match=f"has no {missing}; give one of 'voronoi'"):
        PartitionPlan(type("Mine", (), parts)())


# ------------------------------------------------------------------------------------------ members


def test_members_are_the_rows_of_every_label_in_order():
    members = Members.of_labels(np.array([2, 0, 2, 0, 3]), 5)
    assert [members.rows(cell).tolist() for cell in range(5)] == [[1, 3], [], [0, 2], [4], []]
    assert members.sizes.tolist() == [2, 0, 2, 1, 0]
    assert len(members) == 5


@given(st.lists(st.integers(0, 4), max_size=50), st.sampled_from([5, 1 << 16, (1 << 16) + 1]))
def test_members_are_grouped_alike_whatever_the_number_of_cells(labels, n_cells):
    # The labels are spread over all cells, so that the largest number is one of them.
    numbers = [label * (n_cells - 1) // 4 for label in labels]
    members = Members.of_labels(np.array(numbers, dtype=np.intp), n_cells)
    assert members.order.tolist() == sorted(range(len(labels)), key=numbers.__getitem__)
    for cell in set(numbers):
        assert members.rows(cell).tolist() == [row for row, number in enumerate(numbers) if number == cell]


@given(st.integers(0, 10**9), st.integers(0, 10**6))
def test_cells_of_their_own_size_are_never_less_work_for_more_rows(n_rows, more):
    few, many = (PartitionPlan().sized(n).size for n in (n_rows, n_rows + more))
    assert 2000 <= many <= few <= 5000
    assert n_rows * few <= (n_rows + more) * (many + 1)  # sizes are rounded down


@given(st.integers(0, 10**9), st.integers(1, 10**6))
def test_a_size_that_is_given_stays(n_rows, size):
    assert PartitionPlan(cell_size=size).sized(n_rows).size == size
