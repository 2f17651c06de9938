"""Problems for the box-constrained solver, and what came out of it with the exact problem to check it against.

The clipped gap bounds the risk of the clipped function, not the distance from the optimum; where a
test compares solutions it solves with NO_CLIP, so that the certificate is the plain duality gap.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import reference

from localsvm._native import Cell, StopRule
from localsvm.cell.path import STATUS
from localsvm.data import toy_mixture

TOLERANCE = 1e-3
TRUE = 1.25  # a certified gap is computed in float32: the true one may be larger by this factor
NO_CLIP = 1e30
MANY_STEPS = 10_000_000
BOUND_ROUNDING = 2.0**-23  # a bound is a product of two float32 numbers, rounded
VALUE_ROUNDING = 2.0**-21  # of validation values along a path, relative to the sum of |beta|
CONVERGED, MAX_STEPS, PRECISION, CANCELLED, SKIPPED = (
    STATUS.index(name) for name in ("converged", "max_steps", "precision", "cancelled", "skipped")
)


@dataclass(frozen=True)
class Problem:
    """Samples, and a loss as the box of the dual at scale 1."""

    X: np.ndarray
    target: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    weight: np.ndarray
    clip: float = 1.0
    kernel: str = "gauss"

    def rows(self, index):
        parts = (self.X, self.target, self.lo, self.hi, self.weight)
        return Problem(*(np.ascontiguousarray(part[index]) for part in parts), self.clip, self.kernel)

    def negated(self):
        return replace(self, target=-self.target, lo=-self.hi, hi=-self.lo)


def hinge(X, y, weight=None, **options):
    weight = np.ones(len(y)) if weight is None else weight
    y = np.asarray(y, dtype=np.float32)
    signed = (y * weight).astype(np.float32)
    zero = np.zeros_like(signed)
    return Problem(X, y, np.minimum(signed, zero), np.maximum(signed, zero), weight, **options)


def pinball(X, y, tau, weight=None, **options):
    weight = np.ones(len(y)) if weight is None else weight
    lo, hi = ((tau - 1) * weight).astype(np.float32), (tau * weight).astype(np.float32)
    clip = options.pop("clip", float(np.abs(y).max()))
    return Problem(X, y.astype(np.float32), lo, hi, weight, clip, **options)


@dataclass(frozen=True)
class Path:
    """What a native path returned, and the exact problems it claims to have solved."""

    beta: np.ndarray
    values: np.ndarray
    gap: np.ndarray
    status: np.ndarray
    steps: np.ndarray
    exact: list[reference.BoxProblem]
    K: np.ndarray

    def true_gap(self, q):
        return reference.duality_gap(self.exact[q], self.beta[q])

    def plain_gap(self, q):
        return reference.duality_gap(replace(self.exact[q], clip=np.inf), self.beta[q])


def solve(
    problem,
    width,
    lams,
    *,
    ends=None,
    fold=-1,
    tolerance=TOLERANCE,
    max_steps=MANY_STEPS,
    token=None,
):
    n = len(problem.target)
    ends = [n] if ends is None else list(ends)
    cell = Cell(problem.X, ends, problem.kernel)
    cell.add_problem(problem.target, problem.lo, problem.hi, problem.clip)
    cell.set_width(width)
    train = np.ones(n, dtype=bool)
    if fold >= 0:
        train[ends[fold - 1] if fold else 0 : ends[fold]] = False
    total = float(problem.weight[train].sum())
    solved = cell.solve_path(0, fold, list(lams), total, StopRule(tolerance, max_steps, token))
    K = cell.kernel_matrix().astype(np.float64)
    exact = [
        reference.BoxProblem(
            K,
            problem.target.astype(np.float64),
            problem.lo.astype(np.float64) * train / (2 * lam * total),
            problem.hi.astype(np.float64) * train / (2 * lam * total),
            lam,
            problem.clip,
        )
        for lam in lams
    ]
    return Path(solved.beta.astype(np.float64), solved.values, solved.gap, solved.status, solved.steps, exact, K)


def function_distance(exact, beta, other):
    """||f - g|| in the RKHS."""
    difference = beta - other
    return float(np.sqrt(max(difference @ exact.K @ difference, 0.0)))


def certified_distance(exact, *plain_gaps):
    """How far two functions of these gaps can be apart: lam ||f - f*||^2 <= gap."""
    return sum(np.sqrt(max(gap, 0.0) / exact.lam) for gap in plain_gaps)


def samples(n, d, seed=0):
    X, y = toy_mixture(n, d, random_state=seed)
    return X, y.astype(np.float64)


def curve(X, seed=0):
    """Targets of a regression on X."""
    noise = np.random.default_rng(seed).normal(size=len(X))
    return np.sin(3 * X[:, 0].astype(np.float64)) + 0.3 * noise


X1, Y1 = samples(75, 1)
X4, Y4 = samples(130, 4)
RANDOM_WEIGHT = np.random.default_rng(1).uniform(0.1, 5.0, size=len(Y4))
PROBLEMS = {
    "hinge": hinge(X4, Y4),
    "hinge, one feature": hinge(X1, Y1),
    "hinge, weights": hinge(X4, Y4, RANDOM_WEIGHT),
    "hinge, class weights": hinge(X4, Y4, np.where(Y4 > 0, 0.02, 1.98)),
    "hinge, laplace": hinge(X4, Y4, kernel="laplace"),
    "hinge, manhattan": hinge(X4, Y4, kernel="manhattan"),
    "median": pinball(X1, curve(X1), 0.5),
    "median, laplace": pinball(X4, curve(X4), 0.5, kernel="laplace"),
    "quantile 0.05": pinball(X4, curve(X4), 0.05),
    "quantile 0.9, weights": pinball(X4, curve(X4), 0.9, RANDOM_WEIGHT),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
every_width = pytest.mark.parametrize("width", [0.03, 0.3, 1.0, 5.0, 50.0])


def easy_to_hard(n):
    """From everything at its bound down to the smallest lam of the default grid."""
    return np.geomspace(10.0, 1e-3 / n, 8)
