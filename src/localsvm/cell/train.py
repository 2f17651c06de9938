"""Algorithm 1 for one cell, pure and picklable: every caller (threads, command line, Spark) runs `train_cell`.

Enters: a `CellTask` and `CellSettings`. Leaves: a `TrainedCell`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from localsvm._native import CancelToken
from localsvm.cell.columns import Columns, FoldWeights
from localsvm.cell.combine import Refit, choose_ending, retrain_in_the_middle
from localsvm.cell.folds import FoldedRows, make_folds
from localsvm.cell.grid import median_distance
from localsvm.cell.memory import CellBytes
from localsvm.cell.outputs import Outputs
from localsvm.cell.path import Cancelled, NativeCell, PathSolver
from localsvm.cell.search import Clock, GridSearch, RacingSearch, SearchRecord
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.squares import path_solver
from localsvm.cell.trained import Certificates, TrainedCell, constant_cell
from localsvm.data.types import FloatArray

# On the risk that the allowed gap follows from: the search only ranks points, which are solved once more.
_BLEND_GAP_FACTOR = 5.0


def train_cell(
    task: CellTask,
    settings: CellSettings,
    token: CancelToken | None = None,
    on_progress: Callable[[float], None] | None = None,
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
    on_progress : callable, optional
        Called with the fraction of the widths that are done, after each.
    max_bytes : int, optional
        Memory that training may take; see `localsvm.cell.memory`. It changes the time, not the result.
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
    rows = rows.repeated(reduction.repeats)
    problems = reduction.problems(rows.y, rows.weight)
    if not problems:
        return constant_cell(task, settings)
    columns = Columns.of(problems, rows)
    outputs = Outputs.of(reduction, settings.kernel, rows, columns, min(settings.n_folds, rows.n_folds))
    clock = Clock()
    with clock.phase("kernel"):
        needed = settings.bytes_needed(len(task.rows.y), rows.X.shape[1], n_threads, n_columns=len(columns.row))
        solver = _solver(columns, NativeCell(rows, settings.kernel, max_bytes, n_threads, token), needed)
    search = _search(task, settings, outputs, solver, clock)
    if rows.n_folds == 1:  # one distinct row: nothing to validate on
        return _trained_cell(task, search, outputs, retrain_in_the_middle(search, outputs))

    ending = choose_ending(settings, search, outputs)
    for w in range(len(search.widths)):
        search.set_width(w)  # one kernel matrix for all folds and problems
        beta, values = search.solve_paths(w)  # lambda paths of all folds, validated
        ending.update(w, beta, values)  # select: keep the solutions at the best grid points so far
        if on_progress is not None:
            on_progress((w + 1) / len(search.widths))
    return _trained_cell(task, search, outputs, ending.finish())  # combine


def _solver(columns: Columns, native: NativeCell, needed: CellBytes) -> PathSolver:
    """Return the solver of all paths, within the memory that the native cell may take."""
    try:
        return path_solver(replace(native, max_bytes=needed.native(native.max_bytes)), columns)
    except MemoryError:  # less memory is available than was planned: take the minimum, slowly
        return path_solver(replace(native, max_bytes=needed.native(needed.smallest)), columns)


def _search(task: CellTask, settings: CellSettings, outputs: Outputs, solver: PathSolver, clock: Clock) -> GridSearch:
    """Return the search before its first width, full or racing."""
    weights = FoldWeights.of(outputs.columns, outputs.n_folds)
    widths, lams = _grid(task, settings, outputs.rows, weights.total)
    kind = RacingSearch if settings.search == "racing" else GridSearch
    return kind(
        solver=solver,
        widths=widths,
        lams=lams,
        n_columns=len(outputs.columns.row),
        loss=settings.reduction.loss,
        gap_factor=_BLEND_GAP_FACTOR if settings.refit == "blend" else 1.0,
        record=SearchRecord.empty(weights, len(widths), lams.shape[1]),
        clock=clock,
    )


def _grid(
    task: CellTask, settings: CellSettings, rows: FoldedRows, total_weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the widths of the cell, and the lams of every problem, by its size; all descend."""
    grid = settings.own_grid
    trained = 1 - 1 / rows.n_folds if rows.n_folds > 1 else 1.0
    candidates = partial(
        grid.candidates,
        radius=task.radius,
        unit=median_distance(rows.X, settings.kernel) if grid.measures_distances else 1.0,
        n_features=rows.X.shape[1],
    )
    widths, _ = candidates(n_train=trained * float(rows.weight.sum()))
    return widths, np.stack([candidates(n_train=trained * float(weight))[1] for weight in total_weight])


def _trained_cell(task: CellTask, search: GridSearch, outputs: Outputs, refit: Refit) -> TrainedCell:
    """Return the functions, their out-of-fold scores, and the record of the search."""
    record, choice = search.record, refit.choice
    out_of_fold = outputs.scores(refit.values)
    risk, error = outputs.risk(out_of_fold)
    total_weight = record.weights.total
    units = np.array([problem.risk_unit for problem in outputs.columns.problems]) * total_weight
    return TrainedCell(
        number=task.number,
        functions=outputs.functions(refit.terms),
        width=search.widths[choice.width],
        lam=search.lams[np.arange(len(choice.lam)), choice.lam],
        radius=task.radius,
        n_samples=len(task.rows.y),
        total_weight=float(task.rows.weight.sum()),
        risk=risk,
        risk_error=error,
        widths=search.widths,
        lams=search.lams[0],
        risks=np.tensordot(units / total_weight.sum(), record.mean_risk, 1),
        certificates=Certificates(
            gap=record.gap,
            status=record.status,
            steps=record.steps,
            n_unconverged=record.n_unconverged + refit.n_unconverged,
            refit_gap=refit.gap,
            refit_status=refit.status,
        ),
        out_of_fold=out_of_fold,
        seconds=search.clock.seconds,
    )
