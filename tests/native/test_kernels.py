"""Distances and kernels against float64, with the error bounds that native/simd/simd.h states."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from localsvm import _native
from localsvm._native import Cell, kernel_values

KERNELS = ("gauss", "laplace", "manhattan")
EXP_ERROR = 2e-7  # relative, of 2^x for -125.5 <= x <= 0 (simd.h)
EXP_LOWEST = 86.98  # exp(-x) is zero beyond
ROUNDOFF = 2.0**-24  # of one float32 operation, relative


def argument(kernel, width, distances):
    """-log k in float64, for float32 distances as the kernel takes them."""
    distances, width = distances.astype(np.float64), float(np.float32(width))
    return {"gauss": distances / width**2, "laplace": np.sqrt(distances) / width, "manhattan": distances / width}[
        kernel
    ]


def distances_for(kernel, arguments):
    """Distances that at width 1 give these arguments of exp, without rounding."""
    arguments = arguments.astype(np.float32)
    if kernel != "laplace":
        return arguments
    # Multiples of 2^-5 below 128 have squares of at most 24 bits: sqrt gives them back.
    steps = np.round(arguments * 32) / 32
    return (steps * steps).astype(np.float32)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kernel_keeps_its_stated_relative_error_over_the_whole_range(kernel):
    everywhere = np.concatenate([np.linspace(0, EXP_LOWEST, 400_001), np.geomspace(1e-38, EXP_LOWEST, 100_001), [0.0]])
    distances = distances_for(kernel, everywhere)
    x = argument(kernel, 1.0, distances)
    exact = np.exp(-x)
    error = np.abs(kernel_values(kernel, 1.0, distances) - exact) / exact
    # x becomes the exponent of 2 by a factor that is rounded, and so is the product.
    assert (error <= EXP_ERROR + 2 * ROUNDOFF * x * (1 + 1e-6)).all()
    assert error[x < 0.01].max() < EXP_ERROR


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("width", [1e-6, 0.037, 0.9, 3.3, 1e6])
def test_at_any_width_only_the_rounding_of_the_argument_is_added(kernel, width):
    unit = width**2 if kernel == "gauss" else width
    scaled = np.linspace(0, EXP_LOWEST - 1, 50_001) * unit
    distances = (scaled**2 if kernel == "laplace" else scaled).astype(np.float32)
    x = argument(kernel, width, distances)
    exact = np.exp(-x)
    # Three roundings on the way to x, each a relative one of x and so an absolute one of log k.
    allowed = EXP_ERROR + 3 * ROUNDOFF * x * (1 + 1e-6)
    assert (np.abs(kernel_values(kernel, width, distances) - exact) / exact <= allowed).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_far_apart_is_exactly_zero(kernel):
    beyond = np.array([EXP_LOWEST + 1, 1e3, 1e18, np.finfo(np.float32).max, np.inf])
    distances = (np.square(beyond) if kernel == "laplace" else beyond).clip(max=3e38)
    distances = np.append(distances, np.inf).astype(np.float32)
    assert (kernel_values(kernel, 1.0, distances) == 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_kernel_value_is_subnormal(kernel):
    around = distances_for(kernel, np.linspace(EXP_LOWEST - 1, EXP_LOWEST + 1, 10_001))
    k = kernel_values(kernel, 1.0, around)
    assert ((k == 0) | (k >= np.finfo(np.float32).tiny)).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_distance_zero_gives_exactly_one(kernel):
    assert (kernel_values(kernel, 0.3, np.zeros(33, dtype=np.float32)) == 1).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kernel_falls_with_the_distance(kernel):
    distances = distances_for(kernel, np.linspace(0, EXP_LOWEST + 1, 200_001))
    k = kernel_values(kernel, 1.0, distances).astype(np.float64)
    x = argument(kernel, 1.0, distances)
    # Nearer by more than twice the error of exp: larger for certain. Else equal up to that error.
    assert (np.diff(k)[np.diff(x) > 2 * EXP_ERROR] <= 0).all()
    assert (np.diff(k) <= 2 * EXP_ERROR * k[:-1]).all()


@given(
    distances=hnp.arrays(
        np.float32,
        st.integers(1, 70),
        elements=st.floats(0, 2.0**100, width=32, allow_subnormal=False),
    ),
    width=st.floats(2.0**-10, 2.0**10, width=32),
    kernel=st.sampled_from(KERNELS),
)
@settings(max_examples=100, deadline=None)
def test_kernel_values_do_not_depend_on_their_place_in_the_array(distances, width, kernel):
    together = kernel_values(kernel, width, distances)
    alone = [kernel_values(kernel, width, distances[i : i + 1])[0] for i in range(len(distances))]
    np.testing.assert_array_equal(together, np.array(alone))
    assert ((together >= 0) & (together <= 1)).all()


# ------------------------------------------------------------------------------- a cell's matrices


@st.composite
def points(draw):
    """Rows with duplicates, of any shape and magnitude whose squares float32 can hold."""
    n, d = draw(st.integers(1, 70)), draw(st.integers(1, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d)) * draw(st.sampled_from([1e-15, 1e-6, 1.0, 1e6, 1e15]))
    X += draw(st.sampled_from([0.0, 1.0, -1e3])) * np.abs(X).max()
    X = X[rng.integers(0, n, size=n)] if draw(st.booleans()) else X
    return X.astype(np.float32)


@pytest.mark.parametrize(
    ("kernel", "exactly"),
    [
        ("gauss", reference.squared_distances),
        ("laplace", reference.squared_distances),
        ("manhattan", reference.manhattan_distances),
    ],
)
@given(X=points())
@settings(max_examples=60, deadline=None)
def test_distances_equal_those_of_float64_up_to_rounding(kernel, exactly, X):
    n, d = X.shape
    distances = Cell(X, [n], kernel).distances()
    np.testing.assert_array_equal(_native.distances(X, [0, n - 1], kernel), distances[[0, n - 1]])
    exact = exactly(X, X)
    # A difference, its square, a sum of d terms: d + 2 roundings of numbers that never cancel.
    np.testing.assert_allclose(distances, exact, rtol=1.01 * (d + 2) * ROUNDOFF, atol=1e-37)


@given(X=points(), kernel=st.sampled_from(KERNELS), width=st.floats(1e-2, 1e2))
@settings(max_examples=60, deadline=None)
def test_distances_and_kernels_are_symmetric_to_the_bit(X, kernel, width):
    cell = Cell(X, [len(X)], kernel)
    cell.set_width(width * max(float(np.ptp(X)), 1e-15))
    for matrix in (cell.distances(), cell.kernel_matrix()):
        np.testing.assert_array_equal(matrix, matrix.T)


@given(X=points(), kernel=st.sampled_from(KERNELS))
@settings(max_examples=60, deadline=None)
def test_identical_rows_have_distance_zero_and_kernel_one(X, kernel):
    cell = Cell(X, [len(X)], kernel)
    cell.set_width(1.0)
    identical = (X[:, None, :] == X[None, :, :]).all(axis=2)
    assert (cell.distances()[identical] == 0).all()
    assert (cell.kernel_matrix()[identical] == 1).all()


@given(X=points(), kernel=st.sampled_from(KERNELS), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_the_distance_of_two_rows_does_not_depend_on_the_other_rows(X, kernel, seed):
    whole = Cell(X, [len(X)], kernel).distances()
    some = np.random.default_rng(seed).permutation(len(X))[: (len(X) + 1) // 2]
    part = Cell(np.ascontiguousarray(X[some]), [len(some)], kernel).distances()
    np.testing.assert_array_equal(part, whole[np.ix_(some, some)])


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kernel_matrix_is_the_kernel_of_the_distances(kernel):
    X = np.random.default_rng(0).normal(size=(37, 5)).astype(np.float32)
    cell = Cell(X, [37], kernel)
    for width in (0.1, 1.0, 10.0):
        cell.set_width(width)
        expected = kernel_values(kernel, width, cell.distances().ravel())
        np.testing.assert_array_equal(cell.kernel_matrix().ravel(), expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_distances_beyond_float32_are_infinite_and_their_kernel_zero(kernel):
    X = np.array([[-3e38, -3e38], [0.0, 0.0], [3e38, 3e38]], dtype=np.float32)
    cell = Cell(X, [3], kernel)
    cell.set_width(1.0)
    np.testing.assert_array_equal(cell.distances() == np.inf, ~np.eye(3, dtype=bool))
    np.testing.assert_array_equal(cell.kernel_matrix(), np.eye(3))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("width", [1e-40, 1e-25, 1e-19, 1e25, 3e38])
def test_extreme_widths_give_the_identity_or_ones_and_never_nan(kernel, width):
    X = np.arange(5, dtype=np.float32)[:, None]
    cell = Cell(X, [5], kernel)
    cell.set_width(width)
    expected = np.eye(5) if width < 1 else np.ones((5, 5))
    np.testing.assert_array_equal(cell.kernel_matrix(), expected)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.zeros((2, 1), np.float32), [2], "poly"), "kernel must be 'gauss', 'laplace' or 'manhattan'"),
        ((np.zeros((2, 1), np.float32), [1], "gauss"), "the last fold must end at the last row"),
        ((np.zeros((2, 1), np.float32), [2, 1, 2], "gauss"), "fold ends must not decrease"),
        ((np.zeros((0, 1), np.float32), [0], "gauss"), "between 1 and 2\\*\\*20 rows"),
        ((np.zeros((2, 0), np.float32), [2], "gauss"), "at least one feature"),
    ],
)
def test_an_impossible_cell_is_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Cell(*arguments)


@pytest.mark.parametrize("width", [0.0, -1.0, np.nan])
def test_a_width_that_is_not_positive_is_refused(width):
    with pytest.raises(ValueError, match="the width must be positive"):
        Cell(np.zeros((2, 1), np.float32), [2], "gauss").set_width(width)
