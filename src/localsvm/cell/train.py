"""Algorithm 1 for one cell, pure and picklable: every caller (threads, command line, Spark) runs `train_cell`.

Enters: a `CellTask` and `CellSettings`. Leaves: a `TrainedCell`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from localsvm._native import CancelToken
from localsvm.cell.blend import blend
from localsvm.cell.columns import Columns
from localsvm.cell.combine import Term, combine, fold_shares, kernel_sums, terms_by_width
from localsvm.cell.constant import constant_cell
from localsvm.cell.extent import median_distance
from localsvm.cell.folds import FoldedRows, make_folds
from localsvm.cell.memory import CellBytes
from localsvm.cell.path import SKIPPED, Cancelled, NativeCell, PathPlan, PathSolver, WidthPaths
from localsvm.cell.select import Choice, select, select_lams, select_width
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.squares import path_solver
from localsvm.cell.trained import (
    PHASES,
    CellFunctions,
    Certificates,
    OutOfFold,
    TrainedCell,
    count_unconverged,
)
from localsvm.tasks import Problem

# On the risk that a gap is compared with, where solves only tell the shares of machines that are trained once more.
_SLACK_OF_BLENDS = 5.0


def train_cell(
    task: CellTask,
    settings: CellSettings,
    token: CancelToken | None = None,
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
        Learning task, kernel, grid, folds.
    token : CancelToken, optional
        Stops the work from another thread.
    on_share : callable, optional
        Told the share of the widths that are done, after each.
    max_bytes : int, optional
        Memory that training may take; see `localsvm.cell.memory`. It changes how long that takes, not the result.
    n_threads : int, default=1
        Threads that build the kernel matrix and solve the paths of folds and problems.

    Returns
    -------
    TrainedCell
        The combined (or retrained) functions and the record of their selection.
    """
    if token is not None and token.cancelled:
        raise Cancelled
    if len(task.rows.y) == 0:
        return constant_cell(task, settings)
    reduction = settings.reduction
    rows = make_folds(task.rows, settings.folds_made, stratify=reduction.is_classification)
    rows = rows.repeated(reduction.copies)
    problems = reduction.problems(rows.y, rows.weight)
    if not problems:
        return constant_cell(task, settings)
    return _CellTraining(task, settings, rows, problems, token, on_share, max_bytes, n_threads).run()


class _CellTraining:
    """The state of one run of Algorithm 1; `run` reads like it."""

    def __init__(
        self,
        task: CellTask,
        settings: CellSettings,
        rows: FoldedRows,
        problems: list[Problem],
        token: CancelToken | None,
        on_share: Callable[[float], None] | None,
        max_bytes: int | None,
        n_threads: int,
    ) -> None:
        self.task, self.settings, self.rows = task, settings, rows
        self.token, self.on_share, self.max_bytes, self.n_threads = token, on_share, max_bytes, n_threads
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.columns = Columns.of(problems, rows)
        self.n_validated = min(settings.n_folds, rows.n_folds)
        by_fold = self.columns.by_fold(self.columns.weight)
        self.total_weight = by_fold.sum(axis=1)
        self.fold_weight = by_fold[:, : self.n_validated]
        # A problem may have all its samples in the fold left out: its machine is zero, whatever it weighs.
        training = self.total_weight[:, None] - self.fold_weight
        self.training_weight = np.where(training > 0, training, 1.0)
        self.validated_weight = np.maximum(self.fold_weight.sum(axis=1), np.finfo(np.float64).tiny)
        self._make_grid()
        self.constants = settings.reduction.constants(rows.y, rows.weight)
        for problem in problems:
            self.constants[problem.output] = problem.offset
        self.bounds = settings.reduction.bounds(rows.y)
        shape = (len(problems), len(self.widths), self.lams.shape[1], self.n_validated)
        self.risk, self.loss = np.full(shape, np.inf), np.full(shape, np.inf)
        # Averages over all samples left out, by problem, width and lam.
        self.mean_risk, self.mean_loss = np.full((2, *shape[:-1]), np.inf)
        self.gap = np.full(shape[1:], np.nan)
        self.status = np.full(shape[1:], SKIPPED, dtype=np.int8)
        self.steps = np.zeros(shape[1:], dtype=np.int64)
        self.n_unconverged = 0
        self.refit_certificate = (np.nan, SKIPPED)
        # Where all problems share their width: their lams at each width, and the risk of all together.
        self.joint_lam = np.zeros((len(self.widths), len(problems)), dtype=np.intp)
        self.joint_risk, self.joint_ties = np.full((2, len(self.widths)), np.inf)
        # At the best points so far: coefficients of the folds, and values of samples left out by output.
        self.best_beta = np.zeros((self.n_validated, len(self.columns.row)), dtype=np.float32)
        self.left_out = self._constant_values()
        # A blend needs the values of all points.
        n_kept = len(self.widths) if settings.refit == "blend" else 0
        self.values = np.zeros((n_kept, self.lams.shape[1], len(self.columns.row)), dtype=np.float32)

    def _make_grid(self) -> None:
        """Set the widths of the cell, and descending lams for every problem, by its size."""
        grid = self.settings.own_grid
        share = 1 - 1 / self.rows.n_folds if self.rows.n_folds > 1 else 1.0
        candidates = partial(
            grid.candidates,
            radius=self.task.radius,
            unit=median_distance(self.rows.X, self.settings.kernel) if grid.measures_distances else 1.0,
            n_features=self.rows.X.shape[1],
        )
        self.widths, _ = candidates(n_train=share * float(self.rows.weight.sum()))
        self.lams = np.stack([candidates(n_train=share * float(weight))[1] for weight in self.total_weight])

    def run(self) -> TrainedCell:
        solver = self._solver()
        if self.rows.n_folds == 1:  # one distinct row: nothing to validate on
            middle = np.zeros(len(self.columns.problems), dtype=np.intp)
            choice = Choice(middle + len(self.widths) // 2, middle + self.lams.shape[1] // 2)
            return self._finish(self._retrain(solver, self._alone(choice)), choice)
        for w, width in enumerate(self.widths):
            self._set_width(solver, width)
            self._solve_width(solver, w)
            if self.on_share is not None:
                self.on_share((w + 1) / len(self.widths))
        choice = self._choose()
        if self.settings.refit == "combine":
            terms = terms_by_width(self._combine(choice), self.widths[choice.width])
        else:
            terms = self._retrain(solver, self._blend() if self.settings.refit == "blend" else self._alone(choice))
        return self._finish(terms, choice)

    def _solver(self) -> PathSolver:
        begin = time.perf_counter()
        needed = self.settings.bytes_needed(
            len(self.task.rows.y), self.rows.X.shape[1], self.n_threads, n_columns=len(self.columns.row)
        )
        try:
            solver = self._solver_within(self.max_bytes, needed)
        except MemoryError:  # less is left than was planned with: as little as can be will do, slowly
            solver = self._solver_within(needed.smallest, needed)
        self.seconds["kernel"] += time.perf_counter() - begin
        return solver

    def _solver_within(self, max_bytes: int | None, needed: CellBytes) -> PathSolver:
        native = NativeCell(self.rows, self.settings.kernel, needed.native(max_bytes), self.n_threads, self.token)
        return path_solver(native, self.columns)

    def _set_width(self, solver: PathSolver, width: float) -> None:
        begin = time.perf_counter()
        solver.set_width(width)
        self.seconds["kernel"] += time.perf_counter() - begin

    def _solve_width(self, solver: PathSolver, w: int) -> None:
        """Fill in risks and certificates of one width; keep the coefficients of points that are the best so far."""
        n_problems, n_lams = self.lams.shape
        if self.settings.search == "full":
            paths = solver.solve(self._plan(range(self.n_validated), [n_lams] * n_problems))
            self._record(w, range(self.n_validated), paths)
            self._remember_best(w, paths.beta, paths.values)
        else:
            self._race(solver, w)

    def _race(self, solver: PathSolver, w: int) -> None:
        """Solve fold after fold, each only where the folds before leave a chance."""
        n_lams, n_columns = self.lams.shape[1], len(self.columns.row)
        beta = np.zeros((self.n_validated, n_lams, n_columns), dtype=np.float32)
        values = np.zeros((n_lams, n_columns), dtype=np.float32)
        for fold in range(self.n_validated):
            alive = self._alive_lams(w, fold)
            if not alive.any():
                break
            this = range(fold, fold + 1)
            paths = solver.solve(self._plan(this, alive.tolist()))
            self._record(w, this, paths)
            beta[fold, : paths.beta.shape[1]] = paths.beta[0]
            values[: len(paths.values)] += paths.values  # zero outside the fold
        self._remember_best(w, beta, values)

    def _plan(self, folds: range, n_lams: list[int]) -> PathPlan:
        slack = _SLACK_OF_BLENDS if self.settings.refit == "blend" else 1.0
        weight = np.ascontiguousarray(self.training_weight[:, folds.start : folds.stop])
        return PathPlan(folds, self.lams, n_lams, weight, self._allowed_gap(slack))

    def _allowed_gap(self, slack: float = 1.0) -> float:
        return self.settings.reduction.loss.allowed_gap(slack * float(self.mean_risk.min()))

    def _record(self, w: int, folds: range, paths: WidthPaths) -> None:
        begin = time.perf_counter()
        solved = np.isfinite(paths.gap)
        lams = slice(0, solved.shape[-1])
        place = (w, lams, slice(folds.start, folds.stop))
        for sums, by_fold, mean in (
            (paths.validation.risk, self.risk, self.mean_risk),
            (paths.validation.loss, self.loss, self.mean_loss),
        ):
            by_fold[:, *place] = np.where(solved, sums, np.inf).swapaxes(1, 2)
            mean[:, w] = by_fold[:, w].sum(axis=-1) / self.validated_weight[:, None]
        if self.settings.refit == "blend":
            self.values[w, lams] += paths.values  # zero outside these folds
        self._certify(place, paths)
        self.seconds["solver"] += paths.seconds
        self.seconds["validation"] += time.perf_counter() - begin

    def _certify(self, place: tuple[int, slice, slice], paths: WidthPaths) -> None:
        """Keep the worst of all problems, by lam and fold."""
        self.gap[place] = np.fmax.reduce(paths.gap).T
        worst = np.where(paths.status == SKIPPED, -1, paths.status).max(axis=0).T
        self.status[place] = np.where(worst < 0, SKIPPED, worst)
        self.steps[place] = paths.steps.sum(axis=0).T
        self.n_unconverged += count_unconverged(paths.status)

    def _alive_lams(self, w: int, fold: int) -> NDArray[np.intp]:
        """Racing: how much of each problem's path a fold still has to solve.

        A point is out when its risk on the folds so far is two standard errors above the best point known. The path
        ends after its last point that is not out: solutions are started from the one before.
        """
        n_problems, n_lams = self.lams.shape
        if fold == 0 or w == 0:
            return np.full(n_problems, n_lams)
        seen = np.maximum(self.fold_weight[:, :fold].sum(axis=1), np.finfo(np.float64).tiny)
        risk = self.risk[:, w, :, :fold].sum(axis=-1) / seen[:, None]
        best = self.mean_risk[:, :w].min(axis=(1, 2))
        # A risk has about the spread of a rate, or, with squares and distances, of a mean of its own size.
        spread = np.where(best < 1, best * (1 - best), np.square(best))
        error = np.sqrt(2 * np.maximum(spread, 1e-4) / seen)
        alive = risk <= (best + 2 * error)[:, None]
        return np.where(alive.any(axis=1), n_lams - alive[:, ::-1].argmax(axis=1), 0)

    def _remember_best(self, w: int, beta: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        """Keep what a problem has at this width, coefficients (fold, lam, column) and values, if it is the best so far.

        Samples left out have their values at the lam that is best for all folds: the fold's own would flatter them.
        """
        if self.settings.refit == "blend":
            return
        begin = time.perf_counter()
        one_width = self.settings.reduction.one_width
        joint = self._judge_width(w, beta, values) if one_width else self.left_out
        choice = self._choose()
        better = np.flatnonzero(choice.width == w).tolist()
        if better:
            self.left_out = joint
        for number in better:
            lam, where = choice.lam[number], self.columns.of_problem(number)
            for fold, of_fold in enumerate(self._fold_lams(number, w, lam)):
                self.best_beta[fold, where] = beta[fold, of_fold, where]
            if not one_width:
                self._set_output(self.left_out, number, values[lam, where])
        self.seconds["selection"] += time.perf_counter() - begin

    def _fold_lams(self, number: int, w: int, lam: int) -> NDArray[np.intp]:
        """Return the lam that is best for each fold's own samples; where it has none, or may have none, that of all."""
        weight = self.fold_weight[number] if self.settings.own_lams else np.zeros(self.n_validated)
        risk, loss = (sums[number, w].T / np.where(weight > 0, weight, 1.0)[:, None] for sums in (self.risk, self.loss))
        return np.where(weight > 0, select_lams(risk, loss), lam)

    def _judge_width(self, w: int, beta: NDArray[np.float32], values: NDArray[np.float32]) -> NDArray[np.float64]:
        """Give each problem its best lam at this width, and see how all of them together judge samples left out.

        Returns the values of these samples, by output.
        """
        risk, loss = self.mean_risk[:, w], self.mean_loss[:, w]
        self.joint_lam[w] = lam = select_lams(risk, loss)
        of_problem = np.arange(len(lam))
        self.joint_ties[w] = self.total_weight @ risk[of_problem, lam]
        if not np.isfinite(self.joint_ties[w]):
            return self.left_out
        of_column = lam[self.columns.problem], np.arange(len(self.columns.row))
        on_all_rows = all(problem.rows is None for problem in self.columns.problems)
        joint = self._kept_values(values[of_column]) if on_all_rows else self._fold_values(beta[:, *of_column], w)
        self.joint_risk[w], _ = self._judge(self._out_of_fold(joint))
        return joint

    def _choose(self) -> Choice:
        if self.settings.reduction.one_width:
            w = select_width(self.joint_risk, self.joint_ties)
            return Choice(np.full(len(self.joint_lam[w]), w), self.joint_lam[w])
        return select(self.mean_risk, self.mean_loss)

    def _combine(self, choice: Choice) -> NDArray[np.float32]:
        begin = time.perf_counter()
        weight = np.maximum(self.fold_weight, np.finfo(np.float64).tiny)
        chosen = zip(choice.width, choice.lam, strict=True)
        lams = np.stack([self._fold_lams(number, w, lam) for number, (w, lam) in enumerate(chosen)])
        numbers, folds = np.indices(lams.shape)
        risk = self.risk[numbers, choice.width[:, None], lams, folds]
        shares = fold_shares(risk / weight, self.fold_weight)
        beta = combine(self.columns, self.best_beta, shares)
        self.seconds["selection"] += time.perf_counter() - begin
        return beta

    def _alone(self, choice: Choice) -> NDArray[np.float64]:
        """Return the shares of grid points when each problem has one."""
        shares = np.zeros(self.mean_risk.shape)
        shares[np.arange(len(choice.width)), choice.width, choice.lam] = 1.0
        return shares

    def _blend(self) -> NDArray[np.float64]:
        """Return the shares of grid points whose mean errs least, and keep the values of that mean."""
        begin = time.perf_counter()
        shares = blend(self.columns, self.values, self.mean_risk, self.n_validated)
        mean = np.zeros(len(self.columns.row), dtype=np.float32)
        for number, w, lam in zip(*np.nonzero(shares), strict=True):
            where = self.columns.of_problem(int(number))
            mean[where] += np.float32(shares[number, w, lam]) * self.values[w, lam, where]
        self.left_out = self._kept_values(mean)
        self.seconds["selection"] += time.perf_counter() - begin
        return shares

    def _retrain(self, solver: PathSolver, shares: NDArray[np.float64]) -> list[Term]:
        """Train once more on all samples, at every grid point that has a share."""
        terms = []
        gap, status = -np.inf, 0
        for w in np.flatnonzero(shares.any(axis=(0, 2))):
            self._set_width(solver, self.widths[w])
            n_lams = _lams_needed(shares[:, w])
            plan = PathPlan([-1], self.lams, n_lams.tolist(), self.total_weight[:, None], self._allowed_gap())
            paths = solver.solve(plan)
            by_column = shares[self.columns.problem, w, : paths.beta.shape[1]]
            beta = np.einsum("cl,lc->c", by_column, paths.beta[0]).astype(np.float32)
            terms.append(Term(float(self.widths[w]), np.flatnonzero(n_lams), beta))
            number, lam = np.nonzero(shares[:, w])
            used = (number, 0, lam)
            gap, status = max(gap, float(paths.gap[used].max())), max(status, int(paths.status[used].max()))
            self.n_unconverged += count_unconverged(paths.status[used])
            self.seconds["solver"] += paths.seconds
        self.refit_certificate = (gap, status)
        return terms

    def _functions(self, terms: Sequence[Term]) -> CellFunctions:
        sums = kernel_sums(self.columns, terms, self.rows.X)
        return CellFunctions(self.settings.kernel, self.constants, self.bounds, sums)

    def _out_of_fold(self, values: NDArray[np.float64]) -> OutOfFold:
        """Score every sample left out by values (sample, output) of the machines that did not see it."""
        scores = np.full((len(self.rows.y), self.settings.reduction.n_scores), np.nan, dtype=np.float32)
        if self.rows.n_folds > 1:
            n_left_out = self.rows.ends[self.n_validated - 1]
            scores[:n_left_out] = self.settings.reduction.scores(values[:n_left_out])
        return OutOfFold(scores, self.rows.y, self.rows.weight)

    def _kept_values(self, of_column: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the values of samples left out, by output, where all problems are on all samples."""
        values = self._constant_values()
        for number in range(len(self.columns.problems)):
            self._set_output(values, number, of_column[self.columns.of_problem(number)])
        return values

    def _constant_values(self) -> NDArray[np.float64]:
        return np.tile(np.clip(self.constants, *self.bounds.T), (len(self.rows.y), 1))

    def _set_output(self, values: NDArray[np.float64], number: int, of_column: NDArray[np.float32]) -> None:
        problem = self.columns.problems[number]
        bounds = self.bounds[problem.output]
        values[:, problem.output] = np.clip(self.constants[problem.output] + problem.scale * of_column, *bounds)

    def _fold_values(self, beta: NDArray[np.float32], w: int) -> NDArray[np.float64]:
        """Evaluate the machines of each fold: a sample is not in all problems, but all of them judge it."""
        width = np.full(len(self.columns.problems), self.widths[w])
        return np.concatenate(
            [
                self._functions(terms_by_width(of_fold, width)).values(self.rows.X[self.rows.fold(fold)])
                for fold, of_fold in enumerate(beta)
            ]
        )

    def _finish(self, terms: Sequence[Term], choice: Choice) -> TrainedCell:
        width = self.widths[choice.width]
        functions = self._functions(terms)
        out_of_fold = self._out_of_fold(self.left_out)
        risk, error = self._judge(out_of_fold)
        units = np.array([problem.risk_unit for problem in self.columns.problems]) * self.total_weight
        risks = np.tensordot(units / self.total_weight.sum(), self.mean_risk, 1)
        return TrainedCell(
            number=self.task.number,
            functions=functions,
            width=width,
            lam=self.lams[np.arange(len(choice.lam)), choice.lam],
            radius=self.task.radius,
            n_samples=len(self.task.rows.y),
            total_weight=float(self.task.rows.weight.sum()),
            risk=risk,
            risk_error=error,
            widths=self.widths,
            lams=self.lams[0],
            risks=risks,
            certificates=Certificates(self.gap, self.status, self.steps, self.n_unconverged, *self.refit_certificate),
            out_of_fold=out_of_fold,
            seconds=self.seconds,
        )

    def _judge(self, out_of_fold: OutOfFold) -> tuple[float, float]:
        """Return the cross-validated risk of all outputs together, and its standard error."""
        if self.rows.n_folds == 1:
            return np.nan, 0.0
        left_out = slice(0, self.rows.ends[self.n_validated - 1])
        weight = out_of_fold.weight[left_out]
        risk = self.settings.reduction.risk(out_of_fold.y[left_out], out_of_fold.scores[left_out].astype(np.float64))
        mean = float(risk @ weight / weight.sum())
        return mean, float(np.sqrt(np.square(risk - mean) @ weight) / weight.sum())


def _lams_needed(shares: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return how much of its path each problem needs for the last lam that has a share (problem, lam)."""
    used = shares > 0
    return np.where(used.any(axis=1), used.shape[1] - used[:, ::-1].argmax(axis=1), 0)
