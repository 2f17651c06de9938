"""The flow of a fit: prepare -> train cells -> model.

Enters: validated rows and `FitSettings`. Leaves: a `LocalModel` and the seconds of each phase. With a checkpoint,
cells that an earlier fit has finished are not trained again.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import PHASES
from localsvm.data.source import RowSource
from localsvm.decision.decide import Decision, FittedDecision, OutOfFoldScores, fit_decision
from localsvm.fit.prepare import FitSettings, prepare, present_rows
from localsvm.fit.training import OnProgress, train_cells
from localsvm.model.local_model import LocalModel
from localsvm.storage.checkpoint import OpenCheckpoint, open_checkpoint
from localsvm.storage.lazy_cells import LazyCells
from localsvm.storage.spool import Spool


@dataclass(frozen=True)
class FitResult:
    """The model, the seconds spent in each phase, and, of two classes that are not told apart by the sign, why."""

    model: LocalModel
    seconds: dict[str, float]
    decision: Decision | None = None
    relevance: NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    """Weights of the columns of the model."""
    left_out: OutOfFoldScores | None = None
    """Kept where machines are, so that another operating point can be chosen."""


def fit_model(
    X: RowSource,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    settings: FitSettings,
    on_progress: OnProgress | None = None,
) -> FitResult:
    """Fit a local model to rows of finite features; rows of weight zero are as if absent."""
    X, y, weight = present_rows(X, y, weight)
    if settings.checkpoint is None:
        return _fit(X, y, weight, settings, on_progress, None)
    with open_checkpoint(settings.checkpoint, settings.identity(), X.shape) as checkpoint:
        return _fit(X, y, weight, settings, on_progress, checkpoint)


def _fit(
    X: RowSource,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    settings: FitSettings,
    on_progress: OnProgress | None,
    checkpoint: OpenCheckpoint | None,
) -> FitResult:
    begin = time.perf_counter()
    prepared = prepare(X, y, weight, settings, checkpoint)
    spool = None
    if settings.workspace is not None:
        spool = Spool(settings.workspace, prepared.n_features, settings.cell.reduction)
    cells = train_cells(
        prepared.tasks, prepared.sizes, prepared.cell, prepared.plan, on_progress, prepared.keeper, spool
    )
    trained = time.perf_counter()
    seconds = dict(prepared.seconds)
    of_cells = [cell.seconds for cell in cells]
    for phase in PHASES:
        seconds[phase] = math.fsum(found[phase] for found in of_cells)
    model = LocalModel(prepared.n_features, prepared.scaling, prepared.partition, settings.cell.reduction, cells)
    share, relevance = prepared.n_rows / int(prepared.sizes.sum()), prepared.relevance
    del prepared, cells  # what is only needed for training leaves the memory
    result = _decide(model, settings, share, spool)
    seconds["calibration"] = time.perf_counter() - trained
    seconds["total"] = time.perf_counter() - begin
    return replace(result, seconds=seconds, relevance=relevance)


def _decide(model: LocalModel, settings: FitSettings, share: float, spool: Spool | None) -> FitResult:
    """Choose the operating point and fit probabilities; out-of-fold scores have served then.

    A sample is in 1/`share` cells, on average.
    """
    if not model.reduction.is_classification:
        return FitResult(_judged(model, FittedDecision(model.reduction)), {})
    in_memory = (cell.out_of_fold for cell in model.cells if cell.out_of_fold is not None)
    parts = in_memory if spool is None else spool.out_of_fold()
    averaged = model.averages
    left_out = OutOfFoldScores.of(parts, settings.factors if settings.class_factor else None, averaged, share)
    judgement = fit_decision(left_out, model.reduction, settings.decision)
    return FitResult(_judged(model, judgement), {}, judgement.decision, left_out=judgement.scores)


def _judged(model: LocalModel, judgement: FittedDecision) -> LocalModel:
    # Cells on disk have no out-of-fold scores with them, and stay there if they are complete.
    on_disk = isinstance(model.cells, LazyCells) and judgement.machine is None
    cells = model.cells if on_disk else tuple(judgement.of_cell(cell) for cell in model.cells)
    return replace(model, cells=cells, reduction=judgement.reduction, calibration=judgement.calibration)
