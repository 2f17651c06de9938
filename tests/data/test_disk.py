"""Rows on disk: what was written is read, by slices, numbers and columns, in any arrangement."""

import gc
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm.data import disk
from localsvm.data.arranged import ArrangedRows
from localsvm.data.disk import RowFile
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import AffineScaling
from localsvm.errors import InvalidData


def filled(X, directory, block=3):
    rows = RowFile(X.shape, X.dtype, directory)
    for begin in range(0, len(X), block):
        rows.write(begin, X[begin : begin + block])
    return rows


@pytest.fixture
def narrow_windows(monkeypatch):
    """Windows of a few rows, so that small files have many of them."""
    monkeypatch.setattr(disk, "_WINDOW_BYTES", 64)
    monkeypatch.setattr(disk, "_GAP_BYTES", 24)
    monkeypatch.setattr(disk, "_COLUMNS_BYTES", 200)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_read_as_they_were_written(tmp_path, narrow_windows, dtype):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(dtype)
    rows = filled(X, tmp_path)
    assert rows.shape == X.shape and rows.dtype == X.dtype and len(rows) == 50
    for part in (slice(None), slice(10, 20), slice(48, 99), slice(7, 7), slice(9, 3)):
        np.testing.assert_array_equal(rows[part], X[part])


def test_threads_share_a_file_that_has_one_position(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "preadv")  # as on Windows
    monkeypatch.delattr(os, "pwrite")
    X = np.arange(30_000.0).reshape(10_000, 3)
    rows = filled(X, tmp_path, block=100)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda begin: rows[begin : begin + 50], range(0, 10_000, 50)))
    np.testing.assert_array_equal(np.concatenate(parts), X)


@settings(deadline=None)
@given(numbers=st.lists(st.integers(0, 49), max_size=80))
def test_any_rows_are_read_by_number(tmp_path_factory, numbers):
    X = np.random.default_rng(0).normal(size=(50, 3))
    rows = filled(X, tmp_path_factory.getbasetemp())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "_WINDOW_BYTES", 64)
        patch.setattr(disk, "_GAP_BYTES", 24)
        np.testing.assert_array_equal(rows[np.array(numbers, dtype=np.intp)], X[numbers])


@pytest.mark.parametrize("wanted", [[], [1], [2, 0], [0, 1, 2, 3, 4]])
def test_columns_are_gathered(tmp_path, narrow_windows, wanted):
    X = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    found = list(filled(X, tmp_path).columns(wanted))
    assert len(found) == len(wanted)
    for column, j in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(column, X[:, j])


def test_a_file_has_no_name(tmp_path):
    rows = filled(np.ones((4, 2)), tmp_path)
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(rows[:], np.ones((4, 2)))


def test_more_rows_than_the_disk_has_room_for_are_refused_at_once(tmp_path):
    with pytest.raises(InvalidData, match=r"take 8e\+06 GB, but .* of free space.* larger disk"):
        RowFile((10**12, 1000), np.float64, tmp_path)


def test_a_directory_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidData, match=r"nowhere.*No such file"):
        RowFile((1, 1), np.float32, tmp_path / "nowhere")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is always full")
def test_a_disk_that_fills_up_gives_a_sentence(tmp_path):
    rows = RowFile((1000, 10), np.float64, tmp_path)
    refused = pytest.raises(InvalidData, match="Name a directory on a larger disk")
    with open("/dev/full", "r+b", buffering=0) as rows._file, refused:
        rows.write(0, np.ones((1000, 10)))


def arranged(X, directory, buffer_bytes):
    identity = AffineScaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    return ArrangedRows(ScaledRows(X, identity), directory, buffer_bytes)


@settings(deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 60),
    rounds=st.integers(0, 3),
    buffer_bytes=st.sampled_from([1, 200, 10**6]),
)
def test_rows_keep_their_numbers_in_any_arrangement(tmp_path_factory, seed, n, rounds, buffer_bytes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    rows = arranged(X, tmp_path_factory.getbasetemp(), buffer_bytes)
    for _ in range(rounds):
        order = rng.permutation(n)
        rows.arrange(order)
        np.testing.assert_array_equal(rows._file[:], X[order])
    some = rng.integers(0, n, size=10)
    np.testing.assert_array_equal(rows.take(some), X[some])
    np.testing.assert_array_equal(rows.take(slice(0, n)), X)


def test_arranged_rows_are_scaled(tmp_path):
    X = np.array([[1.0], [3.0]])
    rows = ArrangedRows(ScaledRows(X, AffineScaling(np.array([1.0]), np.array([0.5]))), tmp_path)
    assert rows.take(slice(0, 2)).tolist() == [[0.0], [1.0]] and rows.n_features == 1 and len(rows) == 2


@pytest.mark.skipif(os.name != "posix", reason="processes are killed as Unix does it")
def test_a_killed_process_leaves_nothing_on_the_disk(tmp_path):
    program = """
import sys, numpy as np
from localsvm.data.disk import RowFile
rows = RowFile((1000, 10), np.float64, sys.argv[1])
rows.write(0, np.ones((1000, 10)))
print("written", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"written\n"
        process.kill()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_nobody_needs_any_more_goes_without_a_word(tmp_path):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        RowFile((3, 2), np.float32, tmp_path)
        gc.collect()
    assert said == []
