"""Relevance: how much each feature matters, and which kernel of the distance serves, learned on a pilot sample.

Enters: rows of the sample, and their scaling. Leaves: a `Metric`: a weight for every column of the model, and a kernel.
Cells are then found and trained in that metric, so that they are longest where nothing happens.

A weight is learned from the slopes of machines: a feature along which they are steep is stretched, another is shrunk,
and again. It is the diagonal of the average gradient outer product of recursive feature machines (Radhakrishnan,
Beaglehole, Pandit, Belkin 2024). Machines are local here, so their slopes are taken where they will be used: in cells,
which are those that the metric makes of the sample. All rows of the sample are judged in every metric, so that risks
differ by the metric and not by the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localsvm.cell import CancelToken
from localsvm.cell.extent import cell_radius
from localsvm.cell.folds import fold_order
from localsvm.cell.grid import Grid
from localsvm.cell.path import Cancelled
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.cell.trained import TrainedCell
from localsvm.data.content import Samples
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import Scaling
from localsvm.metric.choose_scaling import Sample
from localsvm.partition.base import ThreadMap
from localsvm.partition.voronoi import SplitLimit, build_voronoi
from localsvm.tasks import Reduction, Regression
from localsvm.tasks.losses import Squared

# Of the pilot; docs/decisions.md has the figures.
_FEWEST_ROWS = 1000  # of a fit; a pilot on less says nothing
_MOST_ROWS = 20_000  # of the sample
_CELL_ROWS = 2000  # of a cell at most
_KERNEL_ROWS = 3000  # about as many are judged where there is only a kernel to choose
_PARTS = 20  # of the rows, whose risks say what is noise
_FOLDS, _WIDTHS = 2, 4
_ROUNDS = 6
_PATIENCE = 2  # rounds without progress before it ends
_LEAST_GAIN = 0.02  # of the risk
_POWER = 0.5  # of the mean squared slopes
_LEAST = 1e-3  # of the largest weight: less is as good as nothing, and can still be undone
_STEPS_PER_OCTAVE = 8  # weights are rounded, so that they do not depend on how sums are rounded
_SLOPES = 2500  # rows at which they are taken


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
    """Return the metric of least cross-validated risk in the sample's cells; what is as good within noise stays plain.

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
        Replaces `map` over the cells.

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
    """A metric, the risks of the parts of the rows, and the mean squared slopes: zeros where no weights are learned."""

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
    """Choose a kernel, then weights, then see whether the kernel that came second has become the better one."""
    tried = pilot.judge_all([replace(start, kernel=kernel) for kernel in plan.kernels])
    best = tried[0]
    for other in tried[1:]:
        best = best.or_better(other)
    if not plan.learns_weights:
        return best
    sharpened = _sharpen(pilot, best)
    others = [trial for trial in tried if trial is not best]
    if sharpened is best or not others:
        return sharpened
    second = min(others, key=lambda trial: trial.risk).metric.kernel
    return sharpened.or_better(pilot.judge(replace(sharpened.metric, kernel=second)))


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
    return start.or_better(best)


def _reweighted(trial: _Trial) -> NDArray[np.float64]:
    """Return the weights times a power of the slopes, rounded, with mean one."""
    weights = trial.metric.weights * (trial.slopes / trial.slopes.max()) ** _POWER
    octaves = np.log2(np.maximum(weights / weights.max(), _LEAST))
    rounded = np.exp2(np.round(_STEPS_PER_OCTAVE * octaves) / _STEPS_PER_OCTAVE)
    return np.asarray(rounded / rounded.mean())


_JudgedCell = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Losses of its rows, and mean squared slopes."""


class _Pilot:
    """The sample, and how least squares do in its cells in a metric."""

    def __init__(self, sample: Sample, reduction: Reduction, plan: PilotPlan, thread_map: ThreadMap) -> None:
        self._X, self._weight, self._plan, self._map = sample.X, sample.weight, plan, thread_map
        self._y = _targets(sample, reduction)
        new_features = np.ones(len(self._X), dtype=bool)
        new_features[1:] = (sample.X[1:] != sample.X[:-1]).any(axis=1)
        self._group = np.cumsum(new_features)
        self._part = np.arange(len(self._X)) % _PARTS
        self._cells_of: dict[bytes, list[NDArray[np.intp]]] = {}
        self.token = CancelToken()

    def judge(self, metric: Metric) -> _Trial:
        """Train the cells that the metric makes, and return the risks of all rows, and the slopes."""
        return self.judge_all([metric])[0]

    def judge_all(self, metrics: Sequence[Metric]) -> list[_Trial]:
        """Judge metrics that differ in the kernel only; threads take the cells of all of them, the largest first."""
        X = self._X * metrics[0].weights.astype(np.float32)
        cells = sorted(self._cells(metrics[0].weights, X), key=len, reverse=True)
        jobs = [(rows, metric.kernel) for rows in cells for metric in metrics]
        judged = list(self._map(lambda job: self._judge_cell(X, job[0], job[1], len(cells)), jobs))
        return [self._trial(metric, cells, judged[number :: len(metrics)]) for number, metric in enumerate(metrics)]

    def _trial(self, metric: Metric, cells: list[NDArray[np.intp]], judged: list[_JudgedCell]) -> _Trial:
        losses = np.zeros(len(self._X))
        for rows, (own, _) in zip(cells, judged, strict=True):
            losses[rows] = own
        total = np.bincount(self._part, self._weight * losses, _PARTS)
        risks = total / np.bincount(self._part, self._weight, _PARTS)
        slopes = np.average([slopes for _, slopes in judged], axis=0, weights=[len(rows) for rows in cells])
        return _Trial(metric, risks, slopes)

    def _cells(self, weights: NDArray[np.float64], X: NDArray[np.float32]) -> list[NDArray[np.intp]]:
        """Return the cells of these weights, which all kernels share; some of them, where no weights are learned.

        Rows of the others count as if none were wrong, for all kernels alike.
        """
        key = weights.tobytes()
        if key not in self._cells_of:
            step = 1 if self._plan.learns_weights else max(1, len(X) // _KERNEL_ROWS)
            self._cells_of = {key: self._make_cells(X)[::step]}
        return self._cells_of[key]

    def _make_cells(self, X: NDArray[np.float32]) -> list[NDArray[np.intp]]:
        """Return the rows of the cells: as the fit makes them, or where its cells are random, random parts.

        Of more equal rows than a cell may have, some are left out: they are alike in any metric.
        """
        everything = np.arange(len(X))
        size = min(self._plan.cell_size, _CELL_ROWS)
        if size >= len(X):
            return [everything]
        if not self._plan.is_local:
            return np.array_split(everything, -(-len(X) // size))
        hashes = everything.astype(np.uint64)  # rows are in the order of theirs
        _, members = build_voronoi(ScaledRows(X), hashes, SplitLimit(size), self._map)
        return [np.sort(members.rows(cell))[:size] for cell in range(len(members.sizes))]

    def _judge_cell(self, X: NDArray[np.float32], members: NDArray[np.intp], kernel: str, n_cells: int) -> _JudgedCell:
        """Return the losses of rows left out, and the mean squared slopes summed over the targets."""
        if self.token.cancelled:  # a thousand cells may wait for a thread
            raise Cancelled
        # In the order of the rows as given, whatever the metric: equal rows stand next to each other.
        group = np.unique(self._group[members], return_inverse=True)[1]
        rows = Samples(np.ascontiguousarray(X[members]), self._y[members], self._weight[members], group)
        settings = CellSettings(self._reduction, kernel, Grid(n_widths=_WIDTHS, n_lams=5), n_folds=_FOLDS)
        # Too little memory is the fit's to refuse, not the pilot's.
        smallest = settings.bytes_needed(len(rows.y), X.shape[1]).smallest
        max_bytes = None if self._plan.max_bytes is None else max(self._plan.max_bytes // n_cells, smallest)
        cell = train_cell(CellTask(rows, cell_radius(rows)), settings, self.token, max_bytes=max_bytes)
        return self._left_out_losses(cell, rows), self._slopes(cell, rows, -(-_SLOPES // n_cells))

    def _slopes(self, cell: TrainedCell, rows: Samples, count: int) -> NDArray[np.float64]:
        """Return the mean squared slopes at the first rows; nobody asks for them where no weights are learned."""
        if not self._plan.learns_weights:
            return np.zeros(rows.X.shape[1])
        return np.asarray(cell.functions.mean_squared_slopes(rows.X[:count], rows.weight[:count]).sum(axis=0))

    def _left_out_losses(self, cell: TrainedCell, rows: Samples) -> NDArray[np.float64]:
        """Return the loss of every row by the machine that has not seen it, in the order of the rows."""
        left_out = cell.out_of_fold
        assert left_out is not None, "training leaves the scores of samples left out"
        order, _ = fold_order(rows, _FOLDS, stratify=False)
        losses = np.empty(len(rows.y))
        losses[order] = self._reduction.risk(left_out.y, left_out.scores.astype(np.float64))
        return np.nan_to_num(losses)  # of equal rows, that all machines have seen

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
