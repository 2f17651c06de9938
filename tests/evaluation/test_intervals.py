"""Confidence intervals: textbook values, and properties that hold for all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from localsvm.evaluation.intervals import Estimate, Means, combined, proportion

counts = st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_the_interval_of_a_proportion_is_wilsons(part_and_whole):
    part, whole = part_and_whole
    found = proportion(part, whole, whole)
    expected = binomtest(part, whole).proportion_ci(0.95, method="wilson")
    assert found.low == pytest.approx(expected.low, abs=1e-12)
    assert found.high == pytest.approx(expected.high, abs=1e-12)
    assert 0 <= found.low <= found.value <= found.high <= 1


@given(counts, st.floats(0.01, 100))
def test_scaling_all_weights_does_not_change_a_proportion(part_and_whole, weight):
    part, whole = part_and_whole
    plain, weighted = proportion(part, whole, whole), proportion(weight * part, weight * whole, weight**2 * whole)
    assert weighted.low == pytest.approx(plain.low, abs=1e-9)
    assert weighted.high == pytest.approx(plain.high, abs=1e-9)


def test_unequal_weights_widen_the_interval():
    weight = np.array([1.0] * 90 + [10.0] * 10)
    found = proportion(weight[::2].sum(), weight.sum(), weight @ weight)
    plain = proportion(50, 100, 100)
    assert found.high - found.low > plain.high - plain.low


estimates = st.tuples(*[st.floats(0, 1)] * 3).map(sorted).map(lambda ends: Estimate(ends[1], ends[0], ends[2]))


@given(estimates, estimates)
def test_the_interval_of_a_product_is_between_those_of_one_factor_and_of_both_at_once(a, b):
    found = combined(a.value * b.value, [a, b], [b.value, a.value])
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high >= max(a.high * b.value, b.high * a.value) - 1e-12
    assert found.low <= min(a.low * b.value, b.low * a.value) + 1e-12


def test_streamed_means_equal_those_of_all_rows():
    rng = np.random.default_rng(0)
    rows, weight = rng.exponential(size=(500, 3)), rng.uniform(0.5, 2, size=500)
    means = Means(3)
    for block in np.array_split(np.arange(500), 7):
        means.add(rows[block], weight[block])
    np.testing.assert_allclose(means.values, np.average(rows, axis=0, weights=weight))
    slopes = np.array([1.0, -2.0, 0.5])
    spread = np.sqrt(np.cov(rows @ slopes, aweights=weight, ddof=0) * (weight @ weight)) / weight.sum()
    found = means.estimate(0.0, slopes)
    assert found.high == pytest.approx(1.959963984540054 * spread)
    assert found.low == pytest.approx(-found.high)


def test_the_interval_of_a_non_negative_mean_is_positive_and_skewed_upwards():
    means = Means(1)
    means.add(np.array([[0.0], [0.0], [5.0]]), np.ones(3))
    found = means.mean(0)
    assert 0 < found.low < found.value < found.high
    assert found.high - found.value > found.value - found.low


def test_the_mean_of_zeros_is_zero():
    means = Means(1)
    means.add(np.zeros((3, 1)), np.ones(3))
    assert means.mean(0) == Estimate(0.0, 0.0, 0.0)
