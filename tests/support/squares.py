"""Least squares and expectiles in a cell: problems, and what came out with the exact problem to check it against."""

from dataclasses import dataclass

import numpy as np
import reference

from localsvm._native import SquareCell, StopRule

LAMS = [1e-1, 1e-2, 1e-3, 1e-4]
TOLERANCE = 1e-3
MANY = 10_000
TRUE = 1.001  # a certificate counts in what rounding can have hidden; that of the sum itself is left
ENDS = [50, 90, 130, 175, 200]


def smooth(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d), dtype=np.float32)
    y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
    return X, ((y - y.mean()) / y.std()).astype(np.float32)


def half_bytes(n):
    """Bytes of the upper half of a kernel matrix, in tiles of 48 rows and columns."""
    blocks = -(-n // 48)
    return blocks * (blocks + 1) // 2 * 4 * 48**2


def least_bytes(n, d, n_threads=1):
    """Bytes of a cell that stores its samples only, and makes a tile for each thread."""
    return 4 * d * -(-n // 16) * 16 + n_threads * 4 * 48**2


X200, Y200 = smooth()
UNIT = np.ones(200, dtype=np.float32)
WEIGHT = np.random.default_rng(1).choice([0.5, 1.0, 2.0, 3.0], 200).astype(np.float32)


@dataclass(frozen=True)
class Solved:
    """What the native solver returned for targets (T, n), and the exact problems."""

    beta: np.ndarray
    values: np.ndarray
    gap: np.ndarray
    status: np.ndarray
    steps: np.ndarray
    K: np.ndarray
    problem: tuple
    tau: float | None = None

    def train(self, fold):
        _, _, ends, folds, _ = self.problem
        train = np.ones(self.K.shape[0], dtype=bool)
        if folds[fold] >= 0:
            train[(ends[folds[fold] - 1] if folds[fold] else 0) : ends[folds[fold]]] = False
        return train

    def exact(self, t, fold, q):
        targets, weight, _, _, lams = self.problem
        train = self.train(fold)
        rows = train & (weight > 0)
        K = self.K[np.ix_(rows, rows)].astype(float)
        y, w = targets[t, rows].astype(float), weight[rows].astype(float)
        if self.tau is None:
            return rows, reference.ridge_problem(K, y, w, lams[q])
        return rows, reference.expectile_problem(K, y, w, lams[q], self.tau)

    def true_gap(self, t, fold, q):
        rows, exact = self.exact(t, fold, q)
        return exact.duality_gap(self.beta[t, fold, q, rows].astype(float))


def solve(
    X=X200,
    targets=Y200,
    weight=UNIT,
    *,
    tau=None,
    width=0.5,
    ends=ENDS,
    folds=None,
    lams=LAMS,
    tolerance=TOLERANCE,
    max_iterations=MANY,
    kernel="gauss",
    token=None,
    n_threads=1,
    max_bytes=None,
    patience=0,
    clip=np.inf,
):
    targets = np.atleast_2d(targets).astype(np.float32)
    folds = list(range(len(ends))) if folds is None else folds
    cell = SquareCell(X, ends, kernel, None, max_bytes)
    cell.set_width(width)
    stop = StopRule(tolerance, max_iterations, token)
    if tau is None:
        clips = [clip] * len(targets)
        solved = cell.solve_ridge(targets, weight, folds, lams, stop, n_threads, patience, clips)
    else:
        solved = cell.solve_expectile(targets, weight, folds, lams, tau, stop, n_threads)
    return Solved(
        solved.beta,
        solved.values,
        solved.gap,
        solved.status,
        solved.steps,
        cell.kernel_matrix(),
        (targets, weight, ends, folds, lams),
        tau,
    )


def equal(a, b):
    for name in ("beta", "values", "gap", "status", "steps"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def finite(solved):
    return all(np.isfinite(part).all() for part in (solved.beta, solved.values, solved.gap))
