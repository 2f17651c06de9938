"""The flow of a fit: hash -> metric -> partition -> train cells -> decide -> model.

Enters: validated rows and `FitSettings`. Leaves: a `FitResult`. With a checkpoint, cells that an earlier fit has
finished are not trained again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from localsvm.cell.trained import PHASES, OutOfFold
from localsvm.data.stages import NOT_KEPT
from localsvm.data.types import FloatArray
from localsvm.decision.blend import KeyedScores
from localsvm.decision.cross_validated import CvMeasures, cross_validated
from localsvm.decision.decide import Decision, FittedDecision, OutOfFoldScores, fit_decision
from localsvm.fit.memory import MemoryLimit
from localsvm.fit.prepare import TargetRows, check_memory, prepare
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import OnProgress, tell_stage, train_cells
from localsvm.model.local_model import LocalModel
from localsvm.model.table import CellTable
from localsvm.storage.checkpoint import OpenCheckpoint, open_checkpoint
from localsvm.storage.lazy_cells import LazyCells
from localsvm.storage.spool import Spool
from localsvm.tasks import Probabilities


@dataclass(frozen=True)
class FitResult:
    """Result of a fit: the model, its cells at a glance, seconds per phase, and how the threshold was chosen."""

    model: LocalModel
    table: CellTable
    seconds: dict[str, float]
    relevance: FloatArray
    """Weights of the columns of the model."""
    decision: Decision | None = None
    """Of binary problems with an operating point."""
    out_of_fold: OutOfFoldScores | None = None
    """Scores of all samples, kept if all solutions are, so that another operating point can be chosen."""
    cv: CvMeasures = field(default_factory=dict)
    """Measures of out-of-fold predictions; the first is that of `score`."""
    keyed: KeyedScores | None = None
    """Scores of all samples of a member of an ensemble."""


def fit_model(data: TargetRows, settings: FitSettings, on_progress: OnProgress | None = None) -> FitResult:
    """Fit a local model to rows of finite features; rows of weight zero are as if absent."""
    begin = time.perf_counter()
    data, reduction = data.present(), settings.cell.reduction
    with _checkpoint(settings, data) as checkpoint:
        limit = MemoryLimit.of(settings.max_memory)
        check_memory(data.X.shape, settings, limit)
        tell_stage(on_progress, "scaling")
        hashes = data.hashes(settings.seed, settings.n_threads)
        if checkpoint is not None:
            checkpoint.check_data(hashes, data.y, data.weight, data.ties)
        hashed = time.perf_counter()
        stages = NOT_KEPT if checkpoint is None else checkpoint.stages
        prepared = prepare(data, hashes, settings, limit, on_progress, stages)
        del hashes
        kept = None if checkpoint is None else checkpoint.cells(prepared.members, prepared.scaling, reduction)
        directory = settings.workspace
        spool = None if directory is None else Spool(directory, prepared.n_features, reduction)
        tell_stage(on_progress, "cells")
        cells = train_cells(prepared.tasks, prepared.sizes, prepared.cell, prepared.plan, on_progress, kept, spool)
    trained = time.perf_counter()
    tell_stage(on_progress, "calibration")
    of_cells = [cell.seconds for cell in cells]
    seconds = {**prepared.seconds, **{phase: math.fsum(found[phase] for found in of_cells) for phase in PHASES}}
    seconds["scaling"] += hashed - begin
    model = LocalModel(prepared.n_features, prepared.scaling, prepared.partition, reduction, cells)
    sample_weight, relevance = prepared.n_rows / int(prepared.sizes.sum()), prepared.relevance
    del prepared, cells, kept  # frees what only training needs
    decided = _decide(model, settings, sample_weight, spool)
    keyed = None if data.key is None else KeyedScores.of(_out_of_fold(model, spool))
    point = None if decided.decision is None else decided.decision.point
    factors = settings.factors if settings.class_factor else None
    cv = cross_validated(reduction, _out_of_fold(model, spool), point, factors)
    # Cells on disk have no out-of-fold scores with them, and stay there if they are complete.
    on_disk = isinstance(model.cells, LazyCells) and decided.machine is None
    decided_cells = model.cells if on_disk else tuple(decided.of_cell(cell) for cell in model.cells)
    model = replace(model, cells=decided_cells, reduction=decided.reduction, calibration=decided.calibration)
    end = time.perf_counter()
    seconds |= {"calibration": end - trained, "total": end - begin}
    return FitResult(model, CellTable.of(model.cells), seconds, relevance, decided.decision, decided.scores, cv, keyed)


def _checkpoint(settings: FitSettings, data: TargetRows) -> AbstractContextManager[OpenCheckpoint | None]:
    if settings.checkpoint is None:
        return nullcontext()
    return open_checkpoint(settings.checkpoint, settings.identity(data.ties), data.X.shape)


def _out_of_fold(model: LocalModel, spool: Spool | None) -> Iterator[OutOfFold]:
    if spool is not None:
        return spool.out_of_fold()
    return (cell.out_of_fold for cell in model.cells if cell.out_of_fold is not None)


def _decide(model: LocalModel, settings: FitSettings, sample_weight: float, spool: Spool | None) -> FittedDecision:
    """Choose the operating point and fit probabilities from out-of-fold scores.

    Partitions whose cells overlap are averaged: a sample that lies in m cells has weight 1/m in each, on average.
    """
    if not model.reduction.is_classification or isinstance(model.reduction, Probabilities):
        return FittedDecision(model.reduction)
    factors = settings.factors if settings.class_factor else None
    scores = OutOfFoldScores.of(_out_of_fold(model, spool), factors, model.averages, sample_weight)
    return fit_decision(scores, model.reduction, settings.decision)
