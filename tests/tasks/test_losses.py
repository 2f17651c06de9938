"""Losses: their values, the constants that minimize them, and their duals."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar

from localsvm.tasks.losses import Expectile, Hinge, Pinball, Squared, SquaredMargin

values = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-5, 5))
levels = st.floats(0.01, 0.99)


def labels(n, seed):
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=n)


# ------------------------------------------------------------------------------------------- hinge


@given(f=values, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_value_and_risk_are_those_of_the_paper(f, seed):
    y = labels(len(f), seed)
    clip = Hinge().clip(y)
    np.testing.assert_array_equal(Hinge().value(y, np.clip(f, -clip, clip)), reference.hinge_loss(y, f))
    np.testing.assert_array_equal(Hinge().risk(y, f), reference.classification_loss(y, f))


@pytest.mark.parametrize("loss", [Hinge(), SquaredMargin()])
def test_the_sign_of_zero_is_plus_one(loss):
    y, zero = np.array([1.0, -1.0]), np.zeros(2)
    np.testing.assert_array_equal(loss.risk(y, zero), [0, 1])
    np.testing.assert_array_equal(loss.risk(y, -zero), [0, 1])


@pytest.mark.parametrize("loss", [Hinge(), SquaredMargin()])
@given(f=values, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_error_is_at_most_the_loss(loss, f, seed):
    y = labels(len(f), seed)
    assert (loss.risk(y, f) <= loss.value(y, f)).all()


@pytest.mark.parametrize("lam", [10.0, 1e-3])
def test_the_dual_is_the_reference_s_at_scale_one(lam):
    y, weight = labels(20, 0), np.random.default_rng(1).uniform(0.1, 3, size=20)
    dual = Hinge().dual(y, weight)
    scale = 1 / (2 * lam * weight.sum())
    exact = reference.hinge_problem(np.eye(20), y, weight, lam)
    np.testing.assert_array_equal(dual.target, exact.target)
    np.testing.assert_allclose(scale * dual.lo, exact.lo, rtol=1e-6)
    np.testing.assert_allclose(scale * dual.hi, exact.hi, rtol=1e-6)
    assert Hinge().clip(y) == exact.clip
    assert all(part.dtype == np.float32 for part in (dual.target, dual.lo, dual.hi))


# ------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("kind", ["hinge", "squared margin", "squared", "pinball", "expectile"])
@given(f=values, seed=st.integers(0, 1000), tau=levels)
@settings(deadline=None)
def test_clipping_never_makes_a_function_worse(kind, f, seed, tau):
    rng = np.random.default_rng(seed)
    loss = {
        "hinge": Hinge(),
        "squared margin": SquaredMargin(),
        "squared": Squared(),
        "pinball": Pinball(tau),
        "expectile": Expectile(tau),
    }[kind]
    y = labels(len(f), seed) if kind in ("hinge", "squared margin") else rng.normal(size=len(f))
    clip = loss.clip(y)
    assert (np.abs(y) <= clip).all()
    assert (loss.value(y, np.clip(f, -clip, clip)) <= loss.value(y, f)).all()


# -------------------------------------------------------------------------------------- regression


def regression_loss(kind, tau):
    return {"squared": Squared(), "pinball": Pinball(tau), "expectile": Expectile(tau)}[kind]


every_regression_loss = pytest.mark.parametrize("kind", ["squared", "pinball", "expectile"])
targets = hnp.arrays(np.float64, st.integers(1, 25), elements=st.integers(-40, 40).map(lambda k: k / 8))


@every_regression_loss
@given(y=targets, seed=st.integers(0, 1000), tau=levels)
@settings(deadline=None)
def test_no_constant_has_less_risk_than_the_best(kind, y, seed, tau):
    loss = regression_loss(kind, tau)
    weight = np.random.default_rng(seed).uniform(0.1, 3, size=len(y))

    def risk(constant):
        return loss.value(y, np.full(len(y), constant)) @ weight / weight.sum()

    best = loss.best_constant(y, weight)
    assert y.min() - 1e-12 <= best <= y.max() + 1e-12
    rivals = [*y, *np.linspace(y.min(), y.max(), 50)]
    if np.ptp(y):
        rivals.append(minimize_scalar(risk, bounds=(y.min(), y.max()), method="bounded").x)
    assert risk(best) <= min(risk(rival) for rival in rivals) + 1e-12


@given(y=targets, tau=levels)
@settings(deadline=None)
def test_an_integer_weight_is_a_repetition_for_the_best_constant(y, tau):
    weight = np.random.default_rng(len(y)).integers(1, 4, size=len(y))
    again = np.repeat(y, weight)
    for kind in ("squared", "pinball", "expectile"):
        loss = regression_loss(kind, tau)
        once = loss.best_constant(y, weight.astype(float))
        assert loss.best_constant(again, np.ones(len(again))) == pytest.approx(once, abs=1e-9)


@given(y=targets)
@settings(deadline=None)
def test_the_median_lies_between_the_middle_samples(y):
    assert Pinball(0.5).best_constant(y, np.ones(len(y))) == pytest.approx(np.median(y))


@given(y=targets, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_expectile_of_one_half_is_the_mean(y, seed):
    weight = np.random.default_rng(seed).uniform(0.1, 3, size=len(y))
    half, mean = (loss.best_constant(y, weight) for loss in (Expectile(0.5), Squared()))
    assert half == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("kind", ["pinball", "expectile"])
@given(y=targets, low=levels, high=levels)
@settings(deadline=None)
def test_a_higher_level_has_no_lower_constant(kind, y, low, high):
    weight = np.ones(len(y))
    below, above = (regression_loss(kind, tau).best_constant(y, weight) for tau in sorted((low, high)))
    assert below <= above + 1e-12


@every_regression_loss
# Powers of 2: a difference of nearly equal numbers is the same after they are multiplied.
@given(y=targets, f=st.floats(-5, 5), tau=levels, factor=st.sampled_from([0.25, 2.0, 16.0]))
@settings(deadline=None)
def test_a_loss_grows_with_the_unit_of_the_targets_to_its_degree(kind, y, f, tau, factor):
    loss = regression_loss(kind, tau)
    f = np.full(len(y), f)
    grown = loss.value(factor * y, factor * f)
    np.testing.assert_allclose(grown, factor**loss.degree * loss.value(y, f), rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(loss.risk(y, f), loss.value(y, f))


# ----------------------------------------------------------------------------------------- the dual


@pytest.mark.parametrize("loss", [Hinge(), Pinball(0.5), Pinball(0.1), Pinball(0.975)], ids=str)
@given(f=values, seed=st.integers(0, 1000))
@settings(deadline=None)
def test_the_box_of_the_dual_is_the_loss(loss, f, seed):
    # A convex function that is 0 at 0 and linear on both sides: the support function of its box.
    rng = np.random.default_rng(seed)
    y = labels(len(f), seed) if isinstance(loss, Hinge) else rng.normal(size=len(f)).astype(np.float32).astype(float)
    weight = rng.uniform(0.1, 3, size=len(f))
    dual = loss.dual(y, weight)
    f = np.clip(f, -loss.clip(y), loss.clip(y))
    r = dual.target - f
    np.testing.assert_allclose(np.maximum(dual.lo * r, dual.hi * r), weight * loss.value(y, f), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.9])
def test_the_conjugate_of_the_pinball_loss_is_linear_within_the_box_and_infinite_outside(tau):
    # L*(b) = sup_f (b f - L(y, f)) for y = 0.7, whose optimum is at -b in the box: then it is b y.
    loss, y = Pinball(tau), 0.7
    f = np.linspace(-1000, 1000, 20_001) + y
    dual = loss.dual(np.array([y]), np.ones(1))
    lo, hi = float(dual.lo[0]), float(dual.hi[0])

    def conjugate(beta):
        return float((-beta * f - loss.value(np.full(len(f), y), f)).max())

    for beta in np.linspace(lo, hi, 7)[1:-1]:
        assert conjugate(beta) == pytest.approx(-beta * y, abs=1e-9)
    assert conjugate(lo - 0.01) > 5
    assert conjugate(hi + 0.01) > 5


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.9])
def test_the_dual_of_the_pinball_loss_is_the_reference_s_at_scale_one(tau):
    rng = np.random.default_rng(0)
    y, weight, lam = rng.normal(size=20), rng.uniform(0.1, 3, size=20), 1e-2
    dual = Pinball(tau).dual(y, weight)
    exact = reference.pinball_problem(np.eye(20), y, weight, lam, tau)
    scale = 1 / (2 * lam * weight.sum())
    for mine, yours in ((dual.target, exact.target), (scale * dual.lo, exact.lo), (scale * dual.hi, exact.hi)):
        np.testing.assert_allclose(mine, yours, rtol=1e-6)
