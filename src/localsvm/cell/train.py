"""Training of one cell: Algorithm 1, pure and picklable; threads, the command line and Spark all call it.

Enters: a `CellTask` (the samples) and `CellSettings`. Leaves: a `TrainedCell` (a function, and how it was found).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localsvm._native import CancelToken, Cell, nearest_centres
from localsvm.cell.combine import combine
from localsvm.cell.folds import FoldedRows, make_folds
from localsvm.cell.grid import Grid
from localsvm.cell.memory import cell_bytes
from localsvm.cell.path import STATUS, Cancelled, FoldPath, Map, solve_fold
from localsvm.cell.select import Choice, combined_risk, select
from localsvm.data.content import Rows
from localsvm.data.rows import mean_ball
from localsvm.losses import Hinge, Loss

PHASES = ("kernel", "solver", "validation", "selection")

_FOLDS_OF_A_SINGLE_SPLIT = 5


@dataclass(frozen=True)
class CellTask:
    """The samples of one cell, and its place in space."""

    rows: Rows
    radius: float
    number: int = 0
    fallback: float = 1.0
    """What the function is if there are no samples."""


@dataclass(frozen=True)
class CellSettings:
    """How to train a cell; the same for all cells of a fit."""

    loss: Loss = field(default_factory=Hinge)
    kernel: str = "gauss"
    grid: Grid = field(default_factory=Grid)
    n_folds: int = 5
    """Folds that validate; 1 is a single split into training and validation samples."""
    refit: str = "combine"
    search: str = "full"

    @property
    def folds_made(self) -> int:
        """Folds that samples are dealt to: of a single split the first of five validates, the others train."""
        return self.n_folds if self.n_folds > 1 else _FOLDS_OF_A_SINGLE_SPLIT


@dataclass(frozen=True)
class Certificates:
    """How every solve ended, by width, lam and fold; `status` indexes `STATUS`, skipped points have gap NaN.

    The gap is that of the clipped risk (Sec. 3): it bounds how far the clipped function is from the optimum, and may
    be negative, when clipping alone makes a function better than the best unclipped one.
    """

    gap: NDArray[np.float64]
    status: NDArray[np.int8]
    steps: NDArray[np.int64]
    refit_gap: float = np.nan
    """Gap of the last solve with refit="retrain"."""
    refit_status: int = STATUS.index("skipped")

    @property
    def n_unconverged(self) -> int:
        """Number of solves that ended above the tolerance."""
        ends = (STATUS.index("max_steps"), STATUS.index("precision"))
        return int(np.isin(self.status, ends).sum()) + (self.refit_status in ends)


@dataclass(frozen=True)
class TrainedCell:
    """A decision function as coefficients of support vectors, and the record of its selection."""

    number: int
    support_vectors: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    constant: float
    """Value of the function in a cell without support vectors (a cell of one class)."""
    kernel: str
    width: float
    lam: float
    radius: float
    n_samples: int
    total_weight: float
    risk: float
    widths: NDArray[np.float64]
    lams: NDArray[np.float64]
    risks: NDArray[np.float64]
    """Combined validation risk by width and lam."""
    certificates: Certificates
    seconds: dict[str, float]

    @property
    def edge(self) -> str | None:
        """Name the end of the grid that was chosen, if it is better than the inside by more than noise.

        Noise is one standard error of the validation error. A grid of one or two values has no inside.
        """
        for name, values, chosen, axis in (
            ("width", self.widths, self.width, 0),
            ("lam", self.lams, self.lam, 1),
        ):
            if len(values) > 2 and chosen in (values[0], values[-1]):
                inside = float(np.delete(self.risks, [0, -1], axis=axis).min())
                if inside > self.risk + self._standard_error():
                    return f"{'largest' if chosen == values[0] else 'smallest'} {name}"
        return None

    def _standard_error(self) -> float:
        return float(np.sqrt(max(self.risk * (1 - self.risk), 0.0) / self.total_weight))


def train_cell(
    task: CellTask,
    settings: CellSettings,
    token: CancelToken | None = None,
    fold_map: Map = map,
    on_share: Callable[[float], None] | None = None,
    max_bytes: int | None = None,
    n_threads: int = 1,
) -> TrainedCell:
    """Run Algorithm 1 on one cell.

    Parameters
    ----------
    task : CellTask
        The samples, in canonical order.
    settings : CellSettings
        Loss, kernel, grid, folds.
    token : CancelToken, optional
        Stops the work from another thread.
    fold_map : callable, optional
        Replaces `map` over the folds of a width, to solve them in threads.
    on_share : callable, optional
        Told the share of the widths that are done, after each.
    max_bytes : int, optional
        Memory that training may take; see `localsvm.cell.memory`. It changes how long that takes, not the result.
    n_threads : int, default=1
        Threads that build the kernel matrix, and that `fold_map` solves in.

    Returns
    -------
    TrainedCell
        The combined (or retrained) decision function and the record of its selection.
    """
    if len(task.rows.y) == 0:
        return _constant_cell(task, settings.kernel, task.fallback)
    if np.ptp(task.rows.y) == 0:
        return _constant_cell(task, settings.kernel, float(task.rows.y[0]))
    rows = make_folds(task.rows, settings.folds_made, stratify=True)
    return _CellTraining(task, settings, rows, token, fold_map, on_share, max_bytes, n_threads).run()


def cell_radius(rows: Rows) -> float:
    """Return the largest distance of a sample from the mean of the distinct samples."""
    _, radius = mean_ball(rows.X)
    return radius if radius > 0 else 1.0


def median_distance(X: NDArray[np.float32]) -> float:
    """Return the median distance of the cell's samples to at most 32 of them, the unit of the default grid."""
    some = X[:: max(1, len(X) // 32)][:32]
    squared = np.concatenate([nearest_centres(X, row[None, :])[1] for row in some])
    positive = squared[squared > 0]
    return float(np.sqrt(np.median(positive.astype(np.float64)))) if len(positive) else 1.0


class _CellTraining:
    """The state of one run of Algorithm 1; `run` reads like it."""

    def __init__(
        self,
        task: CellTask,
        settings: CellSettings,
        rows: FoldedRows,
        token: CancelToken | None,
        fold_map: Map,
        on_share: Callable[[float], None] | None,
        max_bytes: int | None,
        n_threads: int,
    ) -> None:
        self.task, self.settings, self.rows = task, settings, rows
        self.token, self.fold_map, self.on_share = token, fold_map, on_share
        self.max_bytes, self.n_threads = max_bytes, n_threads
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.n_validated = min(settings.n_folds, rows.n_folds)
        self.fold_weight = np.array([rows.weight[rows.fold(fold)].sum() for fold in range(self.n_validated)])
        total = float(rows.weight.sum())
        self.widths, self.lams = settings.grid.with_kernel(settings.kernel).candidates(
            n_train=total * (1 - 1 / rows.n_folds) if rows.n_folds > 1 else total,
            radius=task.radius,
            unit=median_distance(rows.X),
            n_features=rows.X.shape[1],
        )
        shape = (len(self.widths), len(self.lams), self.n_validated)
        self.risk, self.loss = np.full(shape, np.inf), np.full(shape, np.inf)
        self.gap = np.full(shape, np.nan)
        self.status = np.full(shape, STATUS.index("skipped"), dtype=np.int8)
        self.steps = np.zeros(shape, dtype=np.int64)
        self.refit_certificate = (np.nan, STATUS.index("skipped"))
        self.best: tuple[float, int, NDArray[np.float32]] | None = None

    def run(self) -> TrainedCell:
        cell = self._native_cell()
        if self.rows.n_folds == 1:  # one distinct row: nothing to validate on
            choice = Choice(len(self.widths) // 2, len(self.lams) // 2, np.nan)
            return self._finish(self._retrain(cell, choice), choice)
        for w, width in enumerate(self.widths):
            self._set_width(cell, width)
            self._remember_best(w, self._solve_width(cell, w))
            if self.on_share is not None:
                self.on_share((w + 1) / len(self.widths))
        choice = self._select()
        beta = self._retrain(cell, choice) if self.settings.refit == "retrain" else self._combine(choice)
        return self._finish(beta, choice)

    def _native_cell(self) -> Cell:
        rows, settings = self.rows, self.settings
        begin = time.perf_counter()
        n_samples, n_features = rows.X.shape
        needed = cell_bytes(
            n_samples, n_features, n_lams=len(self.lams), n_folds=rows.n_folds, n_threads=self.n_threads
        )
        max_bytes = needed.native(self.max_bytes)
        cell = Cell(rows.X, list(rows.ends), settings.kernel, self.token, max_bytes, self.n_threads)
        dual = settings.loss.dual(rows.y, rows.weight)
        cell.add_problem(dual.target, dual.lo, dual.hi, dual.clip)
        self.seconds["kernel"] += time.perf_counter() - begin
        return cell

    def _set_width(self, cell: Cell, width: float) -> None:
        begin = time.perf_counter()
        cell.set_width(width, self.token)
        self.seconds["kernel"] += time.perf_counter() - begin

    def _solve_width(self, cell: Cell, w: int) -> NDArray[np.float32]:
        """Fill in risks and certificates of one width; return the coefficients (fold, lam, sample)."""
        n_folds, n_lams = self.n_validated, len(self.lams)
        beta = np.zeros((n_folds, n_lams, len(self.rows.y)), dtype=np.float32)
        if self.settings.search == "full":
            paths = self._solve_folds(cell, range(n_folds), n_lams)
            for fold, path in enumerate(paths):
                self._record(w, fold, path, beta)
            return beta
        for fold in range(n_folds):
            alive = self._alive_lams(w, fold)
            if alive == 0:
                break
            (path,) = self._solve_folds(cell, [fold], alive)
            self._record(w, fold, path, beta)
        return beta

    def _solve_folds(self, cell: Cell, folds: Iterable[int], n_lams: int) -> Iterable[FoldPath]:
        lams = self.lams[:n_lams]
        return self.fold_map(
            lambda fold: solve_fold(cell, self.rows, self.settings.loss, fold, lams, self.token),
            folds,
        )

    def _record(self, w: int, fold: int, path: FoldPath, beta: NDArray[np.float32]) -> None:
        solved = slice(0, len(path.risk))
        self.risk[w, solved, fold], self.loss[w, solved, fold] = path.risk, path.loss
        self.gap[w, solved, fold], self.status[w, solved, fold] = path.gap, path.status
        self.steps[w, solved, fold] = path.steps
        beta[fold, solved] = path.beta
        self.seconds["solver"] += path.seconds_solver
        self.seconds["validation"] += path.seconds_validation

    def _alive_lams(self, w: int, fold: int) -> int:
        """Racing: how much of the path a fold still has to solve.

        A point is out when its risk on the folds so far is two standard errors above the best point known. The path
        ends after its last point that is not out: solutions are started from the one before.
        """
        if fold == 0 or self.best is None:
            return len(self.lams)
        seen = self.fold_weight[:fold]
        risk = self.risk[w, :, :fold] @ (seen / seen.sum())
        best = self.best[0]
        error = np.sqrt(2 * max(best * (1 - best), 1e-4) / seen.sum()) if best < 1 else 0.0
        alive = np.flatnonzero(risk <= best + 2 * error)
        return int(alive[-1]) + 1 if len(alive) else 0

    def _remember_best(self, w: int, beta: NDArray[np.float32]) -> None:
        # Coefficients of one point only are kept: the best so far.
        lowest = float(combined_risk(self.risk[w], self.fold_weight).min())
        loss = combined_risk(self.loss, self.fold_weight)
        chosen = select(combined_risk(self.risk, self.fold_weight), loss)
        if chosen.width_index == w and np.isfinite(lowest):
            self.best = (lowest, w, beta[:, chosen.lam_index].copy())

    def _select(self) -> Choice:
        begin = time.perf_counter()
        risk = combined_risk(self.risk, self.fold_weight)
        choice = select(risk, combined_risk(self.loss, self.fold_weight))
        self.seconds["selection"] += time.perf_counter() - begin
        return choice

    def _combine(self, choice: Choice) -> NDArray[np.float32]:
        assert self.best is not None and self.best[1] == choice.width_index
        begin = time.perf_counter()
        risk = self.risk[choice.width_index, choice.lam_index]
        beta = combine(self.best[2], risk, self.fold_weight)
        self.seconds["selection"] += time.perf_counter() - begin
        return beta

    def _retrain(self, cell: Cell, choice: Choice) -> NDArray[np.float32]:
        self._set_width(cell, self.widths[choice.width_index])
        lams = self.lams[: choice.lam_index + 1]
        path = solve_fold(cell, self.rows, self.settings.loss, -1, lams, self.token)
        self.seconds["solver"] += path.seconds_solver
        self.refit_certificate = (float(path.gap[-1]), int(path.status[-1]))
        return np.asarray(path.beta[-1])

    def _finish(self, beta: NDArray[np.float32], choice: Choice) -> TrainedCell:
        support = np.flatnonzero(beta)
        return TrainedCell(
            number=self.task.number,
            support_vectors=self.rows.X[support],
            coefficients=beta[support],
            constant=0.0,
            kernel=self.settings.kernel,
            width=float(self.widths[choice.width_index]),
            lam=float(self.lams[choice.lam_index]),
            radius=self.task.radius,
            n_samples=len(self.rows.y),
            total_weight=float(self.rows.weight.sum()),
            risk=choice.risk,
            widths=self.widths,
            lams=self.lams,
            risks=combined_risk(self.risk, self.fold_weight),
            certificates=Certificates(self.gap, self.status, self.steps, *self.refit_certificate),
            seconds=self.seconds,
        )


def _constant_cell(task: CellTask, kernel: str, constant: float) -> TrainedCell:
    rows = task.rows
    none = np.zeros((0, 0, 0))
    return TrainedCell(
        number=task.number,
        support_vectors=rows.X[:0],
        coefficients=np.zeros(0, dtype=np.float32),
        constant=constant,
        kernel=kernel,
        width=1.0,
        lam=np.nan,
        radius=task.radius,
        n_samples=len(rows.y),
        total_weight=float(rows.weight.sum()),
        risk=0.0,
        widths=np.zeros(0),
        lams=np.zeros(0),
        risks=np.zeros((0, 0)),
        certificates=Certificates(none, none.astype(np.int8), none.astype(np.int64)),
        seconds=dict.fromkeys(PHASES, 0.0),
    )


__all__ = [
    "CancelToken",
    "Cancelled",
    "CellSettings",
    "CellTask",
    "Certificates",
    "TrainedCell",
    "cell_radius",
    "train_cell",
]
