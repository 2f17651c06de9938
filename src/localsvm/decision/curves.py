"""Curves from decision values to log-odds, one for every group of rows, shrunk to a common one.

Enters: how far every class of a row lies behind the predicted one, as values of a basis, and the weight of the rows
that were of that class. Leaves: the curve of every group, as its increments between the knots.

The model of a row: class i, whose decision value is d_i behind that of the predicted class (d = 0 there), has
probability

    p_i = exp(-E(d_i)) / sum_l exp(-E(d_l)),
    E(d) = sum_k increment_k clip((d - knot_k) / (knot_{k+1} - knot_k), 0, 1)

so E rises from E(0) = 0 linearly between the knots and stays where it is after the last one. Increments are positive:
then the predicted class is the most probable one, and the more so the farther the others lie behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import FloatArray

KNOTS: FloatArray = np.array([0.0, 1.0, 2.0, 4.0])
"""For decision values of the hinge loss: those of support vectors cluster at 1, and few exceed 4."""

_MOST_STEPS = 100
_MOST_HALVINGS = 40
_TOLERANCE = 1e-7
"""Newton decrement, in units of the log-likelihood, at which a group is done."""


@dataclass(frozen=True)
class Evidence:
    """The data that curves are fitted to: rows, or bins of rows."""

    basis: FloatArray
    """Basis of the curve at d_i, (increments, rows, classes); zero for the predicted class."""
    weight: FloatArray
    """Weight of the samples that were of each class, (rows, classes)."""
    possible: NDArray[np.bool_]
    """Classes that compete, (rows, classes)."""
    group: NDArray[np.intp]
    """Index of the curve that a row is evidence for."""


def filled_intervals(distance: FloatArray) -> FloatArray:
    """Return the fraction of each interval between knots that lies below `distance`."""
    return np.stack([np.clip((distance - begin) / (end - begin), 0.0, 1.0) for begin, end in pairwise(KNOTS)])


def fit_curves(evidence: Evidence, prior: FloatArray, strength: float) -> FloatArray:
    """Fit the increments of every group by Newton's method.

    Minimises for each group, independently, the convex function

        sum_rows sum_i weight_i (-log p_i)  +  strength sum_k (u_k - 1 - log u_k),     u = increments / prior,

    until the Newton decrement is at most 1e-7. The second term is least at the prior, keeps increments positive, and
    near the prior weighs as much as `strength` samples do.
    """
    problem = _Problem(evidence, prior, strength)
    u = np.ones_like(prior)
    factors = problem.factors(u)
    value = problem.value(u, factors)
    for _ in range(_MOST_STEPS):
        gradient, hessian = problem.derivatives(u, factors)
        step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
        active = -(gradient * step).sum(axis=1) > _TOLERANCE
        if not active.any():
            break
        # At most nine tenths of the way to zero, where the objective is infinite.
        length = np.where(active, 0.9 / np.maximum(0.9, (-step / u).max(axis=1)), 0.0)
        for _ in range(_MOST_HALVINGS):
            trial = u + length[:, None] * step
            factors = problem.factors(trial)
            trial_value = problem.value(trial, factors)
            worse = trial_value > value
            if not worse.any():
                break
            length = np.where(worse, length / 2, length)
        else:
            trial, trial_value = np.where(worse[:, None], u, trial), np.where(worse, value, trial_value)
            factors = problem.factors(trial)
        u, value = trial, trial_value
    return u * prior


class _Problem:
    """The objective of all groups, in units of the prior."""

    def __init__(self, evidence: Evidence, prior: FloatArray, strength: float) -> None:
        self.group, self.n_groups, self.strength = evidence.group, len(prior), strength
        self.basis = evidence.basis * prior[evidence.group].T[:, :, None]
        self.weight, self.row_weight = evidence.weight, evidence.weight.sum(axis=1)
        self.impossible = np.where(evidence.possible, 0.0, np.inf)
        # The observed classes enter the objective linearly: their sums are computed once.
        self.observed = np.stack([self._by_group((plane * self.weight).sum(axis=1)) for plane in self.basis], axis=1)

    def value(self, u: FloatArray, factors: FloatArray) -> FloatArray:
        log_sum = np.log(factors.sum(axis=1))
        loss = (u * self.observed).sum(axis=1) + self._by_group(self.row_weight * log_sum)
        return np.asarray(loss + self.strength * (u - 1.0 - np.log(u)).sum(axis=1))

    def derivatives(self, u: FloatArray, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = factors / factors.sum(axis=1, keepdims=True)
        expected = [p * plane for plane in self.basis]
        mean = [plane.sum(axis=1) for plane in expected]
        n_increments = len(mean)
        gradient = self.observed + self.strength * (1.0 - 1.0 / u)
        hessian = np.empty((self.n_groups, n_increments, n_increments))
        for k in range(n_increments):
            gradient[:, k] -= self._by_group(self.row_weight * mean[k])
            for q in range(k + 1):
                second = np.einsum("ri,ri->r", expected[k], self.basis[q])
                covariance = self._by_group(self.row_weight * (second - mean[k] * mean[q]))
                hessian[:, k, q] = hessian[:, q, k] = covariance
            hessian[:, k, k] += self.strength / u[:, k] ** 2
        return gradient, hessian

    def factors(self, u: FloatArray) -> FloatArray:
        """Return exp(-E) of every row and class."""
        energy = self.impossible.copy()
        for plane, factor in zip(self.basis, u.T, strict=True):
            energy += plane * factor[self.group][:, None]
        return np.exp(-energy)

    def _by_group(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.group, values, self.n_groups), dtype=np.float64)
