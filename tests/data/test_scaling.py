"""Laws of scaling: ranges, constant columns, weights, and the ends of floating point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from localsvm import InvalidData, InvalidParameter
from localsvm.data.scaling import METHODS, fit_scaling

every_method = pytest.mark.parametrize("method", METHODS)
shapes = st.tuples(st.integers(1, 30), st.integers(1, 4))
moderate = st.floats(-1e6, 1e6, allow_subnormal=False)
any_finite = st.floats(allow_nan=False, allow_infinity=False)
any_finite_32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


def scale(method, X, weight=None, apply_to=None):
    weight = np.ones(len(X)) if weight is None else weight
    return fit_scaling(method, X, weight).apply(X if apply_to is None else apply_to)


@given(X=hnp.arrays(np.float64, shapes, elements=moderate), method=st.sampled_from(METHODS))
@settings(deadline=None)
def test_scaled_rows_are_float32_of_the_same_shape(X, method):
    scaled = scale(method, X)
    assert scaled.dtype == np.float32
    assert scaled.shape == X.shape


@given(X=hnp.arrays(np.float64, shapes, elements=any_finite))
@settings(deadline=None)
def test_minmax_maps_every_column_onto_0_1(X):
    scaled = scale("minmax", X)
    assert (scaled >= 0).all()
    assert (scaled <= 1).all()
    spread = np.ptp(X / 4, axis=0)  # a quarter, for the spread itself may overflow
    clear = spread > 1e-300
    np.testing.assert_array_equal(scaled[:, clear].min(axis=0), 0)
    np.testing.assert_array_equal(scaled[:, clear].max(axis=0), 1)


@given(X=hnp.arrays(np.float64, shapes, elements=moderate))
@settings(deadline=None)
def test_quantiles_lie_in_0_1_and_keep_the_order_of_the_values(X):
    scaled = scale("quantile", X)
    assert (scaled >= 0).all()
    assert (scaled <= 1).all()
    for column, ranks in zip(X.T, scaled.T, strict=True):
        order = np.argsort(column, kind="stable")
        assert (np.diff(ranks[order]) >= 0).all()
        assert len(np.unique(ranks)) == len(np.unique(column))


def test_standard_columns_have_mean_0_and_deviation_1():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1e-3, 1.0, 1e5] + [5.0, 0.0, -1e6]
    weight = rng.uniform(0.1, 3, size=200)
    scaled = scale("standard", X, weight).astype(np.float64)
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=weight), 0, atol=1e-6)
    np.testing.assert_allclose(np.average(scaled**2, axis=0, weights=weight), 1, atol=1e-6)


def test_quantiles_of_many_values_are_spread_evenly():
    X = np.random.default_rng(0).exponential(size=(20_000, 1))
    ranks = np.sort(scale("quantile", X)[:, 0])
    np.testing.assert_allclose(ranks, (np.arange(20_000) + 0.5) / 20_000, atol=2e-3)


@every_method
@pytest.mark.parametrize("value", [0.0, -7.5, 1e300, -1e-300, 0.1])
def test_a_constant_column_becomes_one_constant(method, value):
    X = np.column_stack([np.full(10, value), np.arange(10.0)])
    scaled = scale(method, X)
    assert np.isfinite(scaled).all()
    assert np.ptp(scaled[:, 0]) == 0
    assert np.ptp(scaled[:, 1]) > 0


@every_method
def test_one_row_is_scaled_to_something_finite(method):
    assert np.isfinite(scale(method, np.array([[3.0, -1e300, 0.0]]))).all()


@given(
    X=hnp.arrays(np.float64, shapes, elements=st.sampled_from([-2.5, 0.0, 0.1, 1.0, 7.0])),
    method=st.sampled_from(METHODS),
    seed=st.integers(0, 1000),
)
@settings(deadline=None)
def test_an_integer_weight_is_a_repetition(X, method, seed):
    weight = np.random.default_rng(seed).integers(1, 5, size=len(X))
    again = np.repeat(X, weight, axis=0)
    weighted = scale(method, X, weight.astype(np.float64))
    repeated = scale(method, again, apply_to=X)
    # Sums over more terms are rounded differently; min, max and ranks are not.
    rounding = 1e-6 if method == "standard" else 0
    np.testing.assert_allclose(weighted, repeated, rtol=rounding, atol=rounding)


@given(
    X=hnp.arrays(np.float64, shapes, elements=moderate),
    method=st.sampled_from(METHODS),
    factor=st.sampled_from([0.5, 4.0, 1024.0]),
)
@settings(deadline=None)
def test_weights_count_by_their_ratio_only(X, method, factor):
    weight = np.linspace(1, 2, len(X))
    np.testing.assert_array_equal(scale(method, X, weight), scale(method, X, factor * weight))


@given(
    X=hnp.arrays(np.float64, shapes, elements=moderate),
    method=st.sampled_from(METHODS),
    parts=st.integers(1, 5),
)
@settings(deadline=None)
def test_rows_are_scaled_each_by_itself(X, method, parts):
    scaling = fit_scaling(method, X, np.ones(len(X)))
    pieces = [scaling.apply(part) for part in np.array_split(X, parts)]
    np.testing.assert_array_equal(np.concatenate(pieces), scaling.apply(X))


@given(
    X=hnp.arrays(np.float32, shapes, elements=st.floats(-1e6, 1e6, width=32)),
    method=st.sampled_from(METHODS),
)
@settings(deadline=None)
def test_float32_and_float64_input_of_equal_value_scale_alike(X, method):
    np.testing.assert_array_equal(scale(method, X), scale(method, X.astype(np.float64)))


# ---------------------------------------------------------------------- the ends of floating point


@given(X=hnp.arrays(np.float64, shapes, elements=any_finite), method=st.sampled_from(METHODS))
@settings(deadline=None, max_examples=300)
def test_no_finite_value_scales_to_nan_or_infinity(X, method):
    assert np.isfinite(scale(method, X)).all()


@every_method
@pytest.mark.parametrize("n", [3, 29, 1000])
def test_a_column_of_the_largest_number_is_constant_and_no_infinity(method, n):
    # The mean of n numbers may be a little more than the largest of them.
    scaled = scale(method, np.full((n, 1), np.finfo(np.float64).max))
    assert np.isfinite(scaled).all()
    assert np.ptp(scaled) == 0


@given(X=hnp.arrays(np.float32, shapes, elements=any_finite_32), method=st.sampled_from(METHODS))
@settings(deadline=None, max_examples=300)
def test_no_finite_float32_scales_to_nan_or_infinity(X, method):
    assert np.isfinite(scale(method, X)).all()


@every_method
@pytest.mark.parametrize("largest", [np.finfo(np.float64).max, np.finfo(np.float32).max, 1e200])
def test_values_at_the_ends_of_the_range_keep_their_distances(method, largest):
    X = np.array([[-largest], [0.0], [largest]])
    low, middle, high = scale(method, X)[:, 0].astype(np.float64)
    assert middle - low == pytest.approx(high - middle, rel=1e-6)
    assert high > middle > low


@every_method
@pytest.mark.parametrize("unit", [1e-307, 9e-309, 1e-300, 1e-38, 1e-45])
def test_tiny_values_are_as_good_as_others(method, unit):
    low, middle, high = scale(method, np.array([[1.0], [2.0], [3.0]]) * unit)[:, 0]
    assert middle - low == pytest.approx(high - middle, rel=1e-5)
    assert high > middle > low


@every_method
@pytest.mark.parametrize("far", [1e30, 1e200, 1.7e308])
def test_new_rows_far_outside_are_never_nan(method, far):
    scaling = fit_scaling(method, np.array([[0.0], [1e-3]]), np.ones(2))
    assert not np.isnan(scaling.apply(np.array([[far], [-far]]))).any()


def test_new_rows_outside_the_quantiles_get_the_first_and_last_rank():
    scaling = fit_scaling("quantile", np.arange(10.0)[:, None], np.ones(10))
    inside = scaling.apply(np.array([[0.0], [9.0]]))
    np.testing.assert_array_equal(scaling.apply(np.array([[-1e9], [1e9]])), inside)


# -------------------------------------------------------------------------------------- no scaling


@given(X=hnp.arrays(np.float64, shapes, elements=moderate))
@settings(deadline=None)
def test_none_leaves_the_values_as_they_are(X):
    np.testing.assert_array_equal(scale(None, X), X.astype(np.float32))


@pytest.mark.parametrize("largest", [1e20, 1e38, 1e200, np.finfo(np.float64).max])
@pytest.mark.parametrize("sign", [-1, 1])
def test_none_refuses_values_whose_distances_overflow(largest, sign):
    X = np.array([[0.0, 1.0], [1.0, sign * largest]])
    with pytest.raises(InvalidData, match=r"column 1 .*Pass scaling='minmax'"):
        fit_scaling(None, X, np.ones(2))


@pytest.mark.parametrize("n_features", [1, 50, 1000])
def test_what_none_accepts_has_finite_float32_distances(n_features):
    for exponent in range(38):
        X = np.full((2, n_features), 10.0**exponent) * [[1.0], [-1.0]]
        try:
            scaled = scale(None, X)
        except InvalidData:
            continue
        assert np.isfinite(np.square(scaled[0] - scaled[1]).sum(dtype=np.float32))


@pytest.mark.parametrize("method", ["max", "", "MINMAX", 3])
def test_an_unknown_method_is_refused_with_a_sentence(method):
    with pytest.raises(InvalidParameter, match="is unknown; use one of 'minmax', 'standard'"):
        fit_scaling(method, np.zeros((2, 1)), np.ones(2))


@pytest.mark.parametrize("method", ["minmax", "standard", "quantile", None])
def test_undoing_a_scaling_gives_back_the_rows(method):
    X = np.random.default_rng(0).normal(size=(300, 3)) * [1.0, 1000.0, 1e-3]
    X[:, 1] = 7.0
    scaling = fit_scaling(method, X, np.ones(300))
    np.testing.assert_allclose(scaling.undo(scaling.apply(X)), X, rtol=1e-4, atol=1e-6)


@every_method
def test_slopes_are_the_limits_of_differences(method):
    rng = np.random.default_rng(0)
    # Values 0.1 apart: a step meets one knot at most.
    X = np.round(np.column_stack([rng.normal(size=40), rng.exponential(size=40), np.full(40, 3.0)]), 1)
    scaling = fit_scaling(method, X, rng.uniform(0.5, 2, size=40))
    points = np.concatenate([X, X + 0.01, [X.min(axis=0) - 1, X.max(axis=0) + 1]])
    inner = ((points > X.min(axis=0)) & (points < X.max(axis=0))) | (points < X.min(axis=0)) | (points > X.max(axis=0))
    step = 2.0**-13  # float32 rounds ranks to 2^-24
    differences = (scaling.apply(points + step).astype(np.float64) - scaling.apply(points - step)) / (2 * step)
    np.testing.assert_allclose(scaling.slopes(points)[inner], differences[inner], atol=1e-2)


@given(X=hnp.arrays(np.float64, shapes, elements=any_finite), method=st.sampled_from(METHODS))
@settings(deadline=None)
def test_slopes_are_finite_and_not_negative_whatever_the_columns(X, method):
    slopes = fit_scaling(method, X, np.ones(len(X))).slopes(X)
    assert slopes.shape == X.shape
    assert np.isfinite(slopes).all()
    assert (slopes >= 0).all()


def test_ranks_have_the_slope_of_the_inside_at_their_ends():
    X = np.array([[0.0], [1.0], [3.0]])
    scaling = fit_scaling("quantile", X, np.ones(3))
    first, last = 1 / 3, 1 / 6
    np.testing.assert_allclose(scaling.slopes(X)[:, 0], [first, (first + last) / 2, last])
