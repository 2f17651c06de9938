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
from localsvm.cell.combine import Refitted, choose_refit, retrain_in_the_middle, selected
from localsvm.cell.folds import FoldedRows, make_folds
from localsvm.cell.grid import median_distance
from localsvm.cell.logistic import newton_steps
from localsvm.cell.many_classes import rank_widths
from localsvm.cell.memory import CellBytes
from localsvm.cell.outputs import Outputs
from localsvm.cell.path import Cancelled, NativeCell, PathSolver
from localsvm.cell.search import Clock, GridSearch, RacingSearch, SearchRecord
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.squares import path_solver
from localsvm.cell.trained import Certificates, TrainedCell, constant_cell
from localsvm.data.types import FloatArray
from localsvm.tasks import Probabilities

# On the risk that the allowed gap follows from: the search only ranks points, which are solved once more.
_BLEND_GAP_FACTOR = 5.0
_PATIENCE = 2  # lams without a lower risk after which a path of least squares ends


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
    y = rows.y
    if isinstance(reduction, Probabilities):
        if rows.n_folds == 1:  # one distinct row has the rates of its classes
            return constant_cell(task, settings)
        # Others begin with least squares on the indicators of the classes, one lam for all folds.
        rows = replace(rows, y=reduction.indicators(y))
        settings = replace(settings, reduction=reduction.least_squares, own_lams=False)
    start = partial(_start_search, task, NativeCell(rows, settings.kernel, max_bytes, n_threads, token))
    ranked = rank_widths(settings, rows, start) if isinstance(reduction, Probabilities) else None
    outputs = Outputs.of(settings, rows, Columns.of(problems, rows))
    search = start(settings, outputs)
    if rows.n_folds == 1:  # one distinct row: nothing to validate on
        return _trained_cell(task, search, outputs, retrain_in_the_middle(search, outputs))

    refit = choose_refit(settings, search, outputs)  # combine, retrain or blend
    for w in range(len(search.widths)) if ranked is None else [ranked.best]:
        # All folds and problems share a kernel matrix. Of their lambda paths, solved and validated, only the solutions
        # at the best grid points so far are kept; the result has no name, so the rest is freed before the next width.
        search.set_width(w)
        refit.update(w, *search.solve_paths(w))
        if on_progress is not None:
            on_progress((w + 1) / len(search.widths))
    if isinstance(reduction, Probabilities):
        outputs, refitted = newton_steps(search, selected(refit), reduction, y, settings.refit)
    else:
        refitted = refit.finish()
    cell = _trained_cell(task, search, outputs, refitted)
    return cell if ranked is None else ranked.complete(cell)


def _start_search(task: CellTask, native: NativeCell, settings: CellSettings, outputs: Outputs) -> GridSearch:
    """Return the search, full or racing, before its first width."""
    clock, n_columns = Clock(), len(outputs.columns.row)
    needed = settings.bytes_needed(len(task.rows.y), task.rows.X.shape[1], native.n_threads, n_columns=n_columns)
    with clock.phase("kernel"):
        solver = _solver(outputs.columns, native, needed)
    weights = FoldWeights.of(outputs.columns, outputs.n_folds)
    widths, lams = _grid(task, settings, outputs.rows, weights.total)
    kind = RacingSearch if settings.search == "racing" else GridSearch
    return kind(
        solver=solver,
        widths=widths,
        lams=lams,
        n_columns=n_columns,
        loss=settings.reduction.loss,
        gap_factor=_BLEND_GAP_FACTOR if settings.refit == "blend" else 1.0,
        record=SearchRecord.empty(weights, len(widths), lams.shape[1]),
        clock=clock,
        patience=_PATIENCE if settings.search == "auto" else 0,
    )


def _solver(columns: Columns, native: NativeCell, needed: CellBytes) -> PathSolver:
    """Return the solver of all paths; `native.max_bytes` is for all that training takes."""
    try:
        return path_solver(replace(native, max_bytes=needed.native(native.max_bytes)), columns)
    except MemoryError:  # less memory is available than was planned: take the minimum, slowly
        return path_solver(replace(native, max_bytes=needed.native(needed.smallest)), columns)


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


def _trained_cell(task: CellTask, search: GridSearch, outputs: Outputs, refit: Refitted) -> TrainedCell:
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
