"""Relevance: how much each feature matters, and which kernel of the distance serves, learned on a pilot sample.

Enters: rows of the sample, and their scaling. Leaves: a `Metric`: a weight for every column of the model, and a kernel.
Cells are then found and trained in that metric, so that they are longest where nothing happens.

A weight is learned from the slopes of machines: a feature along which they are steep is stretched, another is shrunk,
and again. It is the diagonal of the average gradient outer product of recursive feature machines (Radhakrishnan,
Beaglehole, Pandit, Belkin 2024). Machines are local here, so their slopes are taken where they will be used: in
neighbourhoods of the size of a cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localsvm.cell import CancelToken
from localsvm.cell.extent import cell_radius
from localsvm.cell.grid import Grid
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.cell.trained import TrainedCell
from localsvm.data.content import Rows
from localsvm.data.scaling import Scaling
from localsvm.losses import Squared
from localsvm.partition.base import ThreadMap
from localsvm.partition.near import random_cells
from localsvm.pilot import Sample
from localsvm.reduction import Reduction, Regression

KERNELS = ("gauss", "laplace")
"""Those that the pilot chooses from, the plainer first."""

# Of the pilot; docs/decisions.md has the figures.
_FEWEST_ROWS = 1000  # of a fit; a pilot on less says nothing
_MOST_ROWS = 50_000  # in which places are found
_PLACE_ROWS = (1000, 2000)  # of a place at most: as many as a cell has, but no less and no more
_PLACES = (4, 20)  # one for so many rows, but no less and no more
_ROWS_PER_PLACE = 4000
_SCOUTED = 10  # of the places at most: there rounds are compared, and the best of them at all
_PARTS = 10  # in which a single place is judged
_ROUNDS = 6
_PATIENCE = 2  # rounds without progress before it ends
_LEAST_GAIN = 0.02  # of the risk
_POWER = 0.5  # of the mean squared slopes
_LEAST = 1e-3  # of the largest weight: less is as good as nothing, and can still be undone
_STEPS_PER_OCTAVE = 8  # weights are rounded, so that they do not depend on how sums are rounded
_SLOPES_PER_PLACE = 256


@dataclass(frozen=True)
class Metric:
    """How rows are compared: columns are multiplied with weights of mean one, then a kernel of the distance counts."""

    weights: NDArray[np.float64]
    kernel: str


@dataclass(frozen=True)
class PilotPlan:
    """What the pilot may choose, and the size of the fit that it serves."""

    kernels: tuple[str, ...]
    learns_weights: bool
    n_rows: int
    cell_size: int
    is_local: bool = True
    """Whether cells are neighbourhoods; else they are random samples of all rows."""
    max_bytes: int | None = None


def learn_metric(
    sample: Sample,
    scaling: Scaling,
    weights: NDArray[np.float64],
    reduction: Reduction,
    plan: PilotPlan,
    thread_map: ThreadMap = map,
) -> Metric:
    """Return the metric of least cross-validated risk at some places; what is as good within noise stays plain.

    Least squares serve all learning tasks: they are solved for all lams at once, and what moves the mean of the targets
    moves their quantiles and classes.

    Parameters
    ----------
    sample : Sample
        Rows in the order of their hashes.
    scaling : Scaling
        What is applied to them first.
    weights : ndarray of shape (n_columns,)
        Weights to begin with.
    reduction : Reduction
        The learning task, which says what the targets are.
    plan : PilotPlan
        What there is to choose.
    thread_map : callable, optional
        Replaces `map` over the places.

    Returns
    -------
    Metric
        The weights, those given or learned ones, and the kernel.
    """
    start = Metric(weights, plan.kernels[0])
    if min(plan.n_rows, len(sample.y)) < _FEWEST_ROWS or (len(plan.kernels) == 1 and not plan.learns_weights):
        return start
    used = slice(0, _MOST_ROWS)
    scaled = Sample(scaling.apply(sample.X[used]), sample.y[used], sample.weight[used])
    pilot = _Pilot(scaled, reduction, plan, thread_map)
    try:
        return _search(pilot, start, plan).metric
    except BaseException:
        pilot.token.cancel()  # threads that still train end at once
        raise


@dataclass(frozen=True)
class _Trial:
    """A metric, its risks at the places, and the mean squared slopes there."""

    metric: Metric
    risks: NDArray[np.float64]
    slopes: NDArray[np.float64]

    @property
    def risk(self) -> float:
        return float(self.risks.mean())

    def or_better(self, other: _Trial) -> _Trial:
        """Return the other one if its risk is lower by more than noise."""
        gain = self.risks - other.risks
        # The best of several rounds looks better than it is, on the rows that its weights were learned from.
        noise = max(gain.std() / np.sqrt(len(gain)), _LEAST_GAIN * self.risk)
        return other if gain.mean() > noise else self


def _search(pilot: _Pilot, start: Metric, plan: PilotPlan) -> _Trial:
    """Choose a kernel, then weights, then see whether the kernel is still the better one."""
    best = _better_kernel(pilot, pilot.judge(start), plan)
    if plan.learns_weights:
        sharpened = _sharpen(pilot, best)
        if sharpened is not best:
            best = _better_kernel(pilot, sharpened, plan)
    return best


def _better_kernel(pilot: _Pilot, best: _Trial, plan: PilotPlan) -> _Trial:
    others = [kernel for kernel in plan.kernels if kernel != best.metric.kernel]
    for kernel in others:
        best = best.or_better(pilot.judge(replace(best.metric, kernel=kernel)))
    return best


def _sharpen(pilot: _Pilot, start: _Trial) -> _Trial:
    """Reweight by the slopes round after round, as long as the risk falls; the plain metric stays if none is better."""
    best = current = start
    waited = 0
    for _ in range(_ROUNDS):
        if waited == _PATIENCE or not current.slopes.any():
            break
        current = pilot.judge(replace(current.metric, weights=_reweighted(current)))
        waited = 0 if current.risk < best.risk else waited + 1
        best = current if waited == 0 else best
    if best is start:
        return start
    kept = pilot.seen_everywhere(start).or_better(pilot.seen_everywhere(best))
    return best if kept.metric is best.metric else start


def _reweighted(trial: _Trial) -> NDArray[np.float64]:
    """Return the weights times a power of the slopes, rounded, with mean one."""
    weights = trial.metric.weights * (trial.slopes / trial.slopes.max()) ** _POWER
    octaves = np.log2(np.maximum(weights / weights.max(), _LEAST))
    rounded = np.exp2(np.round(_STEPS_PER_OCTAVE * octaves) / _STEPS_PER_OCTAVE)
    return np.asarray(rounded / rounded.mean())


class _Pilot:
    """Places of the sample, and how least squares do there in a metric."""

    def __init__(self, sample: Sample, reduction: Reduction, plan: PilotPlan, thread_map: ThreadMap) -> None:
        self._X, self._weight, self._plan, self._map = sample.X, sample.weight, plan, thread_map
        self._y = _targets(sample, reduction)
        new_features = np.ones(len(self._X), dtype=bool)
        new_features[1:] = (sample.X[1:] != sample.X[:-1]).any(axis=1)
        self._group = np.cumsum(new_features)
        self.token = CancelToken()

    @cached_property
    def _size(self) -> int:
        """Rows of a place."""
        n = len(self._y)
        return min(n, int(np.clip(self._plan.cell_size, *_PLACE_ROWS)))

    @cached_property
    def _count(self) -> int:
        if self._size == len(self._y):
            return 1
        return int(np.clip(self._plan.n_rows // _ROWS_PER_PLACE, *_PLACES))

    def judge(self, metric: Metric) -> _Trial:
        """Train at the places that are scouted."""
        return self._judge(metric, range(min(_SCOUTED, self._count)))

    def seen_everywhere(self, trial: _Trial) -> _Trial:
        """Return the trial with its risks at all places."""
        rest = range(min(_SCOUTED, self._count), self._count)
        more = self._judge(trial.metric, rest).risks if rest else np.empty(0)
        return replace(trial, risks=np.concatenate([trial.risks, more]))

    def _judge(self, metric: Metric, places: range) -> _Trial:
        X = self._X * metric.weights.astype(np.float32)
        members = self._members(X, places)
        judged = list(self._map(lambda rows: self._judge_place(X, rows, metric.kernel), members))
        risks = np.concatenate([risks for risks, _ in judged])
        slopes = np.mean([slopes for _, slopes in judged], axis=0)
        return _Trial(metric, risks, slopes)

    def _members(self, X: NDArray[np.float32], places: range) -> list[NDArray[np.intp]]:
        """Return the rows of places: the cell of one of the first rows, or where cells are random, a random part.

        A row is as likely as any other to have its cell chosen, so the mean risk of the cells is that of all rows.
        """
        everything = np.arange(len(X))
        if self._size == len(X):
            return [everything]
        if not self._plan.is_local:
            return [np.sort((everything[: self._size] + self._size * place) % len(X)) for place in places]
        return random_cells(X, places, self._size, self._map)

    def _judge_place(
        self, X: NDArray[np.float32], members: NDArray[np.intp], kernel: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return cross-validated risks, and the mean squared slopes summed over the targets."""
        # In the order of the rows as given, whatever the metric: folds stay the same, and risks are compared in pairs.
        group = np.unique(self._group[members], return_inverse=True)[1]
        rows = Rows(np.ascontiguousarray(X[members]), self._y[members], self._weight[members], group)
        settings = CellSettings(self._reduction, kernel, Grid(n_widths=5, n_lams=5), n_folds=2)
        # Too little memory is the fit's to refuse, not the pilot's.
        smallest = settings.bytes_needed(len(rows.y), X.shape[1]).smallest
        max_bytes = None if self._plan.max_bytes is None else max(self._plan.max_bytes // self._count, smallest)
        cell = train_cell(CellTask(rows, cell_radius(rows)), settings, self.token, max_bytes=max_bytes)
        some = slice(0, _SLOPES_PER_PLACE)
        slopes = cell.functions.mean_squared_slopes(rows.X[some], rows.weight[some]).sum(axis=0)
        return self._risks(cell), slopes

    def _risks(self, cell: TrainedCell) -> NDArray[np.float64]:
        """Return the risk at a place; of a single place, the risks of its parts."""
        if self._count > 1:
            return np.array([np.nan_to_num(cell.risk)])
        left_out = cell.out_of_fold
        assert left_out is not None, "training leaves the scores of samples left out"
        losses = self._reduction.risk(left_out.y, left_out.scores.astype(np.float64))
        part = np.arange(len(losses)) % _PARTS
        total = np.bincount(part, left_out.weight * losses, _PARTS)
        return np.asarray(total / np.bincount(part, left_out.weight, _PARTS))

    @property
    def _reduction(self) -> Regression:
        return Regression((Squared(),), 1 if self._y.ndim == 1 else self._y.shape[1])


def _targets(sample: Sample, reduction: Reduction) -> NDArray[np.float64]:
    """Return targets of least squares: -1 and 1, a column per class, or numbers of spread one."""
    y, weight = sample.y, sample.weight
    if not reduction.is_classification:
        mean = weight @ y / weight.sum()
        spread = np.sqrt(weight @ np.square(y - mean) / weight.sum())
        return np.asarray((y - mean) / np.where(spread > 0, spread, 1.0))
    if y.min() < 0:
        return y
    return np.asarray(y[:, None] == np.unique(y), dtype=np.float64)
