"""Choices made on a pilot sample, at a few per cent of the cost of the fit: the scaling.

Enters: a sample of distinct rows in the order of their hashes. Leaves: the name of a scaling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.grid import Grid
from localsvm.cell.memory import cell_bytes
from localsvm.cell.train import CancelToken, CellSettings, CellTask, cell_radius, train_cell
from localsvm.data.content import canonical_rows
from localsvm.data.scaling import METHODS, Scaling, fit_scaling
from localsvm.model.predict import cell_values
from localsvm.partition.base import ThreadMap

_FEWEST_ROWS = 100  # a pilot on fewer says nothing
_MOST_ROWS = 4000
_VALIDATED = 4  # rows for each one that trains

# A pilot of p rows solves 25 points of one split for three scalings, 75 solves; the fit solves 500 in each of n/c cells
# of c rows. Work is quadratic in the rows, so with p^2 = n c / 64 the pilot and all around it take 3 % of the fit.
_WORK_SHARE = 1 / 64


@dataclass(frozen=True)
class Sample:
    """Distinct rows with targets and weights, in the order of their hashes."""

    X: NDArray[np.floating]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]


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
    """Return the name of the scaling whose pilot machine errs least on rows it has not seen; ties go to the simplest.

    A tie is a difference of less than one standard error.

    Parameters
    ----------
    sample : Sample
        Rows to fit the scalings to, to train on and to validate on.
    settings : CellSettings
        Loss and kernel of the fit.
    seed : int
        Seed of the folds.
    n_rows, cell_size : int
        Size of the fit that the pilot serves; they bound its cost.
    max_bytes : int, optional
        Memory that the pilots of all scalings may take together.
    thread_map : callable, optional
        Replaces `map` over the scalings.

    Returns
    -------
    str
        One of `METHODS`.
    """
    n_pilot = min(_MOST_ROWS, int(np.sqrt(_WORK_SHARE * n_rows * min(n_rows, cell_size))))
    if n_pilot < _FEWEST_ROWS or len(sample.y) < 2 * n_pilot:
        return METHODS[0]
    used = slice(0, (1 + _VALIDATED) * n_pilot)
    sample = Sample(sample.X[used], sample.y[used], sample.weight[used])
    candidates = [fit_scaling(method, sample.X, sample.weight) for method in METHODS]
    pilot = replace(settings, grid=Grid(n_widths=5, n_lams=5), n_folds=1, search="full", refit="combine")
    token = CancelToken()
    try:
        trial = partial(_pilot_risks, sample, pilot, seed, n_pilot, max_bytes, token)
        risks = list(thread_map(trial, candidates))
    except BaseException:
        token.cancel()  # threads that still train end at once
        raise
    return METHODS[simplest_of_best(risks, sample.weight[n_pilot:])]


def _pilot_risks(
    sample: Sample,
    settings: CellSettings,
    seed: int,
    n_pilot: int,
    max_bytes: int | None,
    token: CancelToken,
    scaling: Scaling,
) -> NDArray[np.float64]:
    """Train on the first rows of the sample; return the risk of every one of the others."""
    X, y = scaling.apply(sample.X), sample.y
    rows = canonical_rows(X[:n_pilot], y[:n_pilot], sample.weight[:n_pilot], seed)
    if max_bytes is not None:
        # Too little memory is the fit's to refuse, not the pilot's.
        smallest = cell_bytes(n_pilot, X.shape[1], n_lams=settings.grid.n_lams).smallest
        max_bytes = max(max_bytes // len(METHODS), smallest)
    cell = train_cell(CellTask(rows, cell_radius(rows)), settings, token, max_bytes=max_bytes)
    return settings.loss.risk(y[n_pilot:], cell_values(cell, X[n_pilot:]).astype(np.float64))


def simplest_of_best(risks: list[NDArray[np.float64]], weight: NDArray[np.float64]) -> int:
    """Return the first candidate that is not worse than the best by more than one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.pilot import simplest_of_best
    >>> few, many = np.array([1.0, 0.0, 0.0, 0.0] * 50), np.array([1.0, 1.0, 0.0, 0.0] * 50)
    >>> simplest_of_best([many, few, few], np.ones(200))
    1
    """
    share = weight / weight.sum()
    best = min(risks, key=lambda risk: float(risk @ share))
    for number, risk in enumerate(risks):
        difference = risk - best
        mean = float(difference @ share)
        error = float(np.sqrt(np.square(share) @ np.square(difference - mean)))
        if mean <= error:
            return number
    raise AssertionError("the best is not worse than itself")
