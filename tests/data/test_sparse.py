"""Sparse rows are the rows of the dense matrix, and are dense only where they are read."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from localsvm.data.scaling import fit_to_ends
from localsvm.data.source import RowSubset, block_rows, column_ends, read_blocks, row_blocks
from localsvm.data.sparse import SparseRows

FORMATS = [
    scipy.sparse.csr_matrix,
    scipy.sparse.csc_matrix,
    scipy.sparse.coo_matrix,
    scipy.sparse.csr_array,
    scipy.sparse.csc_array,
    scipy.sparse.coo_array,
    scipy.sparse.lil_array,
    scipy.sparse.bsr_array,
]


def sparse_numbers(seed, shape=(50, 7), dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(shape) < 0.3, rng.normal(size=shape), 0.0).astype(dtype)
    X[3], X[:, 2] = 0, 0
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", FORMATS)
def test_rows_are_those_of_the_dense_matrix(make, dtype):
    X = sparse_numbers(0, dtype=dtype)
    rows = SparseRows.of(make(X))
    assert (rows.shape, len(rows), rows.dtype) == (X.shape, len(X), X.dtype)
    for chosen in (slice(4, 20), slice(0, 0), np.array([7, 3, 7]), np.arange(0)):
        np.testing.assert_array_equal(rows[chosen], X[chosen])
    for column, expected in zip(rows.columns(range(X.shape[1])), X.T, strict=True):
        np.testing.assert_array_equal(column, expected)


def test_a_matrix_in_compressed_rows_is_not_copied():
    matrix = scipy.sparse.csr_matrix(sparse_numbers(1))
    assert np.shares_memory(SparseRows.of(matrix).stored, matrix.data)


def test_entries_that_are_given_twice_add_up():
    twice = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 3))
    np.testing.assert_array_equal(SparseRows.of(twice)[:], twice.toarray())


def test_stored_numbers_are_found_by_row_and_column():
    X = sparse_numbers(2)
    X[[4, 9], [1, 5]] = np.nan
    rows, columns = SparseRows.of(scipy.sparse.csc_array(X)).where(np.isnan)
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == {(4, 1), (9, 5)}


@given(seed=st.integers(0, 1000), method=st.sampled_from(["minmax", None]))
def test_ends_of_columns_and_scalings_are_those_of_the_dense_matrix(seed, method):
    X = sparse_numbers(seed)
    rows = SparseRows.of(scipy.sparse.csr_array(X))
    low, high = column_ends(rows)
    np.testing.assert_array_equal(low, X.min(axis=0))
    np.testing.assert_array_equal(high, X.max(axis=0))
    np.testing.assert_array_equal(fit_to_ends(method, rows).apply(X), fit_to_ends(method, X).apply(X))


@given(n_features=st.integers(1, 10**7))
def test_blocks_of_wide_rows_are_small(n_features):
    size = block_rows(n_features)
    assert size >= 1
    assert size == 1 or size * n_features <= 1 << 21


@given(begin=st.integers(0, 50), length=st.integers(0, 100), size=st.integers(1, 60))
def test_blocks_cover_all_rows_once(begin, length, size):
    covered = [row for block in row_blocks(begin, begin + length, size) for row in range(block.start, block.stop)]
    assert covered == list(range(begin, begin + length))


def test_kept_rows_are_read_through():
    X = sparse_numbers(3)
    kept = np.array([40, 2, 2, 17])
    for source in (X, SparseRows.of(scipy.sparse.csr_array(X))):
        rows = RowSubset(source, kept)
        assert (rows.shape, len(rows), rows.dtype) == ((4, 7), 4, X.dtype)
        np.testing.assert_array_equal(rows[1:3], X[[2, 2]])
        np.testing.assert_array_equal(rows[np.array([3, 0])], X[[17, 40]])
        np.testing.assert_array_equal(np.concatenate(list(read_blocks(rows))), X[kept])
