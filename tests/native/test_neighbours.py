"""Near neighbours of the samples of a cell, against a sort of all distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import _native
from localsvm._native import Cell

PAD, NEIGHBOURS = 16, 24  # of native/core/range.h, simd/ops.h


@pytest.fixture(autouse=True, params=_native.available_simd_levels())
def level(request):
    before = _native.simd_level()
    _native.set_simd_level(request.param)
    yield request.param
    _native.set_simd_level(before)


def sorted_neighbours(distances):
    """The first by distance, then by index, in the order of their indices; padded with a sample that does not exist."""
    n = len(distances)
    sentinel = -(-n // PAD) * PAD
    expected = np.full((n, NEIGHBOURS), sentinel, dtype=np.int32)
    for i, row in enumerate(distances):
        others = [j for j in np.lexsort((np.arange(n), row)) if j != i][:NEIGHBOURS]
        expected[i, : len(others)] = np.sort(others)
    return expected


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 200),
    n_values=st.sampled_from([1, 2, 5, 1000]),
    seed=st.integers(0, 2**32 - 1),
    max_bytes=st.sampled_from([None, 180_000]),
    n_threads=st.integers(1, 3),
)
def test_neighbours_are_the_first_of_all_samples_by_distance(n, n_values, seed, max_bytes, n_threads):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n, 2)).astype(np.float32)  # few values: many equal distances
    cell = Cell(X, [n], "gauss", max_bytes=max_bytes, n_threads=n_threads)
    np.testing.assert_array_equal(cell.neighbours(), sorted_neighbours(cell.distances()))


def test_neighbours_in_a_part_are_among_its_samples():
    rng = np.random.default_rng(0)
    cell = Cell(rng.normal(size=(300, 3)).astype(np.float32), [300], "gauss")
    part = cell.part(list(range(5, 300, 3)))
    np.testing.assert_array_equal(part.neighbours(), sorted_neighbours(part.distances()))


def test_distances_beyond_float32_leave_neighbours_that_exist():
    X = np.array([[3e38], [-3e38], [0.0], [1.0]] * 20, dtype=np.float32)
    neighbours = Cell(X, [len(X)], "gauss").neighbours()
    assert (neighbours < len(X)).all()
    assert (neighbours != np.arange(len(X))[:, None]).all()
