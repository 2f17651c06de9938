"""The hinge loss: its dual, its clipped value, and the risk that selects."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from localsvm import _reference as reference
from localsvm.losses import Hinge

values = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-5, 5))


def labels(n, seed):
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=n)


@given(f=values, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_value_and_risk_are_those_of_the_paper(f, seed):
    y = labels(len(f), seed)
    np.testing.assert_array_equal(Hinge().value(y, f), reference.hinge_loss(y, f))
    np.testing.assert_array_equal(Hinge().risk(y, f), reference.classification_loss(y, f))


def test_the_sign_of_zero_is_plus_one():
    y, zero = np.array([1.0, -1.0]), np.zeros(2)
    np.testing.assert_array_equal(Hinge().risk(y, zero), [0, 1])
    np.testing.assert_array_equal(Hinge().risk(y, -zero), [0, 1])


def test_values_beyond_the_clip_cost_what_the_clip_costs():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    np.testing.assert_array_equal(Hinge().value(y, np.array([9.0, -9.0, 9.0, -9.0])), [0, 2, 2, 0])


@given(f=values, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_error_is_at_most_the_loss(f, seed):
    y = labels(len(f), seed)
    assert (Hinge().risk(y, f) <= Hinge().value(y, f)).all()


@pytest.mark.parametrize("lam", [10.0, 1e-3])
def test_the_dual_is_the_reference_s_at_scale_one(lam):
    y, weight = labels(20, 0), np.random.default_rng(1).uniform(0.1, 3, size=20)
    dual = Hinge().dual(y, weight)
    scale = 1 / (2 * lam * weight.sum())
    exact = reference.hinge_problem(np.eye(20), y, weight, lam)
    np.testing.assert_array_equal(dual.target, exact.target)
    np.testing.assert_allclose(scale * dual.lo, exact.lo, rtol=1e-6)
    np.testing.assert_allclose(scale * dual.hi, exact.hi, rtol=1e-6)
    assert dual.clip == exact.clip
    assert all(part.dtype == np.float32 for part in (dual.target, dual.lo, dual.hi))


@given(f=values, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_box_of_the_dual_is_the_loss(f, seed):
    y = labels(len(f), seed)
    dual = Hinge().dual(y, np.ones(len(f)))
    r = y - np.clip(f, -dual.clip, dual.clip)
    np.testing.assert_allclose(np.maximum(dual.lo * r, dual.hi * r), Hinge().value(y, f))
