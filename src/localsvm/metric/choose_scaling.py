"""The choice of a scaling on a sample, at a few per cent of the cost of the fit.

Enters: a sample of distinct rows in the order of their hashes. Leaves: the name of a scaling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from localsvm.cell import CancelToken
from localsvm.cell.grid import Grid, cell_radius
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.data.content import canonical_rows
from localsvm.data.scaling import METHODS, fit_scaling
from localsvm.data.ties import Ties
from localsvm.partition.base import ThreadMap
from localsvm.partition.near import nearest_rows
from localsvm.tasks import Reduction

# The cost of the choice grows with these, that of a fit with its rows and cell size. Pairs are bounds.
MIN_ROWS = 1000  # of a fit; a smaller sample decides nothing
_SCALED_ROWS = (4_000, 40_000)  # rows that are scaled in all ways: one in eight
_NEIGHBOURHOOD_ROWS = (400, 700)  # in proportion to the size of a cell
_NEIGHBOURHOODS = (2, 40)
_ROWS_PER_NEIGHBOURHOOD = 4_000


@dataclass(frozen=True)
class Sample:
    """Distinct rows with targets and weights, in the order of their hashes."""

    X: NDArray[np.floating]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    n_scaled: int | None = None
    """Number of leading columns that are scaled; the others already have their scale. None: all."""
    ties: Ties | None = None
    """Groups or times of the rows."""

    def first(self, count: int) -> Sample:
        """Return the first rows."""
        rows = np.arange(min(count, len(self.y)))
        ties = None if self.ties is None else self.ties[rows]
        return replace(self, X=self.X[:count], y=self.y[:count], weight=self.weight[:count], ties=ties)

    @property
    def methods(self) -> tuple[str, ...]:
        """Ways to scale, the simplest first: beside columns of unit variance, standardization."""
        all_are_scaled = self.n_scaled is None or self.n_scaled == self.X.shape[1]
        return METHODS if all_are_scaled else tuple(sorted(METHODS, key=lambda method: method != "standard"))


def choose_scaling(
    sample: Sample,
    settings: CellSettings,
    seed: int,
    n_rows: int,
    cell_size: int,
    *,
    max_bytes: int | None = None,
    thread_map: ThreadMap = map,
) -> str:
    """Return the scaling with the least cross-validated risk in some neighbourhoods; ties go to the simplest.

    Models are local, so scalings are compared in neighbourhoods, around the same rows for all: on covtype a quantile
    scaling is as good as any for one model of all rows, and much worse in cells. A tie is a difference of less than one
    standard error.
    """
    if min(n_rows, len(sample.y)) < MIN_ROWS:
        return sample.methods[0]
    sample = sample.first(int(np.clip(n_rows // 8, *_SCALED_ROWS)))
    size = int(np.clip(len(sample.y) * cell_size / n_rows, *_NEIGHBOURHOOD_ROWS))
    count = int(np.clip(n_rows // _ROWS_PER_NEIGHBOURHOOD, *_NEIGHBOURHOODS))
    cheap = replace(settings, grid=Grid(n_widths=5, n_lams=5), n_folds=2, search="full", refit="combine")
    token = CancelToken()
    try:
        trial = partial(_neighbourhood_risks, sample, (count, size), cheap, seed, max_bytes, token)
        risks = _without_gaps(np.stack(list(thread_map(trial, sample.methods))), sample.ties)
    except BaseException:
        token.cancel()  # cells in training stop at once
        raise
    return sample.methods[simplest_of_best(risks / _largest_risk(sample, settings.reduction), size)]


def _largest_risk(sample: Sample, reduction: Reduction) -> float:
    """Return the risk of the best constants, by which risks that are not rates are divided."""
    if reduction.is_classification:
        return 1.0
    constants = reduction.constants(sample.y, sample.weight)
    risk = reduction.risk(sample.y, np.tile(constants, (len(sample.y), 1)))
    return float(risk @ sample.weight / sample.weight.sum()) or 1.0


def _neighbourhood_risks(
    sample: Sample,
    places: tuple[int, int],
    settings: CellSettings,
    seed: int,
    max_bytes: int | None,
    token: CancelToken,
    method: str,
) -> NDArray[np.float64]:
    """Return the least cross-validated risk over the grid in each neighbourhood of one of the first rows.

    The minimum is optimistic, but equally so for all scalings; a separate validation set would add more noise than the
    scalings differ by.
    """
    count, size = places
    X = fit_scaling(method, sample.X, sample.weight, sample.n_scaled).apply(sample.X)
    if max_bytes is not None:
        # Only the fit itself refuses to run in too little memory.
        smallest = settings.bytes_needed(size, X.shape[1]).smallest
        max_bytes = max(max_bytes // len(METHODS), smallest)

    def risk(center: NDArray[np.float32]) -> float:
        near, _ = nearest_rows(X, center, size)
        if len(near) == 0:  # more duplicates of the center than a neighbourhood holds: all scalings are equal there
            return np.nan
        ties = None if sample.ties is None else sample.ties[near]
        rows = canonical_rows(X[near], sample.y[near], sample.weight[near], seed, ties=ties)
        return train_cell(CellTask(rows, cell_radius(rows)), settings, token, max_bytes=max_bytes).risk

    return np.array([risk(center) for center in X[:count]])


def _without_gaps(risks: NDArray[np.float64], ties: Ties | None) -> NDArray[np.float64]:
    """Return 0 where nothing was validated: with groups, whose folds are not those of equal rows, for all scalings."""
    missing = np.isnan(risks)
    return np.where(missing if ties is None else missing.any(axis=0), 0.0, risks)


def simplest_of_best(risks: NDArray[np.float64], n_rows: int) -> int:
    """Return the first candidate that is not worse than the best by more than one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.metric.choose_scaling import simplest_of_best
    >>> simplest_of_best(np.array([[0.4, 0.5], [0.31, 0.4], [0.3, 0.4]]), 100)
    1
    """
    n_places = risks.shape[1]
    best = risks[int(risks.mean(axis=1).argmin())]
    # Two places may agree by chance: a rate estimated from so many rows has at least this standard error.
    total = n_places * n_rows
    rate = float(np.clip(best.mean(), 4 / total, 0.5))
    least = np.sqrt(rate * (1 - rate) / total)
    for number, difference in enumerate(risks - best):
        if difference.mean() <= max(least, difference.std() / np.sqrt(n_places)):
            return number
    raise AssertionError("the best is not worse than itself")
