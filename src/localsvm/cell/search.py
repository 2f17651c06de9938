"""Grid search (Alg. 1, lines 3-11): the lambda paths of every width are solved on all folds and validated.

Enters: the grid of a cell, and a solver of the paths of its problems. Leaves: a `SearchRecord`, and, width by width,
the solutions of the folds. A full search solves every grid point. Without the need to, a path of least squares ends
when smaller lams only increase the risk, and racing drops points that can hardly be the best.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.columns import FoldWeights
from localsvm.cell.path import SKIPPED, PathPlan, PathSolver, WidthPaths
from localsvm.cell.trained import PHASES, count_unconverged
from localsvm.data.types import Float32Array, FloatArray, IndexArray
from localsvm.tasks.losses import Loss


@dataclass(frozen=True)
class Clock:
    """Seconds spent in each phase of training."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time until the end of the block."""
        begin = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - begin


@dataclass
class SearchRecord:
    """Risks and certificates of the grid points solved so far; risks are inf where a point was not solved."""

    weights: FoldWeights
    risk: FloatArray
    """Summed over the validation fold (problem, width, lam, fold), as the next one."""
    loss: FloatArray
    mean_risk: FloatArray
    """Mean over all validation folds (problem, width, lam), as the next one."""
    mean_loss: FloatArray
    gap: FloatArray
    """The worst of all problems (width, lam, fold), as the next one; the third has their sum."""
    status: NDArray[np.int8]
    steps: NDArray[np.int64]
    n_unconverged: int = 0

    @classmethod
    def empty(cls, weights: FoldWeights, n_widths: int, n_lams: int) -> SearchRecord:
        """Return the record before the search."""
        n_problems, n_folds = weights.validation.shape
        points, solves = (n_problems, n_widths, n_lams), (n_widths, n_lams, n_folds)
        return cls(
            weights=weights,
            risk=np.full((n_problems, *solves), np.inf),
            loss=np.full((n_problems, *solves), np.inf),
            mean_risk=np.full(points, np.inf),
            mean_loss=np.full(points, np.inf),
            gap=np.full(solves, np.nan),
            status=np.full(solves, SKIPPED, dtype=np.int8),
            steps=np.zeros(solves, dtype=np.int64),
        )

    def add(self, w: int, folds: range, paths: WidthPaths) -> None:
        """Add the paths of some folds at one width."""
        solved = np.isfinite(paths.gap)
        place = (w, slice(0, solved.shape[-1]), slice(folds.start, folds.stop))
        for sums, by_fold, mean in (
            (paths.validation.risk, self.risk, self.mean_risk),
            (paths.validation.loss, self.loss, self.mean_loss),
        ):
            by_fold[:, *place] = np.where(solved, sums, np.inf).swapaxes(1, 2)
            mean[:, w] = by_fold[:, w].sum(axis=-1) / self.weights.validated[:, None]
        self.gap[place] = np.fmax.reduce(paths.gap).T
        worst = np.where(paths.status == SKIPPED, -1, paths.status).max(axis=0).T
        self.status[place] = np.where(worst < 0, SKIPPED, worst)
        self.steps[place] = paths.steps.sum(axis=0).T
        self.n_unconverged += count_unconverged(paths.status)

    def lams_in_race(self, w: int, fold: int) -> IndexArray:
        """Return how much of each problem's path a fold has to solve.

        A point is out of the race when its risk on the folds before is two standard errors above the best point of the
        widths before. The path ends after its last point in the race: every solution starts from the one before.
        """
        n_problems, _, n_lams = self.mean_risk.shape
        if fold == 0 or w == 0:
            return np.full(n_problems, n_lams)
        seen = np.maximum(self.weights.validation[:, :fold].sum(axis=1), np.finfo(np.float64).tiny)
        risk = self.risk[:, w, :, :fold].sum(axis=-1) / seen[:, None]
        best = self.mean_risk[:, :w].min(axis=(1, 2))
        # The variance of an error rate; of a squared or absolute loss about the square of its mean.
        variance = np.where(best < 1, best * (1 - best), np.square(best))
        error = np.sqrt(2 * np.maximum(variance, 1e-4) / seen)
        return path_lengths(risk <= (best + 2 * error)[:, None])


def path_lengths(needed: NDArray[np.bool_]) -> IndexArray:
    """Return how many lams to solve up to the last one that is needed (problem, lam)."""
    return np.where(needed.any(axis=1), needed.shape[1] - needed[:, ::-1].argmax(axis=1), 0)


@dataclass(frozen=True)
class GridSearch:
    """Solves the paths of a cell's problems, width by width, at all grid points, and keeps their record."""

    solver: PathSolver
    widths: FloatArray
    lams: FloatArray
    """Descending, by problem."""
    n_columns: int
    """Samples of all problems, see `Columns`."""
    loss: Loss
    gap_factor: float
    """On the risk from which the allowed duality gap follows."""
    record: SearchRecord
    clock: Clock
    patience: int = 0
    """See `PathPlan`."""

    def set_width(self, w: int) -> None:
        """Compute the kernel matrix, which all folds and problems share."""
        with self.clock.phase("kernel"):
            self.solver.set_width(float(self.widths[w]))

    def solve_paths(self, w: int) -> tuple[Float32Array, Float32Array]:
        """Return validated solutions of all folds (fold, lam, column) and their out-of-fold values (lam, column)."""
        n_problems, n_lams = self.lams.shape
        paths = self._cross_validate(w, range(self.record.gap.shape[2]), [n_lams] * n_problems)
        return paths.beta, paths.values

    def _cross_validate(self, w: int, folds: range, lengths: Sequence[int]) -> WidthPaths:
        weight = np.ascontiguousarray(self.record.weights.training[:, folds.start : folds.stop])
        paths = self._solve(folds, lengths, weight, self.gap_factor)
        with self.clock.phase("validation"):
            self.record.add(w, folds, paths)
        return paths

    def solve_on_all_samples(self, w: int, lengths: Sequence[int]) -> WidthPaths:
        """Solve paths without a validation fold."""
        self.set_width(w)
        return self._solve([-1], lengths, self.record.weights.total[:, None], 1.0)

    def _solve(self, folds: Sequence[int], lengths: Sequence[int], weight: FloatArray, gap_factor: float) -> WidthPaths:
        tolerance = self.loss.allowed_gap(gap_factor * float(self.record.mean_risk.min()))
        paths = self.solver.solve(PathPlan(folds, self.lams, lengths, weight, tolerance, self.patience))
        self.clock.seconds["solver"] += paths.seconds
        return paths


class RacingSearch(GridSearch):
    """Solves one fold after the other, each only at the points that are in the race."""

    def solve_paths(self, w: int) -> tuple[Float32Array, Float32Array]:
        """Solve and validate paths as long as they have points in the race; others have coefficients and values 0."""
        n_lams, n_folds = self.record.gap.shape[1:]
        beta = np.zeros((n_folds, n_lams, self.n_columns), dtype=np.float32)
        values = np.zeros((n_lams, self.n_columns), dtype=np.float32)
        for fold in range(n_folds):
            lengths = self.record.lams_in_race(w, fold)
            if not lengths.any():
                break
            paths = self._cross_validate(w, range(fold, fold + 1), lengths.tolist())
            beta[fold, : paths.beta.shape[1]] = paths.beta[0]
            values[: len(paths.values)] += paths.values  # zero outside the fold
        return beta, values
