"""The fit of an ensemble: members are fitted one after the other, and weighted by their out-of-fold scores.

Enters: the rows and settings of every member. Leaves: an `EnsembleResult`. Members see the same rows, which may be
encoded and scaled in different ways; their partitions and folds differ by the seed. Where training rows have
duplicates, the scores also decide how much these count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from localsvm.data.content import Keys, row_keys, tied_keys
from localsvm.data.encoding import View
from localsvm.data.source import RowSource
from localsvm.data.types import FloatArray
from localsvm.decision.blend import KeyedScores, blend_models, blended
from localsvm.decision.cross_validated import CvMeasures, cross_validated
from localsvm.decision.duplicates import Duplicates, RowsByHash, are_frequent, find_duplicates
from localsvm.fit.fit import FitResult, fit_model
from localsvm.fit.memory import MemoryLimit
from localsvm.fit.prepare import TargetRows, check_memory
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import OnProgress, Progress, tell_stage
from localsvm.model.ensemble import Member

_SEED_STEP = 1_000_003  # between members: fits of neighbouring random states share none


@dataclass(frozen=True)
class MemberPlan:
    """What a member is fitted to, and how."""

    rows: TargetRows
    settings: FitSettings
    view: View | None = None

    def numbered(self, number: int) -> MemberPlan:
        """Return the plan with a seed of its own, and with a directory of its own in the checkpoint."""
        if number == 0:
            return self
        settings = replace(self.settings, seed=self.settings.seed + number * _SEED_STEP)
        if settings.checkpoint is not None:
            directory = Path(settings.checkpoint.path) / f"member-{number}"
            settings = replace(settings, checkpoint=replace(settings.checkpoint, path=directory))
        return replace(self, settings=settings)


@dataclass(frozen=True)
class EnsembleResult:
    """Members that have a weight, the largest first."""

    members: tuple[Member, ...]
    results: tuple[FitResult, ...]
    """Of the same members."""
    numbers: tuple[int, ...]
    """Which of the plans they are."""
    seconds: dict[str, float]
    """Of all members, also of those without a weight."""
    cv: CvMeasures = field(default_factory=dict)
    """Measures of the out-of-fold predictions of all members together."""
    duplicates: Duplicates | None = None
    """Of the training rows, if they count."""


def fit_ensemble(
    plans: Sequence[MemberPlan], features: RowSource | None = None, on_progress: OnProgress | None = None
) -> EnsembleResult:
    """Fit all members and weight them; `features` are rows by which duplicates are found, if they may count."""
    first, settings = plans[0].rows, plans[0].settings
    hashes = None if features is None else _hashes_of_duplicates(replace(first, X=features), settings)
    if len(plans) == 1 and hashes is None:
        result = fit_model(first, settings, on_progress)
        return EnsembleResult((Member(result.model, view=plans[0].view),), (result,), (0,), result.seconds, result.cv)
    keys = row_keys(first.hashes(settings.seed, settings.n_threads), first.y)
    if first.ties is not None:
        keys = tied_keys(keys, first.ties)
    results = []
    for number, plan in enumerate(plans):
        own, listener = plan.numbered(number), on_progress and _Part(on_progress, number, len(plans))
        results.append(fit_model(replace(own.rows, key=keys), own.settings, listener))
    scores = [result.keyed for result in results if result.keyed is not None]
    weights = blend_models(settings.cell.reduction, scores)
    of_all = blended(scores, weights)
    factors = settings.factors if settings.class_factor else None
    return replace(
        _weighted(plans, results, weights),
        cv=cross_validated(settings.cell.reduction, [of_all], None, factors),
        duplicates=None if hashes is None else _duplicates(first, settings, hashes, keys, of_all),
    )


def _hashes_of_duplicates(rows: TargetRows, settings: FitSettings) -> Keys | None:
    """Return the hashes of the features, if many rows of positive weight have duplicates."""
    check_memory(rows.X.shape, settings, MemoryLimit.of(settings.max_memory))
    hashes = rows.hashes(settings.seed, settings.n_threads)
    present = rows.weight > 0
    return hashes if are_frequent(hashes[present], rows.weight[present]) else None


def _duplicates(
    rows: TargetRows, settings: FitSettings, hashes: Keys, keys: Keys, scores: KeyedScores
) -> Duplicates | None:
    present = np.flatnonzero(rows.weight > 0)
    y = rows.y[present]
    unit = np.broadcast_to(settings.factors(y), len(y)).astype(np.float64)
    found = RowsByHash(hashes[present], keys[present], y, rows.weight[present] * unit, unit)
    return find_duplicates(settings.cell.reduction, found, scores, settings.seed)


def _weighted(plans: Sequence[MemberPlan], results: Sequence[FitResult], weights: FloatArray) -> EnsembleResult:
    order = [number for number in np.argsort(-weights, kind="stable").tolist() if weights[number] > 0]
    return EnsembleResult(
        members=tuple(Member(results[number].model, float(weights[number]), plans[number].view) for number in order),
        results=tuple(replace(results[number], keyed=None) for number in order),
        numbers=tuple(order),
        seconds={phase: sum(result.seconds[phase] for result in results) for phase in results[0].seconds},
    )


@dataclass
class _Part:
    """A listener to one of several fits, which tells another of the progress of all."""

    listener: OnProgress
    number: int
    count: int

    def __call__(self, progress: Progress) -> None:
        """Tell of the progress of all fits."""
        self.listener(
            replace(
                progress,
                cells_done=self.number * progress.n_cells + progress.cells_done,
                n_cells=self.count * progress.n_cells,
                samples_done=self.number * progress.n_samples + progress.samples_done,
                n_samples=self.count * progress.n_samples,
                samples_restored=self.number * progress.n_samples + progress.samples_restored,
            )
        )

    def stage(self, name: str, *_: int) -> None:
        """Tell which stage of which fit begins."""
        tell_stage(self.listener, name, self.number + 1, self.count)
