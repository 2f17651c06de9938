"""Random chunks: sizes, equal rows together, content instead of order."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import AffineScaling
from localsvm.partition.base import averages
from localsvm.partition.chunks import build_chunks


def chunks_of(X, cell_size, seed=0, **options):
    rows = ScaledRows(X, AffineScaling(np.zeros(X.shape[1]), np.ones(X.shape[1])))
    return build_chunks(rows, cell_size, seed, **options)


@given(n=st.integers(1, 700), cell_size=st.integers(1, 300), seed=st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_distinct_rows_make_as_few_chunks_as_there_can_be_of_nearly_equal_size(n, cell_size, seed):
    X = np.arange(n, dtype=np.float32)[:, None]
    _, members = chunks_of(X, cell_size, seed)
    assert len(members) == -(-n // cell_size)
    assert members.sizes.max() <= cell_size
    assert np.ptp(members.sizes) <= 1
    np.testing.assert_array_equal(np.sort(members.order), np.arange(n))


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 500), distinct=st.integers(1, 200), cell_size=st.integers(1, 120)
)
@settings(deadline=None)
def test_equal_rows_share_a_chunk_and_no_chunk_of_different_rows_is_too_large(seed, n, distinct, cell_size):
    X = np.random.default_rng(seed).integers(0, distinct, size=(n, 1)).astype(np.float32)
    partition, members = chunks_of(X, cell_size, seed)
    labels = partition.assign(X)
    for value in np.unique(X):
        assert len(set(labels[X[:, 0] == value])) == 1
    for chunk, size in enumerate(members.sizes):
        rows = X[members.rows(chunk)]
        assert (labels[members.rows(chunk)] == chunk).all()
        assert 0 < size <= cell_size or len(np.unique(rows)) == 1


def test_every_hostile_row_is_in_one_chunk_and_comes_back_to_it(hostile):
    partition, members = chunks_of(hostile, 100)
    np.testing.assert_array_equal(np.sort(members.order), np.arange(len(hostile)))
    labels = partition.assign(hostile)
    np.testing.assert_array_equal(np.bincount(labels, minlength=len(members)), members.sizes)
    assert all((labels[members.rows(chunk)] == chunk).all() for chunk in range(len(members)))


def test_every_chunk_predicts_every_row(hostile):
    partition, members = chunks_of(hostile, 100)
    assert averages(partition)
    voters = partition.voters(hostile[:7])
    assert voters.shape == (len(hostile[:7]), len(members))
    assert voters.all()


def test_new_rows_have_a_chunk_each():
    X = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    partition, members = chunks_of(X, 30)
    labels = partition.assign(np.random.default_rng(1).normal(size=(5000, 3)).astype(np.float32))
    assert (np.bincount(labels, minlength=len(members)) > 0).all()
    assert len(np.bincount(labels)) == len(members)


def test_a_chunk_is_a_random_sample_of_space():
    X = np.linspace(0, 1, 4000, dtype=np.float32)[:, None]
    partition, members = chunks_of(X, 1000)
    # The mean of 1000 uniform numbers has a standard deviation of 0.009.
    assert np.abs(partition.centers - 0.5).max() < 0.05
    assert (partition.radii > 0.45).all()
    assert len(members) == 4


def test_centers_are_means_and_radii_reach_the_farthest_row(hostile):
    partition, members = chunks_of(hostile, 300)
    for chunk in range(len(members)):
        rows = hostile[members.rows(chunk)].astype(np.float64)
        center = rows.mean(axis=0)
        scale = np.abs(rows).max()
        np.testing.assert_allclose(partition.centers[chunk], center, rtol=1e-6, atol=1e-6 * scale)
        reach = np.linalg.norm(rows - center, axis=1).max()
        assert partition.radii[chunk] == pytest.approx(reach, rel=1e-5, abs=1e-6 * scale)


def test_neither_row_order_nor_threads_matter(hostile):
    partition, members = chunks_of(hostile, 100)
    order = np.random.default_rng(0).permutation(len(hostile))
    again, _ = chunks_of(np.ascontiguousarray(hostile[order]), 100)
    with ThreadPoolExecutor(4) as pool:
        threaded, threaded_members = chunks_of(hostile, 100, thread_map=pool.map)
    for other in (again, threaded):
        np.testing.assert_array_equal(other.last_hashes, partition.last_hashes)
        np.testing.assert_array_equal(other.centers, partition.centers)
        np.testing.assert_array_equal(other.radii, partition.radii)
    np.testing.assert_array_equal(threaded_members.order, members.order)


def test_another_seed_makes_other_chunks():
    X = np.arange(300, dtype=np.float32)[:, None]
    first, second = (chunks_of(X, 100, seed)[0].assign(X) for seed in (0, 1))
    assert (first != second).any()


def test_sums_that_round_do_not_depend_on_row_order():
    # Large numbers that cancel: in another order the mean is another one.
    rng = np.random.default_rng(0)
    large = rng.normal(size=(200, 1)) * 1e10
    X = np.concatenate([large, -large, rng.normal(size=(100, 1)) * 1e-7]).astype(np.float32)
    partition, _ = chunks_of(X, 500)
    for _ in range(5):
        again, _ = chunks_of(rng.permutation(X), 500)
        np.testing.assert_array_equal(again.centers, partition.centers)
