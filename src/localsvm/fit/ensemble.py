"""The fit of an ensemble: members are fitted one after the other, and weighted by their out-of-fold scores.

Enters: the rows and settings of every member. Leaves: an `EnsembleResult`. Members see the same rows, which may be
encoded and scaled in different ways; their partitions and folds differ by the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from localsvm.data.content import row_keys
from localsvm.data.encoding import View
from localsvm.data.types import FloatArray
from localsvm.decision.blend import KeyedScores, blend_models, blended
from localsvm.decision.cross_validated import CvMeasures, cross_validated
from localsvm.fit.fit import FitResult, fit_model
from localsvm.fit.prepare import TargetRows
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


def fit_ensemble(plans: Sequence[MemberPlan], on_progress: OnProgress | None = None) -> EnsembleResult:
    """Fit all members and weight them."""
    if len(plans) == 1:
        result = fit_model(plans[0].rows, plans[0].settings, on_progress)
        return EnsembleResult((Member(result.model, view=plans[0].view),), (result,), (0,), result.seconds, result.cv)
    first = plans[0].rows
    keys = row_keys(first.hashes(plans[0].settings.seed, plans[0].settings.n_threads), first.y)
    results = []
    for number, plan in enumerate(plans):
        own, listener = plan.numbered(number), on_progress and _Part(on_progress, number, len(plans))
        results.append(fit_model(replace(own.rows, key=keys), own.settings, listener))
    return _weighted(plans, results)


def _weighted(plans: Sequence[MemberPlan], results: Sequence[FitResult]) -> EnsembleResult:
    scores = [result.keyed for result in results if result.keyed is not None]
    weights = blend_models(plans[0].settings.cell.reduction, scores)
    order = [number for number in np.argsort(-weights, kind="stable").tolist() if weights[number] > 0]
    return EnsembleResult(
        members=tuple(Member(results[number].model, float(weights[number]), plans[number].view) for number in order),
        results=tuple(replace(results[number], keyed=None) for number in order),
        numbers=tuple(order),
        seconds={phase: sum(result.seconds[phase] for result in results) for phase in results[0].seconds},
        cv=_cross_validated(plans[0].settings, scores, weights),
    )


def _cross_validated(settings: FitSettings, scores: Sequence[KeyedScores], weights: FloatArray) -> CvMeasures:
    if len(scores) < len(weights):
        return {}
    factors = settings.factors if settings.class_factor else None
    return cross_validated(settings.cell.reduction, [blended(scores, weights)], None, factors)


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
