"""Decision values of many points against float64."""

import numpy as np
import pytest
import reference
from evaluated import evaluate
from hypothesis import example, given, settings
from hypothesis import strategies as st

KERNELS = ("gauss", "laplace", "manhattan")
EXP_ERROR = 2e-7
ROUNDOFF = 2.0**-24
CLOSE_ERROR = 5e-4  # relative, of the kernel where evaluate may expand ||x - s||^2
MOST_TERMS = 130  # added one after the other in float32 before a sum goes on in larger steps


def allowed_error(n_features, coefficients):
    """Bound on |f - f exact| from the rounding of distances, kernel and sums.

    The argument x of exp(-x) has at most d + 5 relative roundings, and x exp(-x) <= 1/e.
    """
    kernel_error = EXP_ERROR + (n_features + 5) * ROUNDOFF / np.e
    terms = MOST_TERMS + coefficients.shape[1] / MOST_TERMS
    return (kernel_error + terms * ROUNDOFF) * np.abs(coefficients.astype(np.float64)).sum(axis=1)


def expansion_error(points, support, coefficients, kernel, width):
    """Bound on what expanded distances add, x and s seen from the mean of the support vectors.

    They are |x|^2 + |s|^2 - 2 <x, s>, of whose root no more than 1/32 of that is taken, or sum |x| + |s| for Manhattan.
    """
    center = support.astype(np.float64).mean(axis=0)
    power = 1 if kernel == "manhattan" else 2
    from_points, from_support = (np.power(np.abs(rows - center), power).sum(axis=1) for rows in (points, support))
    in_widths = (from_points[:, None] + from_support) / width**power
    if kernel == "laplace":
        between = np.sqrt(np.square(points[:, None].astype(np.float64) - support).sum(axis=2)) / width
        in_widths = in_widths / np.maximum(2 * between, in_widths / 16)
    exponent_error = (points.shape[1] + 6) * ROUNDOFF * in_widths
    values = reference.kernel_matrix(kernel, width, points, support)
    return (np.minimum(exponent_error, 1) * values) @ np.abs(coefficients.astype(np.float64)).T


def exact_values(points, support, coefficients, kernel, width):
    return reference.decision_values(points, support, coefficients.T, kernel, width)


def cloud(n_points, n_support, n_features, n_outputs, seed, scale=1.0, offset=0.0):
    rng = np.random.default_rng(seed)
    points, support = (
        (offset + scale * rng.normal(size=(n, n_features))).astype(np.float32) for n in (n_points, n_support)
    )
    return points, support, rng.normal(size=(n_outputs, n_support)).astype(np.float32)


@given(
    n_points=st.integers(1, 40),
    n_support=st.integers(1, 70),
    n_features=st.integers(1, 70),
    n_outputs=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(KERNELS),
    reach=st.sampled_from([0.1, 1.0, 10.0]),
)
@example(n_points=38, n_support=3, n_features=1, n_outputs=2, seed=0, kernel="gauss", reach=0.1)
@settings(max_examples=100, deadline=None)
def test_values_are_those_of_float64_up_to_rounding(n_points, n_support, n_features, n_outputs, seed, kernel, reach):
    points, support, coefficients = cloud(n_points, n_support, n_features, n_outputs, seed)
    width = float(np.float32(reach * np.sqrt(2 * n_features)))
    f = evaluate(points, support, coefficients, kernel, width)
    assert f.shape == (n_points, n_outputs)
    error = np.abs(f - exact_values(points, support, coefficients, kernel, width))
    allowed = allowed_error(n_features, coefficients)
    assert (error <= allowed + expansion_error(points, support, coefficients, kernel, width)).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_support", [1, 15, 16, 17, 511, 512, 513, 1500])
def test_any_number_of_support_vectors_is_summed_to_the_last(kernel, n_support):
    points, support, coefficients = cloud(9, n_support, 4, 2, seed=n_support)
    f = evaluate(points, support, coefficients, kernel, 2.0)
    error = np.abs(f - exact_values(points, support, coefficients, kernel, 2.0))
    expanded = expansion_error(points, support, coefficients, kernel, 2.0)
    assert (error <= allowed_error(4, coefficients) + expanded).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e3])
@pytest.mark.parametrize("width", [0.01, 0.3])
def test_points_far_from_the_origin_lose_no_precision(kernel, offset, width):
    points, support, coefficients = cloud(50, 50, 6, 1, seed=3, scale=0.1, offset=offset)
    f = evaluate(points, support, coefficients, kernel, width)
    error = np.abs(f - exact_values(points, support, coefficients, kernel, np.float32(width)))
    assert (error <= allowed_error(6, coefficients)).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_features", [1, 8, 54])
@pytest.mark.parametrize("radius_in_widths", [1, 10, 19.9, 20.1, 1000])
def test_points_close_to_a_support_vector_keep_three_digits(kernel, n_features, radius_in_widths):
    # Here |x|^2 + |s|^2 - 2 <x, s> loses most to cancellation.
    _, support, coefficients = cloud(1, 500, n_features, 1, seed=4)
    support -= support.mean(axis=0)
    radius = float(np.sqrt(np.square(support).sum(axis=1).max()))
    width = float(np.float32(radius / radius_in_widths))
    nudge = np.random.default_rng(5).normal(size=support.shape) * 1e-3 * width
    points = (support + nudge).astype(np.float32)
    f = evaluate(points, support, coefficients, kernel, width)
    error = np.abs(f - exact_values(points, support, coefficients, kernel, width))
    sizes = exact_values(points, support, np.abs(coefficients), kernel, width)
    assert (error <= CLOSE_ERROR * sizes + allowed_error(n_features, coefficients)).all()


@given(
    n_points=st.integers(1, 30),
    n_support=st.integers(1, 600),
    n_features=st.integers(1, 30),
    n_outputs=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(KERNELS),
)
@settings(max_examples=50, deadline=None)
def test_the_value_of_a_point_does_not_depend_on_the_other_points(
    n_points, n_support, n_features, n_outputs, seed, kernel
):
    points, support, coefficients = cloud(n_points, n_support, n_features, n_outputs, seed)
    together = evaluate(points, support, coefficients, kernel, 1.5)
    order = np.random.default_rng(seed).permutation(n_points)
    shuffled = evaluate(np.ascontiguousarray(points[order]), support, coefficients, kernel, 1.5)
    np.testing.assert_array_equal(shuffled, together[order])
    for i in range(n_points):
        alone = evaluate(points[i : i + 1], support, coefficients, kernel, 1.5)
        np.testing.assert_array_equal(alone[0], together[i])


def test_the_value_of_a_point_does_not_depend_on_a_large_batch():
    points, support, coefficients = cloud(5000, 40, 3, 1, seed=5)
    together = evaluate(points, support, coefficients, "gauss", 1.0)
    some = slice(4093, 4103)
    few = evaluate(np.ascontiguousarray(points[some]), support, coefficients, "gauss", 1.0)
    np.testing.assert_array_equal(few, together[some])


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_value_of_an_output_does_not_depend_on_the_other_outputs(kernel):
    points, support, coefficients = cloud(11, 90, 4, 7, seed=6)
    together = evaluate(points, support, coefficients, kernel, 1.0)
    for o in range(7):
        alone = evaluate(points, support, coefficients[o : o + 1], kernel, 1.0)
        np.testing.assert_array_equal(alone[:, 0], together[:, o])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("far", [1e6, 1e15, 1e19, 1e20, 3e38, np.inf])
def test_a_point_far_from_all_support_vectors_gets_exactly_zero(kernel, far):
    _, support, coefficients = cloud(1, 20, 2, 1, seed=7)
    f = evaluate(np.full((1, 2), far, np.float32), support, coefficients, kernel, 1.0)
    assert f[0, 0] == 0


def test_no_points_and_no_support_vectors_are_no_accident():
    points, support, coefficients = cloud(4, 3, 2, 2, seed=8)
    assert evaluate(points[:0], support, coefficients, "gauss", 1.0).shape == (0, 2)
    nothing = evaluate(points, support[:0], coefficients[:, :0], "gauss", 1.0)
    np.testing.assert_array_equal(nothing, np.zeros((4, 2)))


def test_arrays_that_do_not_fit_are_refused_with_a_sentence():
    points, support, coefficients = cloud(4, 3, 2, 1, seed=9)
    with pytest.raises(ValueError, match="same number of features"):
        evaluate(np.ascontiguousarray(points[:, :1]), support, coefficients, "gauss", 1.0)
    with pytest.raises(ValueError, match="one coefficient per output and support vector"):
        evaluate(points, support, np.ones((1, 2), np.float32), "gauss", 1.0)
    with pytest.raises(ValueError, match="the width must be positive"):
        evaluate(points, support, coefficients, "gauss", 0.0)
    with pytest.raises(ValueError, match="kernel must be"):
        evaluate(points, support, coefficients, "linear", 1.0)
