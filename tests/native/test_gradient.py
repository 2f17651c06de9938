"""Derivatives of kernel sums against float64 and against differences of the sums themselves, at every SIMD level."""

import numpy as np
import pytest
import reference
from evaluated import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import _native
from localsvm._native import gradients, mean_squared_gradients

KERNELS = ("gauss", "laplace", "manhattan")
EXP_ERROR = 2e-7
ROUNDOFF = 2.0**-24
MOST_TERMS = 130  # added one after the other in float32 before a sum goes on in double

every_level = pytest.mark.parametrize("level", _native.available_simd_levels())
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


@pytest.fixture(autouse=True)
def restored_level():
    before = _native.simd_level()
    yield
    _native.set_simd_level(before)


def allowed_error(n_features, coefficients, width):
    """Bound on |gradient - exact gradient|, by output.

    A kernel is nowhere steeper than 1 / width, and the relative error of its argument, d + 10 roundings at most, does
    no harm where it is large: x^1.5 exp(-x) < 1.
    """
    relative = EXP_ERROR + (n_features + 10 + MOST_TERMS) * ROUNDOFF
    return (relative * np.abs(coefficients.astype(np.float64)).sum(axis=1) / width)[None, :, None]


def exact_gradients(points, support, coefficients, kernel, width):
    return reference.gradients(points, support, coefficients.T, kernel, width)


def cloud(n_points, n_support, n_features, n_outputs, seed, scale=1.0, offset=0.0):
    rng = np.random.default_rng(seed)
    points, support = (
        (offset + scale * rng.normal(size=(n, n_features))).astype(np.float32) for n in (n_points, n_support)
    )
    return points, support, rng.normal(size=(n_outputs, n_support)).astype(np.float32)


shapes = {
    "n_points": st.integers(1, 70),
    "n_support": st.integers(1, 70),
    "n_features": st.integers(1, 40),
    "n_outputs": st.integers(1, 4),
    "seed": st.integers(0, 2**32 - 1),
    "kernel": st.sampled_from(KERNELS),
}


@every_level
@given(**shapes, reach=st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=50, deadline=None)
def test_gradients_are_those_of_float64_up_to_rounding(
    level, n_points, n_support, n_features, n_outputs, seed, kernel, reach
):
    _native.set_simd_level(level)
    points, support, coefficients = cloud(n_points, n_support, n_features, n_outputs, seed)
    width = float(np.float32(reach * np.sqrt(2 * n_features)))
    found = gradients(points, support, coefficients, kernel, width)
    assert found.shape == (n_points, n_outputs, n_features)
    error = np.abs(found - exact_gradients(points, support, coefficients, kernel, width))
    assert (error <= allowed_error(n_features, coefficients, width)).all()


@every_kernel
@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_the_slow_twin_is_the_limit_of_differences(kernel, n_features):
    points, support, coefficients = (array.astype(np.float64) for array in cloud(20, 30, n_features, 2, seed=1))
    points[:3] = support[:3]  # the tip of a Laplace kernel is symmetric, and counts as flat
    step = 1e-5
    for feature, away in enumerate(step * np.eye(n_features)):
        above, below = (
            reference.decision_values(points + sign * away, support, coefficients.T, kernel, 1.3) for sign in (1, -1)
        )
        found = reference.gradients(points, support, coefficients.T, kernel, 1.3)[:, :, feature]
        np.testing.assert_allclose(found, (above - below) / (2 * step), atol=1e-6)


@every_level
@every_kernel
def test_gradients_are_differences_of_what_evaluate_returns(level, kernel):
    _native.set_simd_level(level)
    points, support, coefficients = cloud(40, 300, 3, 2, seed=2)
    step = np.float32(2.0**-6)
    # Edges of the Manhattan distance, where a coordinate is that of a support vector, are not within a step.
    points, support = np.round(8 * points) / 8 + np.float32(1 / 16), np.round(8 * support) / 8
    differences = np.stack(
        [
            (
                evaluate(points + away, support, coefficients, kernel, 4.0)
                - evaluate(points - away, support, coefficients, kernel, 4.0)
            )
            / (2 * step)
            for away in step * np.eye(3, dtype=np.float32)
        ],
        axis=-1,
    )
    found = gradients(points, support, coefficients, kernel, 4.0)
    np.testing.assert_allclose(found, differences, atol=0.02 * np.abs(differences).max())


@every_level
@every_kernel
@pytest.mark.parametrize("n_support", [1, 15, 16, 17, 511, 512, 513, 1500])
def test_any_number_of_support_vectors_is_summed_to_the_last(level, kernel, n_support):
    _native.set_simd_level(level)
    points, support, coefficients = cloud(9, n_support, 4, 2, seed=n_support)
    error = np.abs(
        gradients(points, support, coefficients, kernel, 2.0)
        - exact_gradients(points, support, coefficients, kernel, 2.0)
    )
    assert (error <= allowed_error(4, coefficients, 2.0)).all()


@every_kernel
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e3])
@pytest.mark.parametrize("nudge", [1e-6, 1e-3, 1.0])
def test_points_close_to_a_support_vector_or_far_from_the_origin_lose_no_precision(kernel, offset, nudge):
    _, support, coefficients = cloud(1, 200, 5, 1, seed=3, scale=0.1, offset=offset)
    noise = np.random.default_rng(4).normal(size=support.shape)
    points = (support + 0.1 * nudge * noise).astype(np.float32)
    width = float(np.float32(0.1))
    error = np.abs(
        gradients(points, support, coefficients, kernel, width)
        - exact_gradients(points, support, coefficients, kernel, width)
    )
    assert (error <= allowed_error(5, coefficients, width)).all()


@every_level
@pytest.mark.parametrize("kernel", ["laplace", "manhattan"])
def test_the_tip_of_a_kernel_counts_as_flat(level, kernel):
    _native.set_simd_level(level)
    _, support, coefficients = cloud(1, 20, 3, 1, seed=5)
    for s in range(20):
        alone = gradients(support[s : s + 1], support[s : s + 1], coefficients[:, s : s + 1], kernel, 1.0)
        np.testing.assert_array_equal(alone, np.zeros((1, 1, 3)))


@every_level
@given(**shapes)
@settings(max_examples=25, deadline=None)
def test_the_gradient_of_a_point_does_not_depend_on_other_points_and_outputs(
    level, n_points, n_support, n_features, n_outputs, seed, kernel
):
    _native.set_simd_level(level)
    points, support, coefficients = cloud(n_points, n_support, n_features, n_outputs, seed)
    together = gradients(points, support, coefficients, kernel, 1.5)
    order = np.random.default_rng(seed).permutation(n_points)
    np.testing.assert_array_equal(gradients(points[order], support, coefficients, kernel, 1.5), together[order])
    for i in (0, n_points - 1):
        alone = gradients(points[i : i + 1], support, coefficients, kernel, 1.5)
        np.testing.assert_array_equal(alone[0], together[i])
    last = gradients(points, support, coefficients[-1:], kernel, 1.5)
    np.testing.assert_array_equal(last[:, 0], together[:, -1])


@every_level
@every_kernel
@pytest.mark.parametrize("n_points", [1, 31, 33, 1000, 2500])
def test_the_number_of_threads_changes_no_bit(level, kernel, n_points):
    _native.set_simd_level(level)
    points, support, coefficients = cloud(n_points, 40, 3, 2, seed=6)
    weights = np.random.default_rng(7).uniform(size=n_points)
    expected = gradients(points, support, coefficients, kernel, 1.0)
    means = mean_squared_gradients(points, weights, support, coefficients, kernel, 1.0)
    for n_threads in (2, 3, 7):
        found = gradients(points, support, coefficients, kernel, 1.0, n_threads)
        np.testing.assert_array_equal(found, expected)
        found_means = mean_squared_gradients(points, weights, support, coefficients, kernel, 1.0, n_threads)
        np.testing.assert_array_equal(found_means, means)


@every_level
@given(**shapes)
@settings(max_examples=25, deadline=None)
def test_mean_squares_are_weighted_means_of_the_squared_gradients(
    level, n_points, n_support, n_features, n_outputs, seed, kernel
):
    _native.set_simd_level(level)
    points, support, coefficients = cloud(n_points, n_support, n_features, n_outputs, seed)
    weights = np.random.default_rng(seed).integers(0, 3, size=n_points).astype(np.float64)
    weights[0] = 1.0
    means = mean_squared_gradients(points, weights, support, coefficients, kernel, 2.0)
    assert means.shape == (n_outputs, n_features)
    squares = np.square(gradients(points, support, coefficients, kernel, 2.0).astype(np.float64))
    np.testing.assert_allclose(means, np.average(squares, axis=0, weights=weights), rtol=1e-5, atol=1e-12)
    repeated = mean_squared_gradients(
        np.repeat(points, weights.astype(int), axis=0),
        np.ones(int(weights.sum())),
        support,
        coefficients,
        kernel,
        2.0,
    )
    np.testing.assert_allclose(means, repeated, rtol=1e-9, atol=1e-30)


@every_level
@every_kernel
@pytest.mark.parametrize("far", [1e6, 1e15, 1e20, 3e38, -np.inf, np.inf])
def test_a_point_far_from_all_support_vectors_has_a_gradient_of_zero(level, kernel, far):
    _native.set_simd_level(level)
    _, support, coefficients = cloud(1, 20, 2, 1, seed=8)
    found = gradients(np.full((1, 2), far, np.float32), support, coefficients, kernel, 1.0)
    np.testing.assert_array_equal(found, np.zeros((1, 1, 2)))


@every_level
@every_kernel
@pytest.mark.parametrize("width", [1e-38, 1e-20, 1e-3, 1e20])
def test_gradients_are_numbers_at_any_width(level, kernel, width):
    _native.set_simd_level(level)
    points, support, coefficients = cloud(30, 20, 2, 1, seed=9)
    points[:20] = support
    assert np.isfinite(gradients(points, support, coefficients, kernel, width)).all()


def test_no_points_and_no_support_vectors_are_no_accident():
    points, support, coefficients = cloud(4, 3, 2, 2, seed=10)
    assert gradients(points[:0], support, coefficients, "gauss", 1.0).shape == (0, 2, 2)
    nothing = gradients(points, support[:0], coefficients[:, :0], "gauss", 1.0)
    np.testing.assert_array_equal(nothing, np.zeros((4, 2, 2)))
    means = mean_squared_gradients(points, np.ones(4), support[:0], coefficients[:, :0], "gauss", 1.0)
    np.testing.assert_array_equal(means, np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"points": np.ones((4, 1), np.float32)}, "same number of features"),
        ({"points": np.ones((4, 0), np.float32)}, "points need a feature"),
        ({"coefficients": np.ones((1, 2), np.float32)}, "one coefficient per support vector"),
        ({"width": 0.0}, "the width must be positive"),
        ({"kernel": "linear"}, "kernel must be"),
        ({"n_threads": 0}, "threads must be positive"),
        ({"weights": np.ones(3)}, "one weight per point"),
        ({"weights": np.zeros(4)}, "not all zero"),
        ({"weights": np.array([1.0, -1.0, 1.0, 1.0])}, "must not be negative"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(changed, sentence):
    points, support, coefficients = cloud(4, 3, 2, 1, seed=11)
    given_ = {
        "points": points,
        "weights": np.ones(4),
        "support_vectors": support,
        "coefficients": coefficients,
        "kernel": "gauss",
        "width": 1.0,
    }
    with pytest.raises(ValueError, match=sentence):
        mean_squared_gradients(**{**given_, **changed})
