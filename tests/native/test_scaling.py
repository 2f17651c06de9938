"""The core's scaling against NumPy's arithmetic, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from localsvm._native import all_finite, scale_affine, scale_to_ranks

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def numpy_affine(X, shift, factor):
    with np.errstate(over="ignore", invalid="ignore"):
        return ((X.astype(np.float64) / 2 - shift / 2) * factor * 2).astype(np.float32)


@pytest.mark.filterwarnings("ignore:overflow")
@given(st.data(), st.integers(1, 6), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=100, deadline=None)
def test_affine_scaling_rounds_like_numpy(data, n_features, dtype):
    X = data.draw(arrays(dtype, (5, n_features), elements=SINGLE if dtype == np.float32 else FINITE))
    shift = data.draw(arrays(np.float64, n_features, elements=FINITE))
    factor = data.draw(arrays(np.float64, n_features, elements=st.floats(0, 1e10)))
    np.testing.assert_array_equal(scale_affine(X, shift, factor), numpy_affine(X, shift, factor))


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 21))
@settings(max_examples=100, deadline=None)
def test_ranks_are_those_of_numpy_interp(seed, sizes, n_rows):
    rng = np.random.default_rng(seed)
    knots = [np.unique(rng.normal(size=size).round(2)) for size in sizes]
    ranks = [np.sort(rng.uniform(size=len(column))) for column in knots]
    X = rng.normal(size=(n_rows, len(sizes))).round(2)  # many are knots
    expected = np.empty(X.shape)
    for j, (xp, fp) in enumerate(zip(knots, ranks, strict=True)):
        expected[:, j] = np.interp(X[:, j], xp, fp)
    ends = np.cumsum([len(column) for column in knots])
    found = scale_to_ranks(X, np.concatenate(knots), np.concatenate(ranks), ends)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_single_number_that_is_not_finite_is_found_wherever_it_is(dtype, bad):
    X = np.random.default_rng(0).normal(size=(5, 7)).astype(dtype)
    X[0, 0] = np.finfo(dtype).max
    assert all_finite(X)
    for place in np.ndindex(X.shape):
        with_it = X.copy()
        with_it[place] = bad
        assert not all_finite(with_it)


def test_arrays_that_do_not_fit_are_refused():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="for every column"):
        scale_affine(X, np.zeros(1), np.ones(2))
    with pytest.raises(ValueError, match="every column needs a knot"):
        scale_to_ranks(X, np.zeros(1), np.zeros(1), np.array([1, 1]))
    with pytest.raises(ValueError, match="each has a rank"):
        scale_to_ranks(X, np.zeros(3), np.zeros(2), np.array([1, 3]))
