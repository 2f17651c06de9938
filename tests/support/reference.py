"""The paper in plain NumPy, slow and obvious: the oracle of the tests, and Algorithm 1 to read.

Enters: the samples of one cell ordered by fold, and the candidates for width and lam. Leaves: the
decision function of the cell (Alg. 1), with every coefficient, risk and gap found on the way; and
the cells of a partition. Everything is float64 but the distances of rows from centers, and nothing
is shared with the rest of the package, so that a mistake there is not repeated here.

Read from top to bottom: the kernel, the problem of one cell and its dual (Sec. 2), its solution,
the risks that compare solutions (Sec. 3), Algorithm 1, which puts them together, and how the cells
were found (App.).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

HINGE_CLIP = 1.0
"""The hinge loss never gets worse when f is clipped to [-1, 1] (Sec. 3)."""

EQUAL_RISK = 1e-6
"""Risks closer than this are equal: solutions are exact to a gap of 1e-3, no finer."""


# ------------------------------------------------------------------------------------------ kernel


def squared_distances(A: ArrayLike, B: ArrayLike) -> FloatArray:
    """Compute ||a - b||^2 for all rows a of A and b of B.

    By definition, not as ||a||^2 - 2 <a, b> + ||b||^2, which cancels.
    """
    a, b = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    return np.asarray(np.square(a[:, None, :] - b[None, :, :]).sum(axis=2))


def manhattan_distances(A: ArrayLike, B: ArrayLike) -> FloatArray:
    """Compute sum_k |a_k - b_k| for all rows a of A and b of B."""
    a, b = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    return np.asarray(np.abs(a[:, None, :] - b[None, :, :]).sum(axis=2))


def kernel_matrix(kernel: str, width: float, A: ArrayLike, B: ArrayLike) -> FloatArray:
    """Compute k(a, b) for all rows a of A and b of B.

    It is exp(-||a - b||^2 / width^2) ("gauss"), exp(-||a - b|| / width) ("laplace"), or with the sum of the absolute
    differences in place of the norm, exp(-|a - b|_1 / width) ("manhattan").
    """
    if kernel == "manhattan":
        return np.asarray(np.exp(-manhattan_distances(A, B) / width))
    squared = squared_distances(A, B)
    exponent = squared / width**2 if kernel == "gauss" else np.sqrt(squared) / width
    return np.asarray(np.exp(-exponent))


def decision_values(points: ArrayLike, samples: ArrayLike, beta: ArrayLike, kernel: str, width: float) -> FloatArray:
    """Evaluate f(x) = sum_i beta_i k(x_i, x) at every point; beta may have several columns."""
    K = kernel_matrix(kernel, width, points, samples)
    return np.asarray(K @ np.asarray(beta, dtype=np.float64))


def gradients(points: ArrayLike, samples: ArrayLike, beta: ArrayLike, kernel: str, width: float) -> FloatArray:
    """Differentiate sum_i beta_i k(x_i, x) by x at every point: (n_points, n_columns of beta, n_features).

    The Laplace kernel has a tip: a sample where the point is counts as flat. So does a sample with the same coordinate
    for that of the Manhattan distance, which has an edge there.
    """
    x, samples = (np.asarray(rows, dtype=np.float64) for rows in (points, samples))
    away = x[:, None, :] - samples[None, :, :]
    distance = np.sqrt(np.square(away).sum(axis=2, keepdims=True))
    if kernel == "gauss":
        exponent = -2 * away / width**2
    elif kernel == "laplace":
        exponent = -np.divide(away, distance, out=np.zeros_like(away), where=distance > 0) / width
    else:
        exponent = -np.sign(away) / width
    K = kernel_matrix(kernel, width, x, samples)
    return np.asarray(np.einsum("pjk,jo->pok", exponent * K[:, :, None], np.asarray(beta, dtype=np.float64)))


# ---------------------------------------------------------------------- the problem and its dual
#
# The SVM of a cell (Sec. 2) minimizes over f in the kernel's RKHS
#
#     lam ||f||^2 + 1/W sum_i w_i L(y_i, f(x_i)),
#
# with weights w_i of sum W, all 1 in the paper. The minimizer is f = sum_i beta_i k(x_i, .), so
# ||f||^2 = beta'K beta. Divide by 2 lam; with box_i = w_i / (2 lam W) and r_i = y_i - f(x_i) the
# loss of sample i becomes
#
#     box_i L(y_i, f(x_i)) = max(lo_i r_i, hi_i r_i),
#
#     hinge, max(0, 1 - y f):               lo_i = min(0, y_i box_i),  hi_i = max(0, y_i box_i)
#     pinball, max((tau - 1) r, tau r):     lo_i = (tau - 1) box_i,    hi_i = tau box_i
#
# and the dual is to maximize t'beta - beta'K beta / 2 over lo <= beta <= hi, the target t being y.


@dataclass(frozen=True)
class BoxProblem:
    """Maximise t'beta - beta'K beta / 2 subject to lo <= beta <= hi."""

    K: FloatArray
    target: FloatArray
    lo: FloatArray
    hi: FloatArray
    lam: float
    """The objective times 2 lam is in units of the risk."""
    clip: float = np.inf
    """Values of f count as clipped to [-clip, clip]; with inf they are taken as they are."""


def hinge_problem(K: FloatArray, y: FloatArray, weight: FloatArray, lam: float, clip: float = HINGE_CLIP) -> BoxProblem:
    """State the dual for the hinge loss and labels -1, +1: y beta lies between 0 and the box."""
    signed = y * weight / (2 * lam * weight.sum())
    return BoxProblem(K, y, np.minimum(0.0, signed), np.maximum(0.0, signed), lam, clip)


def pinball_problem(
    K: FloatArray, y: FloatArray, weight: FloatArray, lam: float, tau: float, clip: float = np.inf
) -> BoxProblem:
    """State the dual for the pinball loss of quantile tau."""
    box = weight / (2 * lam * weight.sum())
    return BoxProblem(K, y, (tau - 1) * box, tau * box, lam, clip)


def dual_risk(problem: BoxProblem, beta: FloatArray) -> float:
    """Compute 2 lam (t'beta - beta'K beta / 2): a lower bound of every regularized risk."""
    return float(2 * problem.lam * (problem.target @ beta - beta @ problem.K @ beta / 2))


def primal_risk(problem: BoxProblem, beta: FloatArray) -> float:
    """Compute lam ||f||^2 + 1/W sum_i w_i L(y_i, clip(f(x_i)))."""
    f = problem.K @ beta
    r = problem.target - np.clip(f, -problem.clip, problem.clip)
    losses = np.maximum(problem.lo * r, problem.hi * r)
    return float(2 * problem.lam * (beta @ f / 2 + losses.sum()))


def duality_gap(problem: BoxProblem, beta: FloatArray) -> float:
    """Compute the duality gap in units of the risk.

    Without clipping the gap is never negative and bounds the distance to the optimum. With it the
    gap is smaller, even negative: a clipped f may have less risk than any function of the RKHS.
    It is the one to stop at, for what counts in the end is the risk of the clipped f (Sec. 3).
    """
    return primal_risk(problem, beta) - dual_risk(problem, beta)


# ------------------------------------------------------------------------------------------ solver
#
#   given     K, targets t, boxes lo <= 0 <= hi, a feasible start (0, or a larger lam's solution)
#   maximize  t'beta - beta'K beta / 2   subject to lo <= beta <= hi
#   result    beta, and the gap that certifies it
#   stops     when the gap, clipped as the problem says, is at most `tolerance` in units of the risk
#
# There is no offset, so there is no equality constraint, and one coordinate can move alone: of all
# coordinates, each moved to its own optimum, take the one that gains most (Steinwart, Hush, Scovel,
# JMLR 2011).


@dataclass(frozen=True)
class Solution:
    """Coefficients, and the gap that certifies them."""

    beta: FloatArray
    gap: float
    steps: int


def solve_box(
    problem: BoxProblem,
    *,
    tolerance: float = 1e-6,
    start: FloatArray | None = None,
    max_steps: int = 1_000_000,
) -> Solution:
    """Maximise the dual by greedy steps in one coordinate.

    Parameters
    ----------
    problem : BoxProblem
        The problem; its kernel matrix has a positive diagonal.
    tolerance : float, default=1e-6
        Gap at which to stop.
    start : ndarray of shape (n_samples,), optional
        Feasible coefficients to start from; the default is 0.
    max_steps : int, default=1_000_000
        Steps after which to give up.

    Returns
    -------
    Solution
        Coefficients whose gap is at most `tolerance`.

    Raises
    ------
    RuntimeError
        If `max_steps` steps were not enough.
    """
    K, target, lo, hi = problem.K, problem.target, problem.lo, problem.hi
    beta = np.zeros(len(target)) if start is None else start.copy()
    k = K.diagonal()
    r = target - K @ beta
    for step in range(max_steps):
        # primal - dual = sum_i max(lo_i rc_i, hi_i rc_i) - beta_i r_i, rc_i = t_i - clip(f(x_i)).
        rc = target - np.clip(target - r, -problem.clip, problem.clip)
        if 2 * problem.lam * (np.maximum(lo * rc, hi * rc) - beta * r).sum() <= tolerance:
            return Solution(beta, duality_gap(problem, beta), step)
        move = np.clip(beta + r / k, lo, hi) - beta
        best = int(np.argmax(move * (r - move * k / 2)))
        beta[best] += move[best]
        r -= move[best] * K[:, best]
    raise RuntimeError(f"the gap is above {tolerance:g} after {max_steps} steps; raise max_steps.")


def solve_path(problems: Sequence[BoxProblem], *, tolerance: float = 1e-6) -> list[Solution]:
    """Solve problems of descending lam, each started from the solution before (Alg. 1, line 9).

    Descending lam only widens the box, so the solution before stays feasible.
    """
    path: list[Solution] = []
    for problem in problems:
        start = path[-1].beta if path else None
        path.append(solve_box(problem, tolerance=tolerance, start=start))
    return path


# -------------------------------------------------------------------- least squares and expectiles
#
# The loss a_i (y_i - f(x_i))^2 has a_i = w_i for least squares; for the expectile tau it is tau w_i
# where y_i > f(x_i) and (1 - tau) w_i where not, so least squares is twice the expectile 1/2. Its
# conjugate is a square again: with beta = beta_i, c = lam W and a_i by the sign of beta_i,
#
#     dual(beta) = lam (2 y'beta - beta'K beta - c sum_i beta_i^2 / a_i).


@dataclass(frozen=True)
class SquareProblem:
    """Minimise lam ||f||^2 + 1/W sum_i a_i (y_i - f(x_i))^2, a_i by the sign of y_i - f(x_i)."""

    K: FloatArray
    y: FloatArray
    above: FloatArray
    """a_i where y_i > f(x_i)."""
    below: FloatArray
    lam: float
    total: float
    """W, the sum of the weights."""

    def factor(self, sign: FloatArray) -> FloatArray:
        """Return a_i by the sign of the residual, or of beta."""
        return np.where(sign > 0, self.above, self.below)

    def primal_risk(self, beta: FloatArray) -> float:
        """Compute lam ||f||^2 + 1/W sum_i a_i (y_i - f(x_i))^2."""
        f = self.K @ beta
        return float(self.lam * beta @ f + (self.factor(self.y - f) * (self.y - f) ** 2).sum() / self.total)

    def dual_risk(self, beta: FloatArray) -> float:
        """Compute a lower bound of every regularized risk."""
        ridge = self.lam * self.total * beta**2 / self.factor(beta)
        return float(self.lam * (2 * self.y @ beta - beta @ self.K @ beta - ridge.sum()))

    def duality_gap(self, beta: FloatArray) -> float:
        """Compute the duality gap in units of the risk."""
        return self.primal_risk(beta) - self.dual_risk(beta)


def ridge_problem(K: FloatArray, y: FloatArray, weight: FloatArray, lam: float) -> SquareProblem:
    """State least squares, for positive weights."""
    return SquareProblem(K, y, weight, weight, lam, float(weight.sum()))


def expectile_problem(K: FloatArray, y: FloatArray, weight: FloatArray, lam: float, tau: float) -> SquareProblem:
    """State the problem of the expectile tau, for positive weights."""
    return SquareProblem(K, y, tau * weight, (1 - tau) * weight, lam, float(weight.sum()))


def solve_square(problem: SquareProblem, *, max_steps: int = 100) -> FloatArray:
    """Solve (K + c diag(1/a)) beta = y until the a_i agree with the signs of beta: once for least squares."""
    factor = problem.factor(problem.y)
    for _ in range(max_steps):
        beta = np.asarray(np.linalg.solve(problem.K + np.diag(problem.lam * problem.total / factor), problem.y), float)
        if (factor == problem.factor(beta)).all():
            return beta
        factor = problem.factor(beta)
    raise RuntimeError(f"the signs change after {max_steps} steps; raise max_steps.")


# ------------------------------------------------------------------------------------------- risks


def hinge_loss(y: FloatArray, f: FloatArray) -> FloatArray:
    """Compute max(0, 1 - y clip(f))."""
    return np.maximum(0.0, 1.0 - y * np.clip(f, -HINGE_CLIP, HINGE_CLIP))


def classification_loss(y: FloatArray, f: FloatArray) -> FloatArray:
    """Compute 1 where the sign of f is not y, with sign 0 = 1 (Sec. 3)."""
    return np.where(np.where(f >= 0, 1.0, -1.0) == y, 0.0, 1.0)


def risk(loss: FloatArray, weight: FloatArray) -> float:
    """Compute the weighted mean of the samples' losses."""
    return float(loss @ weight / weight.sum())


def combined_risk(fold_risk: FloatArray, fold_weight: FloatArray) -> FloatArray:
    """Average risks (..., fold): the out-of-fold risk of the whole cell."""
    return np.asarray(fold_risk @ fold_weight / fold_weight.sum())


def select(error: FloatArray, loss: FloatArray) -> tuple[int, int]:
    """Select the grid point (width, lam) of least validation error (Alg. 1, line 18).

    Among equal errors the least hinge loss counts, then the larger width, then the larger lam:
    both descend along their axes.
    """
    points = [(w, q) for w in range(error.shape[0]) for q in range(error.shape[1])]
    equal = [point for point in points if error[point] <= error.min() + EQUAL_RISK]
    return min(equal, key=lambda point: float(loss[point]))


def combination_weights(fold_error: FloatArray, fold_weight: FloatArray) -> FloatArray:
    """Compute the folds' weights in the combination, exponential in their risks (Alg. 1, line 12).

    The paper leaves the constant open: the fold of largest risk has the exponent
    -(samples per fold) / 100.
    """
    if fold_error.max() == 0:
        return np.full(len(fold_error), 1 / len(fold_error))
    weight = np.exp(-fold_weight.mean() / 100 * fold_error / fold_error.max())
    return np.asarray(weight / weight.sum())


# ------------------------------------------------------------------------------------- Algorithm 1


@dataclass(frozen=True)
class ReferenceCell:
    """The decision function of a cell, and all that Algorithm 1 computed to find it.

    The axes of the arrays `fold_...` are (width, lam, fold) and, of the last two, samples.
    """

    beta: FloatArray
    """Coefficients of the combined function, one per sample."""
    width: float
    lam: float
    choice: tuple[int, int]
    fold_choice: list[int]
    """The lam of each fold at the chosen width: the best on its own validation samples."""
    error: FloatArray
    """Combined validation error by width and lam."""
    fold_error: FloatArray
    fold_loss: FloatArray
    fold_gap: FloatArray
    fold_beta: FloatArray
    fold_values: FloatArray
    """Values, at all samples, of the function trained without the fold."""


def train_cell_reference(
    X: ArrayLike,
    y: FloatArray,
    weight: FloatArray,
    ends: Sequence[int],
    widths: FloatArray,
    lams: FloatArray,
    *,
    kernel: str = "gauss",
    clip: float = HINGE_CLIP,
    tolerance: float = 1e-6,
) -> ReferenceCell:
    """Run Algorithm 1 on one cell with the hinge loss.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples ordered by fold.
    y, weight : ndarray of shape (n_samples,)
        Labels -1, +1 and weights.
    ends : sequence of int
        One past the last sample of every fold.
    widths, lams : ndarray
        Descending candidates.
    kernel : {"gauss", "laplace", "manhattan"}, default="gauss"
        The kernel.
    clip : float, default=1
        Clipping bound of the gap at which solves stop; inf for the plain gap.
    tolerance : float, default=1e-6
        That gap.

    Returns
    -------
    ReferenceCell
        The combined function and how it was found.
    """
    folds = np.split(np.arange(len(y)), ends[:-1])
    shape = (len(widths), len(lams), len(folds))
    error, loss, gap = np.empty(shape), np.empty(shape), np.empty(shape)
    beta, values = np.zeros((*shape, len(y))), np.empty((*shape, len(y)))
    for w, width in enumerate(widths):
        K = kernel_matrix(kernel, width, X, X)
        for fold, held_out in enumerate(folds):
            train = np.setdiff1d(np.arange(len(y)), held_out)
            K_train = K[np.ix_(train, train)]
            problems = [hinge_problem(K_train, y[train], weight[train], lam, clip) for lam in lams]
            for q, solution in enumerate(solve_path(problems, tolerance=tolerance)):
                at = (w, q, fold)
                beta[at][train] = solution.beta
                values[at] = K @ beta[at]
                y_out, f_out, weight_out = y[held_out], values[at][held_out], weight[held_out]
                error[at] = risk(classification_loss(y_out, f_out), weight_out)
                loss[at] = risk(hinge_loss(y_out, f_out), weight_out)
                gap[at] = solution.gap
    fold_weight = np.array([weight[fold].sum() for fold in folds])
    combined_error = combined_risk(error, fold_weight)
    w, q = select(combined_error, combined_risk(loss, fold_weight))
    numbers = range(len(folds))
    own = [select(error[[w], :, fold], loss[[w], :, fold])[1] for fold in numbers]
    return ReferenceCell(
        beta=combination_weights(error[w, own, numbers], fold_weight) @ beta[w, own, numbers],
        width=float(widths[w]),
        lam=float(lams[q]),
        choice=(w, q),
        fold_choice=own,
        error=combined_error,
        fold_error=error,
        fold_loss=loss,
        fold_gap=gap,
        fold_beta=beta,
        fold_values=values,
    )


def retrain_reference(
    cell: ReferenceCell,
    X: ArrayLike,
    y: FloatArray,
    weight: FloatArray,
    *,
    kernel: str = "gauss",
    clip: float = HINGE_CLIP,
    tolerance: float = 1e-6,
) -> ReferenceCell:
    """Replace the combination by one function trained on all samples at the chosen point.

    Parameters and result are those of `train_cell_reference`, whose result `cell` is.
    """
    K = kernel_matrix(kernel, cell.width, X, X)
    solution = solve_box(hinge_problem(K, y, weight, cell.lam, clip), tolerance=tolerance)
    return replace(cell, beta=solution.beta)


# -------------------------------------------------------------------------------------- partitions


def content_hash(X: ArrayLike, seed: int) -> NDArray[np.uint64]:
    """Hash every row: the finalizer of splitmix64 over the bits of its numbers as float64, -0 being 0."""
    gamma, mask = 0x9E3779B97F4A7C15, 2**64 - 1
    hashes = []
    for row in np.asarray(X, dtype=np.float64) + 0.0:
        h = (seed + 1) * gamma & mask
        for bits in row.view(np.uint64).tolist():
            h = h + gamma + bits & mask
            h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & mask
            h = (h ^ h >> 27) * 0x94D049BB133111EB & mask
            h ^= h >> 31
        hashes.append(h)
    return np.array(hashes, dtype=np.uint64)


def nearest_center(X: ArrayLike, centers: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the nearest center of every row, the first of equally near ones, and its squared distance.

    In float32, feature after feature: rounding decides which centers are equally near.
    """
    rows, points = np.asarray(X, dtype=np.float32), np.asarray(centers, dtype=np.float32)
    squared = np.zeros((len(rows), len(points)), dtype=np.float32)
    with np.errstate(over="ignore"):
        for k in range(rows.shape[1]):
            difference = rows[:, k, None] - points[None, :, k]
            squared += difference * difference
    labels = squared.argmin(axis=1)
    return labels, squared[np.arange(len(rows)), labels]


@dataclass(frozen=True)
class ReferenceCells:
    """Centres as row numbers; for every row its cell and the squared distance from its center."""

    centers: list[int]
    labels: NDArray[np.int64]
    squared: NDArray[np.float32]


def farthest_first(
    X: ArrayLike, counts: FloatArray, largest_size: float, largest_radius: float = np.inf, tiny_size: float = 0
) -> ReferenceCells:
    """Cut rows, each of which stands for a count of them, into cells of bounded size, or of bounded radius.

    Split the worst cell by its farthest row until there is none to split; by size, then delete the centers of tiny
    cells that are not needed. A split that takes less than a sixteenth of its cell is poor: next time the row in the
    middle, and if that was poor, too, the nearest other row becomes a center.
    """
    rows = np.asarray(X, dtype=np.float32)
    by_radius = largest_radius < np.inf
    centers, poor_splits = [0], [0]
    while True:
        labels, squared = nearest_center(rows, rows[centers])
        sizes = np.bincount(labels, counts, len(centers))
        farthest = np.array([squared[labels == j].max() for j in range(len(centers))])
        badness = farthest if by_radius else sizes
        too_bad = badness > (np.float32(largest_radius**2) if by_radius else largest_size)
        splittable = np.flatnonzero(too_bad & (farthest > 0))
        if len(splittable) == 0:
            break
        worst = int(splittable[badness[splittable].argmax()])
        others = np.flatnonzero((labels == worst) & (squared > 0))
        others = others[np.argsort(squared[others], kind="stable")]
        first_farthest = others[squared[others] == farthest[worst]][0]
        candidates = (first_farthest, others[len(others) // 2], others[0])
        centers.append(int(candidates[0 if by_radius else poor_splits[worst]]))
        kept = counts[nearest_center(rows, rows[centers])[0] == worst].sum()
        is_poor = sizes[worst] - kept < sizes[worst] / 16
        poor_splits[worst] = min(poor_splits[worst] + 1, 2) if is_poor else 0
        poor_splits.append(0)
    if not by_radius:
        centers = _needed_centers(rows, counts, largest_size, tiny_size, centers)
    return ReferenceCells(centers, *nearest_center(rows, rows[centers]))


def _needed_centers(
    X: NDArray[np.float32], counts: FloatArray, largest_size: float, tiny_size: float, centers: list[int]
) -> list[int]:
    """Delete centers of tiny cells, the smallest first, as long as no cell that takes over rows gets too large."""

    def sizes_without(gone: set[int]) -> tuple[NDArray[np.float64], bool]:
        left = [j for j in range(len(centers)) if j not in gone]
        labels, squared = nearest_center(X, X[[centers[j] for j in left]])
        sizes = np.zeros(len(centers))
        sizes[left] = np.bincount(labels, counts, len(left))
        return sizes, bool(np.isfinite(squared).all())

    gone: set[int] = set()
    sizes, _ = sizes_without(gone)
    order, changed = list(range(len(centers))), True
    while changed:
        changed = False
        order.sort(key=lambda j: float(sizes[j]))
        for cell in order:
            if cell in gone or sizes[cell] >= tiny_size or len(gone) == len(centers) - 1:
                continue
            after, in_reach = sizes_without(gone | {cell})
            if in_reach and not ((after > sizes) & (after > largest_size)).any():
                gone, sizes, changed = gone | {cell}, after, True
    return [center for j, center in enumerate(centers) if j not in gone]
