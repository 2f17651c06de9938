"""Curves: the optimum of a convex problem, its prior, and how groups stay apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from localsvm.decision.curves import KNOTS, Evidence, filled_intervals, fit_curves

N_INCREMENTS = len(KNOTS) - 1


def random_evidence(seed, n_rows, n_classes, n_groups):
    rng = np.random.default_rng(seed)
    distance = rng.exponential(1.5, size=(n_rows, n_classes))
    distance[:, 0] = 0
    possible = rng.random((n_rows, n_classes)) < 0.8
    possible[:, 0] = True
    weight = np.where(possible, rng.integers(0, 4, size=(n_rows, n_classes)), 0).astype(float)
    return Evidence(filled_intervals(distance), weight, possible, rng.integers(0, n_groups, size=n_rows))


def objective(increments, evidence, group, prior, strength):
    """The problem as the docstring states it, a row at a time."""
    total = strength * np.sum(increments / prior - 1 - np.log(increments / prior))
    for row in np.flatnonzero(evidence.group == group):
        energy = increments @ evidence.basis[:, row]
        log_sum = np.log(np.exp(-energy[evidence.possible[row]]).sum())
        total += evidence.weight[row] @ (energy + log_sum)
    return total


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(0, 60),
    n_classes=st.integers(2, 4),
    strength=st.sampled_from([0.1, 1.0, 20.0]),
)
@settings(deadline=None, max_examples=25)
def test_no_other_curve_is_better(seed, n_rows, n_classes, strength):
    evidence = random_evidence(seed, n_rows, n_classes, n_groups=2)
    prior = np.random.default_rng(seed).uniform(0.2, 3, size=(2, N_INCREMENTS))
    fitted = fit_curves(evidence, prior, strength)
    assert (fitted > 0).all()
    for group in range(2):
        arguments = (evidence, group, prior[group], strength)
        rival = minimize(
            lambda logs, *given: objective(np.exp(logs), *given), np.log(prior[group]), arguments, method="BFGS"
        )
        assert objective(fitted[group], *arguments) <= rival.fun + 1e-5


def test_without_rows_the_curve_is_the_prior():
    prior = np.array([[0.5, 1.0, 2.0], [3.0, 0.1, 1.0]])
    np.testing.assert_array_equal(fit_curves(random_evidence(0, 0, 2, 1), prior, 5.0), prior)


def test_groups_do_not_see_each_other():
    evidence = random_evidence(1, 200, 3, n_groups=4)
    prior = np.ones((4, N_INCREMENTS))
    together = fit_curves(evidence, prior, 2.0)
    for group in range(4):
        own = evidence.group == group
        alone = Evidence(evidence.basis[:, own], evidence.weight[own], evidence.possible[own], np.zeros(own.sum(), int))
        np.testing.assert_allclose(together[group], fit_curves(alone, prior[:1], 2.0)[0], rtol=1e-3)


@pytest.mark.parametrize("weight", [1e-3, 1e7])
def test_few_rows_leave_the_prior_and_many_overrule_it(weight):
    distance = np.array([[0.0, 1.0]])
    evidence = Evidence(filled_intervals(distance), weight * np.array([[9.0, 1.0]]), distance >= 0, np.zeros(1, int))
    (first, *others) = fit_curves(evidence, np.full((1, N_INCREMENTS), 0.5), 5.0)[0]
    assert first == pytest.approx(0.5 if weight < 1 else np.log(9), rel=0.01)
    np.testing.assert_allclose(others, 0.5)
