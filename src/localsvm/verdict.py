"""Which way to train on some rows: cells of two sizes, one machine on a sample, or random chunks.

Enters: rows and targets, perhaps an estimator. Leaves: a `Verdict`. Locality does not always win: the paper's SUSY is
a set where chunks are as good.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.multiclass import type_of_target

from localsvm.data.labels import Labels
from localsvm.data.rows import smallest_hashes
from localsvm.errors import InvalidData
from localsvm.estimators import LocalSVC, LocalSVR
from localsvm.estimators.base import LocalEstimator, RowsLike, TargetsLike
from localsvm.evaluation.intervals import Estimate, Means, share
from localsvm.partition.base import hash_blocks
from localsvm.partition.build import PartitionPlan
from localsvm.preparation import FitSettings, present_rows
from localsvm.training import OnProgress
from localsvm.trial import FloatArray, TargetRows, Trial, run_trial

_LARGER_CELLS = 2.5
_SUBSAMPLE = 4  # cells: rows of the one machine
_CHUNKS = 16  # that are averaged; more make the mean hardly better
_TRIED = 24  # cells, by their rows: of larger ones fewer
_HELD_OUT = 5  # one row of so many
_FEWEST_ROWS = 100
_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
_SHOWN_ROWS = 100_000  # whose prediction is timed, in words
_MEASURES = {"squared": "mean squared error", "pinball": "pinball loss", "expectile": "expectile loss"}


@dataclass(frozen=True)
class Way:
    """A way to train, and what it is worth."""

    name: str
    parameters: dict[str, Any]
    """Of the estimator."""
    n_rows: int
    """Rows that it trains on, of all there are."""
    n_cells: int
    tried_cells: int
    loss: Estimate
    """On rows that were held out, with its 95 % interval."""
    fit_seconds: float
    """Forecast, on all rows."""
    predict_seconds: float
    """Forecast, of 100 000 rows."""


@dataclass(frozen=True)
class Verdict:
    """All ways that were tried, and the one to take."""

    measure: str
    """What the loss is: "error", "mean squared error", ..."""
    n_rows: int
    n_features: int
    held_out: int
    """Rows that were not trained on."""
    ways: tuple[Way, ...]
    chosen: Way
    sentence: str
    """Which way to take, and why."""
    seconds: float
    """What finding out took."""

    def __str__(self) -> str:
        """Return a table of the ways, and the verdict."""
        header = ("", self.measure, "95 % interval", "fit, s", f"predict {_SHOWN_ROWS:,}, s", "cells")
        lines = [header, *(self._line(way) for way in self.ways)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
        ]
        return "\n".join([*texts, "", self.sentence])

    def _line(self, way: Way) -> tuple[str, ...]:
        shown = (_shown(value, self.measure) for value in (way.loss.value, way.loss.low, way.loss.high))
        value, low, high = shown
        mark = "> " if way is self.chosen else "  "
        seconds = (f"{way.fit_seconds:.3g}", f"{way.predict_seconds:.3g}")
        return (mark + way.name, value, f"{low} to {high}", *seconds, f"{way.n_cells:,}")


def advise(
    X: RowsLike,
    y: TargetsLike,
    sample_weight: ArrayLike | None = None,
    *,
    estimator: LocalEstimator | None = None,
    callback: OnProgress | None = None,
) -> Verdict:
    """Compare ways to train on these rows, and say which one to take.

    One row of five is held out. Cells of two sizes are those of a fit to all others, of which about two dozen are
    trained; one machine is trained on a random sample, and random chunks on 16 of them. Of the ways whose loss is
    within one standard error of the least, the one that is fastest in fitting and predicting all rows is taken.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor, optional
        Has the parameters, `cell_size` among them; `partition` is what is compared. Not fitted. By default `LocalSVC()`
        for classes and `LocalSVR()` for other numbers.
    callback : callable, optional
        Called with the `Progress` of the cells that are trained, from none to all for each way.

    Returns
    -------
    Verdict
        Loss with its interval, and forecast seconds, of every way; ``print`` shows a table.

    Examples
    --------
    >>> import localsvm
    >>> from localsvm.data import load_covtype_sample
    >>> X, y = load_covtype_sample()
    >>> estimator = localsvm.LocalSVC(cell_size=300, grid=3, scaling="minmax")
    >>> verdict = localsvm.advise(X[:3000], y[:3000], estimator=estimator)
    >>> [way.name for way in verdict.ways]
    ['cells of 300 rows', 'cells of 750 rows', 'one machine on 1,200 rows', 'random chunks of 300 rows']
    >>> verdict.chosen in verdict.ways
    True
    >>> better = estimator.set_params(**verdict.chosen.parameters)
    """
    begin = time.perf_counter()
    estimator = _estimator_for(y) if estimator is None else clone(estimator)
    checked = estimator._check(X, y, sample_weight)
    settings = replace(checked.settings, checkpoint=None)
    rows, held_out = _split(TargetRows(*present_rows(checked.rows, checked.target, checked.weight)), settings)
    ways = tuple(_try_all(rows, held_out, settings, callback))
    chosen = _choose(ways, len(rows.y) + len(held_out.y))
    reduction = settings.cell.reduction
    measure = "error" if reduction.is_classification else _MEASURES.get(reduction.loss.name, "loss")
    return Verdict(
        measure=measure,
        n_rows=len(rows.y) + len(held_out.y),
        n_features=rows.X.shape[1],
        held_out=len(held_out.y),
        ways=ways,
        chosen=chosen,
        sentence=_sentence(ways, chosen, measure),
        seconds=time.perf_counter() - begin,
    )


def _estimator_for(y: TargetsLike) -> LocalEstimator:
    is_class = isinstance(y, Labels) or type_of_target(y) in ("binary", "multiclass")
    return LocalSVC() if is_class else LocalSVR()


def _split(rows: TargetRows, settings: FitSettings) -> tuple[TargetRows, TargetRows]:
    """Hold rows out by their content, in random order: equal rows are on the same side."""
    if len(rows.y) < _FEWEST_ROWS:
        raise InvalidData(f"advice needs at least {_FEWEST_ROWS} rows, but there are {len(rows.y)}. Use LocalSVC().")
    # Another seed than that of the fit, whose samples are those of small hashes.
    hashes = hash_blocks(rows.X.__getitem__, rows.X.shape, settings.seed + 1, map)
    out = hashes % np.uint64(_HELD_OUT) == 0
    numbers = np.flatnonzero(out)
    return rows.some(np.flatnonzero(~out)), rows.some(numbers[np.argsort(hashes[numbers], kind="stable")])


def _try_all(
    rows: TargetRows, held_out: TargetRows, settings: FitSettings, callback: OnProgress | None
) -> Iterator[Way]:
    n, size = len(rows.y), settings.partition.cell_size
    growth = (n + len(held_out.y)) / n  # the fit has the held-out rows, too
    larger, sampled = int(_LARGER_CELLS * size), min(n, _SUBSAMPLE * size)
    hashes = hash_blocks(rows.X.__getitem__, rows.X.shape, settings.seed, map)

    def way(name: str, partition: str, cell_size: int, n_rows: int) -> Way:
        plan = replace(settings, partition=PartitionPlan(partition, cell_size))
        some = rows if n_rows == n else rows.some(smallest_hashes(hashes, n_rows))
        trial = run_trial(some, held_out, plan, _TRIED * size, callback)
        # A sample stays as it is; of chunks there are as many more as rows, and all predict.
        times = growth if n_rows == n else 1.0 if partition == "none" else growth * n / len(some.y)
        parameters = {"partition": partition, "cell_size": cell_size}
        return _way(name, parameters, trial, times, n_rows, is_share=settings.cell.reduction.is_classification)

    yield way(f"cells of {size:,} rows", "voronoi", size, n)
    if larger < n:
        yield way(f"cells of {larger:,} rows", "voronoi", larger, n)
    if size < n:
        yield way(f"one machine on {sampled:,} rows", "none", size, sampled)
        yield way(f"random chunks of {size:,} rows", "chunks", size, min(n, _CHUNKS * size))


def _way(name: str, parameters: dict[str, Any], trial: Trial, times: float, n_rows: int, *, is_share: bool) -> Way:
    together = parameters["partition"] == "chunks"
    return Way(
        name=name,
        parameters=parameters,
        n_rows=round(n_rows * times) if parameters["partition"] != "none" else n_rows,
        n_cells=max(1, round(trial.n_cells * (times if together else 1.0))),
        tried_cells=trial.tried_cells,
        loss=_estimate(trial, is_share=is_share),
        fit_seconds=trial.fit_seconds * times,
        predict_seconds=_SHOWN_ROWS * trial.predict_seconds * (times if together else 1.0),
    )


def _estimate(trial: Trial, *, is_share: bool) -> Estimate:
    """Return the mean loss; of some cells, the wider of the intervals over rows and over cells, which differ."""
    if not trial.weight.sum() > 0:
        raise InvalidData("no row that was held out fell into a cell that was tried: give more rows.")
    loss, weight = trial.loss, trial.weight
    if is_share:
        found = share(float(loss @ weight), float(weight.sum()), float(weight @ weight))
    else:
        found = _mean(loss, weight)
    if trial.tried_cells == trial.n_cells:
        return found
    by_cell = np.bincount(trial.cell, weights=weight).astype(np.float64)
    some = by_cell > 0
    cells = _mean(np.bincount(trial.cell, weights=weight * loss)[some] / by_cell[some], by_cell[some])
    left = math.sqrt(1 - trial.tried_cells / trial.n_cells)  # of the error that trying all cells would not have
    low, high = (cells.value * (end / (cells.value or 1.0)) ** left for end in (cells.low, cells.high))
    return Estimate(found.value, min(found.low, low), max(found.high, high))


def _mean(loss: FloatArray, weight: FloatArray) -> Estimate:
    means = Means(1)
    means.add(loss[:, None], weight)
    return means.mean(0)


def _choose(ways: tuple[Way, ...], n_rows: int) -> Way:
    best = min(ways, key=lambda way: way.loss.value)
    return min(
        (way for way in ways if not _is_worse(way, best)),
        key=lambda way: way.fit_seconds + n_rows / _SHOWN_ROWS * way.predict_seconds,
    )


def _is_worse(way: Way, other: Way) -> bool:
    """Return whether a loss is larger than another by more than one standard error of their difference."""
    error = math.hypot(*((loss.high - loss.low) / (2 * _Z) for loss in (way.loss, other.loss)))
    return way.loss.value - other.loss.value > error


def _sentence(ways: tuple[Way, ...], chosen: Way, measure: str) -> str:
    def told(some: list[Way]) -> str:
        return ", ".join(f"{way.name} ({_shown(way.loss.value, measure)})" for way in some)

    use = f"Use {chosen.name}: {measure} {_shown(chosen.loss.value, measure)}, about {chosen.fit_seconds:.3g} s to fit."
    if len(ways) == 1:
        return f"{use} All rows are one cell: there is nothing to choose."
    worse = [way for way in ways if _is_worse(way, chosen)]
    alike = [way for way in ways if way is not chosen and way not in worse]
    local = chosen.parameters["partition"] == "voronoi"
    if not local:
        use += " Cells gain nothing here."
    elif all(way in worse for way in ways if way.parameters["partition"] != "voronoi"):
        use += " Locality pays here."
    parts = [f"Worse: {told(worse)}."] if worse else []
    parts += [f"As good, as far as this tells, but slower: {told(alike)}."] if alike else []
    return " ".join([use, *parts])


def _shown(value: float, measure: str) -> str:
    return f"{100 * value:.2f} %" if measure == "error" else f"{value:.4g}"
