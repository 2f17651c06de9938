"""What is stored of a kernel matrix: everything, K alone, or some rows of it. The results are the same to the bit."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm._native import CancelToken, Cell, StopRule, available_simd_levels, set_simd_level, simd_level
from localsvm.cell.path import STATUS
from localsvm.data import toy_mixture

PAD, NEIGHBOURS, BLOCK, PINNED = 16, 24, 32, 10  # of native/core/range.h, simd/ops.h, smo/cell.cpp, kernel/row_cache.h
LAMS = [1e-1, 1e-2, 1e-3, 1e-4]
STORAGES = ("full", "kernel", "rows")


def row_bytes(n):
    return 4 * -(-n // PAD) * PAD


def fixed_bytes(n, d, n_threads):
    return row_bytes(n) * d + n * NEIGHBOURS * 12 + row_bytes(n) * BLOCK * n_threads


def budget(storage, n, d, n_threads, extra_rows=0):
    """The smallest budget with which this is what is stored."""
    if storage == "full":
        return fixed_bytes(n, d, 0) + 2 * n * row_bytes(n)
    rows = n if storage == "kernel" else min(n, PINNED * n_threads) + extra_rows
    return fixed_bytes(n, d, n_threads) + rows * row_bytes(n)


def noisy(n, d=3, seed=0):
    """Samples of which many become support vectors: a tenth of the labels is wrong."""
    X, y = toy_mixture(n, d, random_state=seed)
    flipped = np.random.default_rng(seed).random(n) < 0.1
    return X, np.where(flipped, -y, y).astype(np.float32)


def make_cell(X, y, max_bytes=None, n_threads=1, kernel="gauss", ends=None, token=None):
    n = len(y)
    ends = [n // 3, 2 * n // 3, n] if ends is None else ends
    cell = Cell(X, ends, kernel, token, max_bytes, n_threads)
    cell.add_problem(y, np.minimum(y, 0), np.maximum(y, 0), 1.0)
    return cell


def all_paths(cell, n, widths=(2.0, 0.5), n_threads=1, token=None):
    """Every array of all widths and folds, and of a path on all rows."""
    arrays = []
    for width in widths:
        cell.set_width(width, token)
        with ThreadPoolExecutor(n_threads) as pool:
            for path in pool.map(
                lambda fold: cell.solve_path(0, fold, LAMS, 2 / 3 * n, StopRule(1e-4, 1_000_000, token)), (0, 1, 2, -1)
            ):
                arrays.extend(arrays_of(path))
    return arrays


def arrays_of(path):
    return [path.beta, path.values, path.gap, path.status, path.steps]


def assert_same(some, others):
    for left, right in zip(some, others, strict=True):
        np.testing.assert_array_equal(left.view(np.uint8), right.view(np.uint8))


@pytest.fixture
def restored_level():
    level = simd_level()
    yield
    set_simd_level(level)


@pytest.mark.parametrize("level", available_simd_levels())
@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
def test_results_are_the_same_to_the_bit_in_every_storage_and_number_of_threads(level, kernel, restored_level):
    set_simd_level(level)
    X, y = noisy(250)
    expected = all_paths(make_cell(X, y, kernel=kernel), 250)
    for storage in STORAGES:
        for n_threads in (1, 2, 4):
            cell = make_cell(X, y, budget(storage, 250, 3, n_threads), n_threads, kernel)
            assert cell.storage == storage
            assert_same(all_paths(cell, 250, n_threads=n_threads), expected)


@given(
    n=st.integers(1, 150),
    d=st.integers(1, 20),
    extra_rows=st.integers(0, 40),
    n_threads=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_no_budget_changes_a_result(n, d, extra_rows, n_threads, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = rng.choice([-1.0, 1.0], size=n).astype(np.float32)
    expected = all_paths(make_cell(X, y), n)
    for storage in STORAGES:
        cell = make_cell(X, y, budget(storage, n, d, n_threads, extra_rows), n_threads)
        assert_same(all_paths(cell, n, n_threads=n_threads), expected)


@pytest.mark.parametrize("storage", STORAGES)
def test_matrices_are_the_same_in_every_storage_and_number_of_threads(storage):
    X, y = noisy(1100)
    one = make_cell(X, y)
    one.set_width(0.7)
    other = make_cell(X, y, budget(storage, 1100, 3, 3), 3)
    other.set_width(0.7)
    assert_same([one.distances(), one.kernel_matrix()], [other.distances(), other.kernel_matrix()])


def test_large_coefficients_are_summed_in_double_in_every_storage():
    X, y = noisy(120)
    lams = [1e-3, 1e-9, 1e-10]
    paths = []
    for storage in STORAGES:
        cell = make_cell(X, y, budget(storage, 120, 3, 1))
        cell.set_width(0.3)
        paths.append(arrays_of(cell.solve_path(0, 0, lams, 80.0, StopRule(1e-3, 100_000))))
    assert_same(paths[0], paths[1])
    assert_same(paths[0], paths[2])


@pytest.mark.parametrize("storage", STORAGES)
def test_one_byte_less_stores_less(storage):
    X, y = noisy(300)
    enough = budget(storage, 300, 3, 2)
    assert make_cell(X, y, enough, 2).storage == storage
    if storage == "rows":
        with pytest.raises(ValueError, match="a cell of 300 rows and 3 features needs at least"):
            make_cell(X, y, enough - 1, 2)
    else:
        less = make_cell(X, y, enough - 1, 2)
        assert less.storage == STORAGES[STORAGES.index(storage) + 1]


@pytest.mark.parametrize("extra_rows", [0, 7, 100])
def test_no_more_rows_are_held_than_fit_into_the_budget(extra_rows):
    X, y = noisy(600)
    cell = make_cell(X, y, budget("rows", 600, 3, 2, extra_rows), 2)
    assert cell.row_counts["held"] == 20 + extra_rows
    all_paths(cell, 600, n_threads=2)
    counts = cell.row_counts
    assert counts["held"] == 20 + extra_rows
    assert counts["misses"] > 600  # rows were given up and made again


def test_more_threads_than_announced_get_their_rows_too():
    X, y = noisy(300)
    cell = make_cell(X, y, budget("rows", 300, 3, 1), n_threads=1)
    assert_same(all_paths(cell, 300, n_threads=4), all_paths(make_cell(X, y), 300))
    assert cell.row_counts["held"] <= 4 * PINNED


def test_if_all_rows_fit_none_is_computed_twice():
    X, y = noisy(300)
    # Less than a stored matrix takes, as that has its own scratch memory: one row short of it.
    cell = make_cell(X, y, budget("kernel", 300, 3, 1) - 1)
    assert cell.storage == "rows"
    all_paths(cell, 300)
    counts = cell.row_counts
    assert counts["held"] == 299
    assert counts["misses"] <= 0.02 * (counts["hits"] + counts["misses"])


def test_a_stored_matrix_counts_no_rows():
    X, y = noisy(50)
    cell = make_cell(X, y)
    all_paths(cell, 50)
    assert set(cell.row_counts.values()) == {0}


@pytest.mark.parametrize("n_threads", [0, -1])
def test_a_cell_without_threads_is_refused(n_threads):
    with pytest.raises(ValueError, match="at least one thread"):
        Cell(np.zeros((2, 1), np.float32), [2], "gauss", n_threads=n_threads)


# ------------------------------------------------------------------------------------ cancellation


@pytest.mark.parametrize("storage", STORAGES)
def test_cancelled_before_it_began_a_path_says_so(storage):
    X, y = noisy(200)
    token = CancelToken()
    token.cancel()
    cell = make_cell(X, y, budget(storage, 200, 3, 2), 2, token=token)
    cell.set_width(1.0, token)
    status = cell.solve_path(0, 0, LAMS, 100.0, StopRule(1e-3, 1000, token)).status
    assert (status == STATUS.index("cancelled")).all()


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("delay", [0.02, 0.2, 0.5])
def test_a_cell_at_work_stops_soon_after_it_is_told_to(storage, delay):
    n, d = 3000, 20
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(n, d)).astype(np.float32), rng.choice([-1.0, 1.0], size=n).astype(np.float32)
    token, stopped = CancelToken(), []

    def work():
        cell = make_cell(X, y, budget(storage, n, d, 2), 2, token=token)
        while not token.cancelled:  # coin flips at a gap of 1e-7 take longer than anybody waits
            cell.set_width(2.0, token)
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda fold: cell.solve_path(0, fold, [1e-6], n, StopRule(1e-7, 10**9, token)), (0, 1)))
        stopped.append(time.perf_counter())

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(delay)
    begin = time.perf_counter()
    token.cancel()
    thread.join()
    assert stopped[0] - begin < 1.0  # some hundredths, on a machine that does nothing else
