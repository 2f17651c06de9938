"""Feature weights and kernel, learned on a sample.

Enters: a sample of rows, and their scaling. Leaves: a `Metric`: a weight for every column of the model, and a kernel.
Cells are then built and trained in that metric.

Weights are learned from gradients: least-squares models are trained in the cells of the sample, a column along which
they are steep is stretched, another is shrunk, and this is repeated. It is the diagonal of the average gradient outer
product of recursive feature machines (Radhakrishnan, Beaglehole, Pandit, Belkin 2024), taken in cells because that is
where the models will be used. All metrics are evaluated on the same rows, so that risks differ by the metric alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localsvm.cell import CancelToken
from localsvm.cell.folds import fold_order
from localsvm.cell.grid import Grid, cell_radius
from localsvm.cell.path import Cancelled
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.cell.trained import TrainedCell
from localsvm.data.content import Samples
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import Scaling
from localsvm.data.stages import NOT_KEPT, Stages
from localsvm.metric.choose_scaling import Sample
from localsvm.partition.base import ThreadMap
from localsvm.partition.voronoi import SplitLimit, build_voronoi
from localsvm.tasks import Reduction, Regression, project_targets
from localsvm.tasks.losses import Squared

# docs/decisions.md has the figures behind these.
_MIN_ROWS = 1000  # of a fit; a smaller sample decides nothing
_MAX_ROWS = 20_000  # of the sample
_MAX_CELL_ROWS = 2000
_KERNEL_ROWS = 3000  # rows evaluated where only the kernel is chosen, approximately
_PARTS = 20  # of the rows; the spread of their risks measures the noise
_FOLDS, _WIDTHS = 2, 4
_MAX_ROUNDS = 6
_PATIENCE = 2  # rounds without progress before it ends
_MIN_GAIN = 0.02  # of the risk
_POWER = 0.5  # of the mean squared derivatives
_MIN_WEIGHT = 1e-3  # relative to the largest; small enough to switch a column off, large enough to recover
_STEPS_PER_OCTAVE = 8  # weights are rounded, so that they do not depend on the rounding of sums
_GRADIENT_ROWS = 2500

Cells = list[NDArray[np.intp]]
"""Row numbers by cell."""


@dataclass(frozen=True)
class Metric:
    """How rows are compared: columns are multiplied by weights of mean one, then the kernel is applied."""

    weights: NDArray[np.float64]
    kernel: str


@dataclass(frozen=True)
class MetricChoices:
    """What there is to choose, and the size of the fit that the choice is for."""

    kernels: tuple[str, ...]
    learns_weights: bool
    n_rows: int
    cell_size: int
    is_local: bool = True
    """Whether cells are neighbourhoods; otherwise they are random samples of all rows."""
    max_bytes: int | None = None


def learn_metric(
    sample: Sample,
    scaling: Scaling,
    weights: NDArray[np.float64],
    reduction: Reduction,
    plan: MetricChoices,
    thread_map: ThreadMap = map,
    stages: Stages = NOT_KEPT,
) -> Metric:
    """Return the metric of least cross-validated risk in cells of the sample; the plain one if it is as good.

    All learning tasks use least squares here: one factorisation solves all lams, and a feature that moves the mean of
    the targets moves their quantiles and classes, too.
    """
    start = Metric(weights, plan.kernels[0])
    if min(plan.n_rows, len(sample.y)) < _MIN_ROWS or (len(plan.kernels) == 1 and not plan.learns_weights):
        return start
    sample = sample.first(_MAX_ROWS)
    trials = _Trials(replace(sample, X=scaling.apply(sample.X)), reduction, plan, thread_map, stages)
    try:
        return _search(trials, start, plan).metric
    except BaseException:
        trials.token.cancel()  # cells in training stop at once
        raise


@dataclass(frozen=True)
class _Trial:
    """A metric with its cells, the risk of each part of the rows, and mean squared derivatives by column."""

    metric: Metric
    cells: Cells
    risks: NDArray[np.float64]
    derivatives: NDArray[np.float64]
    """Zeros where no weights are learned."""

    @property
    def risk(self) -> float:
        return float(self.risks.mean())

    def or_better(self, other: _Trial) -> _Trial:
        """Return the other one if its risk is lower by more than noise."""
        gain = self.risks - other.risks
        # The best of several rounds is optimistic on the rows that its weights were learned from.
        noise = max(gain.std() / np.sqrt(len(gain)), _MIN_GAIN * self.risk)
        return other if gain.mean() > noise else self


def _search(trials: _Trials, start: Metric, plan: MetricChoices) -> _Trial:
    """Choose a kernel, then weights; then compare with the second-best kernel at these weights."""
    cells = trials.make_cells(start.weights)
    tried = trials.run(cells, [replace(start, kernel=kernel) for kernel in plan.kernels])
    best = tried[0]
    for other in tried[1:]:
        best = best.or_better(other)
    if not plan.learns_weights:
        return best
    reweighted = _learn_weights(trials, best)
    others = [trial for trial in tried if trial is not best]
    if reweighted is best or not others:
        return reweighted
    second = min(others, key=lambda trial: trial.risk).metric.kernel
    return reweighted.or_better(trials.run(reweighted.cells, [replace(reweighted.metric, kernel=second)])[0])


def _learn_weights(trials: _Trials, start: _Trial) -> _Trial:
    """Reweight by the derivatives while the risk falls; return `start` if no round is better."""
    best = current = start
    waited = 0
    for _ in range(_MAX_ROUNDS):
        if waited == _PATIENCE or not current.derivatives.any():
            break
        metric = replace(current.metric, weights=_new_weights(current))
        current = trials.run(trials.make_cells(metric.weights), [metric])[0]
        waited = 0 if current.risk < best.risk else waited + 1
        best = current if waited == 0 else best
    return start.or_better(best)


def _new_weights(trial: _Trial) -> NDArray[np.float64]:
    """Return the weights times a power of the derivatives, rounded, with mean one."""
    weights = trial.metric.weights * (trial.derivatives / trial.derivatives.max()) ** _POWER
    octaves = np.log2(np.maximum(weights / weights.max(), _MIN_WEIGHT))
    rounded = np.exp2(np.round(_STEPS_PER_OCTAVE * octaves) / _STEPS_PER_OCTAVE)
    return np.asarray(rounded / rounded.mean())


_CellResult = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Out-of-fold losses of the rows, and mean squared derivatives by column."""


class _Trials:
    """Least-squares models in cells of the sample, trained in any metric."""

    def __init__(
        self, sample: Sample, reduction: Reduction, plan: MetricChoices, thread_map: ThreadMap, stages: Stages
    ) -> None:
        self._X, self._weight, self._plan, self._map = sample.X, sample.weight, plan, thread_map
        self._stages = stages
        self._ties = sample.ties
        self._y = _targets(sample, reduction)
        new_features = np.ones(len(self._X), dtype=bool)
        new_features[1:] = (sample.X[1:] != sample.X[:-1]).any(axis=1)
        self._group = np.cumsum(new_features)
        self._part = np.arange(len(self._X)) % _PARTS
        self.token = CancelToken()

    def make_cells(self, weights: NDArray[np.float64]) -> Cells:
        """Partition the rows as the fit would; only some of the cells where no weights are learned.

        Rows outside of these cells count as predicted without loss, for all kernels alike.
        """
        X = self._weighted(weights)
        everything = np.arange(len(X))
        size = min(self._plan.cell_size, _MAX_CELL_ROWS)
        if size >= len(X):
            cells = [everything]
        elif not self._plan.is_local:
            cells = np.array_split(everything, -(-len(X) // size))
        else:
            hashes = everything.astype(np.uint64)  # rows are in the order of their hashes
            _, members = build_voronoi(ScaledRows(X), hashes, SplitLimit(size), self._map)
            # A cell of more equal rows than its size is truncated: equal rows are equal in any metric.
            cells = [np.sort(members.rows(cell))[:size] for cell in range(len(members.sizes))]
        step = 1 if self._plan.learns_weights else max(1, len(X) // _KERNEL_ROWS)
        return sorted(cells[::step], key=len, reverse=True)

    def run(self, cells: Cells, metrics: Sequence[Metric]) -> list[_Trial]:
        """Train the cells in metrics that differ in the kernel only; threads take the largest cells first."""
        X = self._weighted(metrics[0].weights)
        jobs = [(rows, metric.kernel) for rows in cells for metric in metrics]

        def train() -> list[_CellResult]:
            return list(self._map(lambda job: self._train(X, job[0], job[1], len(cells)), jobs))

        def fits(kept: list[_CellResult]) -> bool:
            shapes = [((len(rows),), (X.shape[1],)) for rows, _ in jobs]
            return [(losses.shape, derivatives.shape) for losses, derivatives in kept] == shapes

        results = self._stages.result(f"metric-{_digest(X, metrics)}", train, fits)
        return [self._trial(metric, cells, results[number :: len(metrics)]) for number, metric in enumerate(metrics)]

    def _weighted(self, weights: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.asarray(self._X * weights.astype(np.float32), dtype=np.float32)

    def _trial(self, metric: Metric, cells: Cells, results: list[_CellResult]) -> _Trial:
        losses = np.zeros(len(self._X))
        for rows, (of_cell, _) in zip(cells, results, strict=True):
            losses[rows] = of_cell
        total = np.bincount(self._part, self._weight * losses, _PARTS)
        risks = total / np.bincount(self._part, self._weight, _PARTS)
        sizes = [len(rows) for rows in cells]
        derivatives = np.average([derivatives for _, derivatives in results], axis=0, weights=sizes)
        return _Trial(metric, cells, risks, derivatives)

    def _train(self, X: NDArray[np.float32], members: NDArray[np.intp], kernel: str, n_cells: int) -> _CellResult:
        """Train one cell; return out-of-fold losses, and mean squared derivatives summed over the targets."""
        if self.token.cancelled:  # a thousand cells may wait for a thread
            raise Cancelled
        # In the order of the sample, whatever the metric: equal rows are neighbours in it.
        group = np.unique(self._group[members], return_inverse=True)[1]
        ties = None if self._ties is None else self._ties[members]
        rows = Samples(np.ascontiguousarray(X[members]), self._y[members], self._weight[members], group, ties=ties)
        settings = CellSettings(self._reduction, kernel, Grid(n_widths=_WIDTHS, n_lams=5), n_folds=_FOLDS)
        # Only the fit itself refuses to run in too little memory.
        smallest = settings.bytes_needed(len(rows.y), X.shape[1]).smallest
        max_bytes = None if self._plan.max_bytes is None else max(self._plan.max_bytes // n_cells, smallest)
        cell = train_cell(CellTask(rows, cell_radius(rows)), settings, self.token, max_bytes=max_bytes)
        return self._out_of_fold_losses(cell, rows), self._derivatives(cell, rows, -(-_GRADIENT_ROWS // n_cells))

    def _derivatives(self, cell: TrainedCell, rows: Samples, count: int) -> NDArray[np.float64]:
        """Return the mean squared derivatives at the first rows; zeros where no weights are learned."""
        if not self._plan.learns_weights:
            return np.zeros(rows.X.shape[1])
        return np.asarray(cell.functions.mean_squared_slopes(rows.X[:count], rows.weight[:count]).sum(axis=0))

    def _out_of_fold_losses(self, cell: TrainedCell, rows: Samples) -> NDArray[np.float64]:
        """Return the out-of-fold loss of every row, in the order of the rows."""
        out_of_fold = cell.out_of_fold
        assert out_of_fold is not None, "training returns out-of-fold scores"
        order, _ = fold_order(rows, _FOLDS, stratify=False)
        losses = np.empty(len(rows.y))
        losses[order] = self._reduction.risk(out_of_fold.y, out_of_fold.scores.astype(np.float64))
        if rows.ties is None:
            return np.nan_to_num(losses)  # NaN: duplicates that are in the training set of every fold
        # NaN: rows of a single group, which is no merit of the metric that has put them into a cell of their own.
        return np.where(np.isnan(losses), self._reduction.risk(rows.y, np.tile(self._means, (len(rows.y), 1))), losses)

    @cached_property
    def _means(self) -> NDArray[np.float64]:
        return self._reduction.constants(self._y, self._weight)

    @property
    def _reduction(self) -> Regression:
        return Regression((Squared(),), 1 if self._y.ndim == 1 else self._y.shape[1])


def _digest(X: NDArray[np.float32], metrics: Sequence[Metric]) -> str:
    digest = hashlib.sha256(X.tobytes())
    digest.update(" ".join(metric.kernel for metric in metrics).encode())
    return digest.hexdigest()[:16]


def _targets(sample: Sample, reduction: Reduction) -> NDArray[np.float64]:
    """Return least-squares targets: -1 and 1, (a few combinations of) indicators of classes, standardized numbers."""
    y, weight = sample.y, sample.weight
    if not reduction.is_classification:
        mean = weight @ y / weight.sum()
        spread = np.sqrt(weight @ np.square(y - mean) / weight.sum())
        return np.asarray((y - mean) / np.where(spread > 0, spread, 1.0))
    if y.min() < 0:
        return y
    return project_targets(np.asarray(y[:, None] == np.unique(y), dtype=np.float64))
