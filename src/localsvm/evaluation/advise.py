"""Comparison of partitions for given data: cells of two sizes, one SVM on a sample, or random chunks.

Enters: rows and targets, optionally an estimator. Leaves: a `Verdict`. Spatial cells are not always better: on SUSY, in
the paper, random chunks are as good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.multiclass import type_of_target

from localsvm.data.content import rank_groups, row_keys
from localsvm.data.labels import Labels
from localsvm.data.rows import smallest_hashes
from localsvm.errors import InvalidData
from localsvm.estimators import LocalSVC, LocalSVR
from localsvm.estimators.base import LocalEstimator, TargetsLike, check_training_data
from localsvm.estimators.rows import RowsLike
from localsvm.evaluation.intervals import Estimate
from localsvm.evaluation.paired import Losses
from localsvm.fit.prepare import TargetRows
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import OnProgress
from localsvm.fit.trial import Trial, run_trial
from localsvm.partition.build import AUTO_SIZES, PartitionPlan
from localsvm.tasks import Probabilities, Reduction

_LARGER_CELLS = 2.5
_SUBSAMPLE = 4  # size of the sample for the single SVM, in cells
_CHUNKS = 16  # chunks to average; more hardly improve the mean
_TRIED = 24  # cells to train, measured in rows: fewer larger ones
_HELD_OUT = 5  # one row in five is held out
_FEWEST_ROWS = 100
_SHOWN_ROWS = 100_000  # rows of the forecast prediction time
_MEASURES = {
    "logistic": "log-loss",
    "squared": "mean squared error",
    "pinball": "pinball loss",
    "expectile": "expectile loss",
}


@dataclass(frozen=True)
class Way:
    """A way to train, its loss on held-out rows and its forecast times."""

    name: str
    parameters: dict[str, Any]
    """Parameters of the estimator."""
    n_rows: int
    """Number of rows that it trains on."""
    n_cells: int
    tried_cells: int
    loss: Estimate
    """Mean loss on held-out rows, with its 95 % interval."""
    fit_seconds: float
    """Forecast time of a fit to all rows."""
    predict_seconds: float
    """Forecast time to predict 100 000 rows."""


@dataclass(frozen=True)
class Verdict:
    """All ways that were compared, and the recommended one."""

    measure: str
    """Name of the loss: "error", "mean squared error", ..."""
    n_rows: int
    n_features: int
    held_out: int
    """Number of held-out rows."""
    ways: tuple[Way, ...]
    chosen: Way
    sentence: str
    """Recommendation with its reasons."""
    seconds: float
    """Time of the comparison."""

    def __str__(self) -> str:
        """Return a table of the ways, and the recommendation."""
        header = ("", self.measure, "95 % interval", "fit, s", f"predict {_SHOWN_ROWS:,}, s", "cells")
        lines = [header, *(self._line(way) for way in self.ways)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
        ]
        return "\n".join([*texts, "", self.sentence])

    def _line(self, way: Way) -> tuple[str, ...]:
        value, low, high = (_shown(number, self.measure) for number in (way.loss.value, way.loss.low, way.loss.high))
        mark = "> " if way is self.chosen else "  "
        seconds = (f"{way.fit_seconds:.3g}", f"{way.predict_seconds:.3g}")
        return (mark + way.name, value, f"{low} to {high}", *seconds, f"{way.n_cells:,}")


def advise(
    X: RowsLike,
    y: TargetsLike,
    sample_weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    time: ArrayLike | None = None,
    estimator: LocalEstimator | None = None,
    callback: OnProgress | None = None,
) -> Verdict:
    """Compare ways to train on given data, and recommend one.

    One row in five is held out. Compared are spatial cells of two sizes, of which about two dozen are trained, one SVM
    on a random sample, and 16 random chunks. Among the ways whose loss is within one standard error of the
    lowest, the one that fits and predicts all rows fastest is recommended.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    groups, time : array-like of shape (n_samples,), optional
        As in `fit`. Held out are one group in five, or the latest fifth of the time.
    estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor, optional
        Estimator whose parameters are used, except `partition`; it is not fitted. `cell_size="auto"` means 2000. By
        default `LocalSVC()` for class labels and `LocalSVR()` for other numbers.
    callback : callable, optional
        Called with the `Progress` of training, once per cell, for each way.

    Returns
    -------
    Verdict
        Loss with its interval and forecast times of every way; ``print`` shows a table.

    Examples
    --------
    >>> import localsvm
    >>> from localsvm.data import load_covtype_sample
    >>> X, y = load_covtype_sample()
    >>> estimator = localsvm.LocalSVC(cell_size=300, grid=3, scaling="minmax")
    >>> verdict = localsvm.advise(X[:3000], y[:3000], estimator=estimator)
    >>> [way.name for way in verdict.ways]
    ['cells of 300 rows', 'cells of 750 rows', 'one SVM on 1,200 rows', 'random chunks of 300 rows']
    >>> verdict.chosen in verdict.ways
    True
    >>> better = estimator.set_params(**verdict.chosen.parameters)
    """
    begin = perf_counter()
    estimator = _estimator_for(y) if estimator is None else clone(estimator)
    data = check_training_data(estimator, X, y, sample_weight, groups, time)
    settings = data.settings
    rows, held_out = _split(data.rows.present(), settings.seed)
    tried = dict(_try_all(rows, held_out, settings, callback))
    chosen = _choose(tried, len(rows.y) + len(held_out.y))
    reduction = settings.cell.reduction
    measure = "error" if _is_rate(reduction) else _MEASURES.get(reduction.loss.name, "loss")
    return Verdict(
        measure=measure,
        n_rows=len(rows.y) + len(held_out.y),
        n_features=rows.X.shape[1],
        held_out=len(held_out.y),
        ways=tuple(tried.values()),
        chosen=tried[chosen],
        sentence=_sentence(tried, chosen, measure),
        seconds=perf_counter() - begin,
    )


def _estimator_for(y: TargetsLike) -> LocalEstimator:
    is_class = isinstance(y, Labels) or type_of_target(y) in ("binary", "multiclass")
    return LocalSVC() if is_class else LocalSVR()


def _split(rows: TargetRows, seed: int) -> tuple[TargetRows, TargetRows]:
    """Hold rows out by content: duplicates are on one side, and the result does not depend on row order.

    Of groups all rows are on one side; of times the latest are held out.
    """
    if len(rows.y) < _FEWEST_ROWS:
        raise InvalidData(
            f"advise needs at least {_FEWEST_ROWS} rows, but there are {len(rows.y)}. Fit an estimator directly."
        )
    # A different seed than in the fit, whose samples are the rows with the smallest hashes.
    hashes = rows.hashes(seed + 1)
    out = hashes % np.uint64(_HELD_OUT) == 0
    if rows.ties is not None:
        ties = rows.ties if rows.ties.ordered else rank_groups(rows.ties, row_keys(hashes, rows.y), rows.weight)
        out = ties.folds(_HELD_OUT) == 0 if ties.ordered else ties.number % _HELD_OUT == 0
    numbers = np.flatnonzero(out)
    return rows.some(np.flatnonzero(~out)), rows.some(numbers[np.argsort(hashes[numbers], kind="stable")])


@dataclass(frozen=True)
class _Plan:
    """A way to train, before the trial."""

    name: str
    partition: str
    cell_size: int
    n_rows: int
    """Number of training rows to use."""


def _plans(n: int, size: int) -> Iterator[_Plan]:
    larger, sampled = int(_LARGER_CELLS * size), min(n, _SUBSAMPLE * size)
    yield _Plan(f"cells of {size:,} rows", "voronoi", size, n)
    if larger < n:
        yield _Plan(f"cells of {larger:,} rows", "voronoi", larger, n)
    if size < n:
        yield _Plan(f"one SVM on {'all' if sampled == n else f'{sampled:,}'} rows", "none", size, sampled)
        yield _Plan(f"random chunks of {size:,} rows", "chunks", size, min(n, _CHUNKS * size))


def _try_all(
    rows: TargetRows, held_out: TargetRows, settings: FitSettings, callback: OnProgress | None
) -> Iterator[tuple[Losses, Way]]:
    n, size = len(rows.y), settings.partition.cell_size or AUTO_SIZES[0]
    hashes = rows.hashes(settings.seed)
    first: Losses | None = None
    for plan in _plans(n, size):
        some = rows if plan.n_rows == n else rows.some(smallest_hashes(hashes, plan.n_rows))
        # Models that predict all rows are compared on the rows that the cells of the first trial predicted.
        tested = held_out if plan.partition == "voronoi" or first is None else held_out.some(first.number)
        own = replace(settings, partition=PartitionPlan(plan.partition, plan.cell_size))
        trial = run_trial(some, tested, own, _TRIED * size, callback)
        losses = _losses(trial, tested, first if tested is not held_out else None)
        first = first or losses
        # A fit to all rows includes the held-out ones; the sample keeps its size, chunks grow in number.
        times = 1.0 if plan.partition == "none" and plan.n_rows < n else (n + len(held_out.y)) / len(some.y)
        yield losses, _way(plan, trial, losses.mean(is_proportion=_is_rate(settings.cell.reduction)), times)


def _is_rate(reduction: Reduction) -> bool:
    """Return whether the risk is the rate of wrong classes."""
    return reduction.is_classification and not isinstance(reduction, Probabilities)


def _losses(trial: Trial, tested: TargetRows, first: Losses | None) -> Losses:
    """Return the losses of a trial, with the row indices and cells of the first trial if it was on the same rows."""
    if len(trial.number) == 0:
        raise InvalidData("no held-out row fell into a trained cell. Pass more rows.")
    weight = tested.weight[trial.number]
    if first is None:
        return Losses(trial.number, trial.loss, weight, trial.cell, 1 - trial.tried_cells / trial.n_cells)
    return Losses(first.number[trial.number], trial.loss, weight, first.cell[trial.number], first.untried)


def _way(plan: _Plan, trial: Trial, loss: Estimate, times: float) -> Way:
    more = times if plan.partition == "chunks" else 1.0  # every chunk predicts every row
    return Way(
        name=plan.name,
        parameters={"partition": plan.partition, "cell_size": plan.cell_size},
        n_rows=round(plan.n_rows * times),
        n_cells=max(1, round(trial.n_cells * more)),
        tried_cells=trial.tried_cells,
        loss=loss,
        fit_seconds=trial.fit_seconds * times,
        predict_seconds=_SHOWN_ROWS * trial.predict_seconds * more,
    )


def _choose(tried: dict[Losses, Way], n_rows: int) -> Losses:
    """Return the fastest way that is not significantly worse than the best."""
    best = min(tried, key=lambda losses: tried[losses].loss.value)

    def seconds(losses: Losses) -> float:
        return tried[losses].fit_seconds + n_rows / _SHOWN_ROWS * tried[losses].predict_seconds

    return min((losses for losses in tried if not _is_worse(losses, best)), key=seconds)


def _is_worse(losses: Losses, other: Losses) -> bool:
    """Return whether losses exceed others by more than one standard error of the difference."""
    value, error = losses.excess(other)
    return value > error


def _sentence(tried: dict[Losses, Way], chosen: Losses, measure: str) -> str:
    def listed(some: list[Way]) -> str:
        return ", ".join(f"{way.name} ({_shown(way.loss.value, measure)})" for way in some)

    way = tried[chosen]
    use = f"Use {way.name}: {measure} {_shown(way.loss.value, measure)}, about {way.fit_seconds:.3g} s to fit."
    if len(tried) == 1:
        return f"{use} All rows fit into one cell, so there is nothing to compare."
    worse = [tried[losses] for losses in tried if _is_worse(losses, chosen)]
    alike = [other for other in tried.values() if other is not way and other not in worse]
    if way.parameters["partition"] != "voronoi":
        use += " Spatial cells do not improve on it."
    elif all(other in worse for other in tried.values() if other.parameters["partition"] != "voronoi"):
        use += " Spatial cells are better on these data."
    parts = [f"Worse: {listed(worse)}."] if worse else []
    parts += [f"Not significantly different, but slower: {listed(alike)}."] if alike else []
    return " ".join([use, *parts])


def _shown(value: float, measure: str) -> str:
    return f"{100 * value:.2f} %" if measure == "error" else f"{value:.4g}"
