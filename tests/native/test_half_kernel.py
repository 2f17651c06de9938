"""Kernel matrices of which only the upper half is stored: the same numbers, in half the memory, for any storage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import CANCELLED
from squares import half_bytes, least_bytes, smooth

from localsvm._native import CancelToken, Cell, SquareCell, StopRule

SIZES = [1, 15, 17, 47, 48, 49, 96, 97, 250]
STORAGES = ("full", "kernel", "rows")
LAMS = [1e-1, 1e-3]


def budget(storage, n, d, n_threads=1):
    """The smallest budget with which this is what is stored."""
    return least_bytes(n, d, n_threads) + {"full": 2, "kernel": 1, "rows": 0}[storage] * half_bytes(n)


def samples(n, d=3, seed=0):
    return np.random.default_rng(seed).random((n, d), dtype=np.float32)


def make(X, storage="full", n_threads=1, kernel="gauss", ends=None):
    ends = [len(X)] if ends is None else ends
    return SquareCell(X, ends, kernel, None, budget(storage, *X.shape, n_threads), n_threads)


def solve_ridge(cell, y, n_folds, token=None):
    """The arrays of all solutions."""
    weight = np.ones(len(y), dtype=np.float32)
    solved = cell.solve_ridge(y[None, :], weight, [-1, *range(n_folds)], LAMS, StopRule(1e-4, 1000, token))
    return solved.beta, solved.values, solved.gap, solved.status, solved.steps


# ------------------------------------------------------------------------------------------ matrix


@pytest.mark.parametrize("kernel", ["gauss", "laplace", "manhattan"])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("n", SIZES)
def test_the_matrix_is_that_of_a_cell_that_stores_all_of_it(n, storage, kernel):
    X = samples(n)
    whole = Cell(X, [n], kernel)
    for n_threads in (1, 3):
        half = make(X, storage, n_threads, kernel)
        assert half.storage == storage
        for width in (0.7, 0.1):
            half.set_width(width)
            whole.set_width(width)
            np.testing.assert_array_equal(half.kernel_matrix(), whole.kernel_matrix())


@pytest.mark.parametrize("storage", STORAGES)
def test_one_byte_less_stores_less(storage):
    X = samples(300)
    enough = budget(storage, 300, 3, 2)
    assert SquareCell(X, [300], "gauss", None, enough, 2).storage == storage
    if storage == "rows":
        with pytest.raises(ValueError, match="a cell of 300 rows and 3 features needs at least"):
            SquareCell(X, [300], "gauss", None, enough - 1, 2)
    else:
        less = SquareCell(X, [300], "gauss", None, enough - 1, 2)
        assert less.storage == STORAGES[STORAGES.index(storage) + 1]


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 200), d=st.integers(1, 9), extra=st.floats(0, 1), seed=st.integers(0, 1000))
def test_no_budget_changes_a_solution(n, d, extra, seed):
    X, y = samples(n, d, seed), np.random.default_rng(seed).standard_normal(n).astype(np.float32)
    ends = [n // 3, n]
    plain = SquareCell(X, ends, "gauss")
    little = SquareCell(X, ends, "gauss", None, least_bytes(n, d) + int(extra * half_bytes(n)))
    for cell in (plain, little):
        cell.set_width(0.5)
    for one, other in zip(solve_ridge(plain, y, 2), solve_ridge(little, y, 2), strict=True):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------------- parts


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 200), fraction=st.floats(0.01, 1), seed=st.integers(0, 1000), storage=st.sampled_from(STORAGES))
def test_a_part_is_a_cell_of_its_rows(n, fraction, seed, storage):
    rng = np.random.default_rng(seed)
    X, y = samples(n, seed=seed), rng.standard_normal(n).astype(np.float32)
    rows = np.sort(rng.choice(n, max(1, int(fraction * n)), replace=False))
    ends = [n // 3, n // 2, n]
    whole = make(X, storage, ends=ends)
    alone = make(X[rows], ends=np.searchsorted(rows, ends).tolist())
    part = whole.part(rows.tolist())
    for width in (0.9, 0.2):
        whole.set_width(width)
        alone.set_width(width)
        np.testing.assert_array_equal(part.kernel_matrix(), alone.kernel_matrix())
        for one, other in zip(solve_ridge(part, y[rows], 3), solve_ridge(alone, y[rows], 3), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "at least one row"), ([0, 0], "ascend"), ([2, 1], "ascend"), ([-1], "ascend"), ([9], "ascend")],
)
def test_rows_that_are_no_part_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        make(samples(9)).part(rows)


def test_a_part_has_no_parts_and_no_width_of_its_own():
    whole = make(samples(9))
    part = whole.part([1, 4])
    with pytest.raises(ValueError, match="a part has no parts"):
        part.part([0])
    with pytest.raises(ValueError, match="a part has the width of its cell"):
        part.set_width(1.0)
    for cell in (whole, part):
        with pytest.raises(ValueError, match="set a width first"):
            cell.kernel_matrix()
        with pytest.raises(ValueError, match="set a width first"):
            solve_ridge(cell, np.zeros(9 if cell is whole else 2, dtype=np.float32), 1)


# ---------------------------------------------------------------------------------------- survival


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((samples(9)[:0], [0], "gauss"), "between 1 and"),
        ((samples(9)[:, :0], [9], "gauss"), "at least one feature"),
        ((samples(9), [8], "gauss"), "last fold"),
        ((samples(9), [5, 3, 9], "gauss"), "must not decrease"),
        ((samples(9), [9], "cauchy"), "'gauss', 'laplace' or 'manhattan'"),
        ((samples(9), [9], "gauss", None, None, 0), "at least one thread"),
    ],
)
def test_what_is_no_cell_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SquareCell(*arguments)


@pytest.mark.parametrize("width", [0.0, -1.0, np.nan])
def test_a_width_must_be_positive(width):
    with pytest.raises(ValueError, match="positive"):
        make(samples(9)).set_width(width)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_cancelled_cell_can_be_taken_apart(storage):
    token = CancelToken()
    token.cancel()
    X, y = smooth(200)
    cell = SquareCell(X, [200], "gauss", token, budget(storage, 200, 3))
    cell.set_width(0.5, token)
    status = solve_ridge(cell, y, 1, token=token)[3]
    assert (status == CANCELLED).all()
