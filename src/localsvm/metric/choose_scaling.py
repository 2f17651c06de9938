"""Choices made on a pilot sample, at a few per cent of the cost of the fit: the scaling.

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
from localsvm.partition.base import ThreadMap
from localsvm.partition.near import nearest_rows
from localsvm.tasks import Reduction

# The cost of the pilot grows with these, that of the fit with the rows and the cell size: a few per cent of it.
_FEWEST_ROWS = 1000  # of a fit; a pilot on less says nothing
_SCALED_ROWS = (4_000, 40_000)  # that are scaled in all ways: one in eight, but no less and no more
_NEIGHBOURHOOD_ROWS = (400, 700)  # as many of those as a cell has of all rows, but no less and no more
_NEIGHBOURHOODS = (2, 40)  # one for so many rows, but no less and no more
_ROWS_PER_NEIGHBOURHOOD = 4_000


@dataclass(frozen=True)
class Sample:
    """Distinct rows with targets and weights, in the order of their hashes."""

    X: NDArray[np.floating]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    n_scaled: int | None = None
    """Columns that are scaled; those after them are on their scale already. None is all."""


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

    Machines are local, so the scalings are compared where rows are near to each other, around the same rows for all:
    on covtype a quantile scaling is as good as any for one machine on all rows, and much worse in cells. A tie is a
    difference of less than one standard error.

    Parameters
    ----------
    sample : Sample
        Rows to fit the scalings to, and to cross-validate on.
    settings : CellSettings
        Loss and kernel of the fit.
    seed : int
        Seed of the folds.
    n_rows, cell_size : int
        Size of the fit that the pilot serves.
    max_bytes : int, optional
        Memory that the pilots of all scalings may take together.
    thread_map : callable, optional
        Replaces `map` over the scalings.

    Returns
    -------
    str
        One of `METHODS`.
    """
    if min(n_rows, len(sample.y)) < _FEWEST_ROWS:
        return METHODS[0]
    used = slice(0, int(np.clip(n_rows // 8, *_SCALED_ROWS)))
    sample = replace(sample, X=sample.X[used], y=sample.y[used], weight=sample.weight[used])
    size = int(np.clip(len(sample.y) * cell_size / n_rows, *_NEIGHBOURHOOD_ROWS))
    count = int(np.clip(n_rows // _ROWS_PER_NEIGHBOURHOOD, *_NEIGHBOURHOODS))
    pilot = replace(settings, grid=Grid(n_widths=5, n_lams=5), n_folds=2, search="full", refit="combine")
    token = CancelToken()
    try:
        trial = partial(_pilot_risks, sample, (count, size), pilot, seed, max_bytes, token)
        risks = np.stack(list(thread_map(trial, METHODS)))
    except BaseException:
        token.cancel()  # threads that still train end at once
        raise
    return METHODS[simplest_of_best(risks / _largest_risk(sample, settings.reduction), size)]


def _largest_risk(sample: Sample, reduction: Reduction) -> float:
    """Return the risk of the best constants, for risks that are not rates; they are compared as shares of it."""
    if reduction.is_classification:
        return 1.0
    constants = reduction.constants(sample.y, sample.weight)
    risk = reduction.risk(sample.y, np.tile(constants, (len(sample.y), 1)))
    return float(risk @ sample.weight / sample.weight.sum()) or 1.0


def _pilot_risks(
    sample: Sample,
    places: tuple[int, int],
    settings: CellSettings,
    seed: int,
    max_bytes: int | None,
    token: CancelToken,
    method: str,
) -> NDArray[np.float64]:
    """Return the least cross-validated risk of any grid point at each place: the rows near to one of the first rows.

    That of the best point is too good, but alike for all scalings; choosing a point on some rows and judging it on
    others would add more noise than the scalings differ by.
    """
    count, size = places
    X = fit_scaling(method, sample.X, sample.weight, sample.n_scaled).apply(sample.X)
    if max_bytes is not None:
        # Too little memory is the fit's to refuse, not the pilot's.
        smallest = settings.bytes_needed(size, X.shape[1]).smallest
        max_bytes = max(max_bytes // len(METHODS), smallest)

    def risk(centre: NDArray[np.float32]) -> float:
        near, _ = nearest_rows(X, centre, size)
        rows = canonical_rows(X[near], sample.y[near], sample.weight[near], seed)
        return train_cell(CellTask(rows, cell_radius(rows)), settings, token, max_bytes=max_bytes).risk

    return np.nan_to_num([risk(centre) for centre in X[:count]])


def simplest_of_best(risks: NDArray[np.float64], n_rows: int) -> int:
    """Return the first candidate that is not worse than the best by more than one standard error.

    Parameters
    ----------
    risks : ndarray of shape (n_candidates, n_places)
        Risks of the candidates at the same places.
    n_rows : int
        Rows behind each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.metric.choose_scaling import simplest_of_best
    >>> simplest_of_best(np.array([[0.4, 0.5], [0.31, 0.4], [0.3, 0.4]]), 100)
    1
    """
    n_places = risks.shape[1]
    best = risks[int(risks.mean(axis=1).argmin())]
    # Two places may agree by chance; a rate among so many rows is not known better than this, and never to one error.
    total = n_places * n_rows
    rate = float(np.clip(best.mean(), 4 / total, 0.5))
    least = np.sqrt(rate * (1 - rate) / total)
    for number, difference in enumerate(risks - best):
        if difference.mean() <= max(least, difference.std() / np.sqrt(n_places)):
            return number
    raise AssertionError("the best is not worse than itself")
