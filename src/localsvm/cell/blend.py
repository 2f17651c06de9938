"""Several grid points instead of one: the mean of machines that errs least on samples left out.

Enters: out-of-fold values at all grid points. Leaves: the share that each point has in the mean, by problem. Points
are added one after the other, as often as they help (Caruana, Niculescu-Mizil, Crew, Ksikes 2004, "Ensemble selection
from libraries of models"); docs/decisions.md has what that is worth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.columns import Columns
from localsvm.tasks import Problem

_MEMBERS = 10  # of a mean, counted as often as they are in it
_MOST_WIDTHS = 3  # each is trained once more, and predicts


def blend(
    columns: Columns, values: NDArray[np.float32], risk: NDArray[np.float64], n_validated: int
) -> NDArray[np.float64]:
    """Return the shares of the grid points, by problem, width and lam; those of a problem sum to one.

    `values` are (width, lam, column), on samples of the first `n_validated` folds; `risk` is (problem, width, lam).
    """
    shares = np.zeros(risk.shape)
    for number, problem in enumerate(columns.problems):
        left_out = slice(columns.of_problem(number).start, int(columns.ends[number, n_validated - 1]))
        shares[number] = _shares(problem, values[..., left_out], risk[number])
    return shares


def _shares(problem: Problem, values: NDArray[np.float32], risk: NDArray[np.float64]) -> NDArray[np.float64]:
    n = values.shape[-1]
    # The other half has members of no use; points that racing gave up have no values.
    points = np.flatnonzero((risk <= np.median(risk)) & np.isfinite(risk))
    f, width = values.reshape(-1, n)[points], points // risk.shape[1]
    y: NDArray[Any] = problem.y[:n].astype(np.float32)
    weight: NDArray[Any] = problem.weight[:n].astype(np.float32)
    total = np.zeros(n, dtype=np.float32)
    times, allowed = np.zeros(len(points)), np.ones(len(points), dtype=bool)
    for size in range(1, _MEMBERS + 1):
        mean: NDArray[Any] = np.clip((total + f) / np.float32(size), -problem.clip, problem.clip)
        losses: NDArray[Any] = problem.loss.value(y, mean)
        lost = np.einsum("pn,n->p", losses, weight)
        best = int(np.where(allowed, lost, np.inf).argmin())
        times[best] += 1
        total += f[best]
        used = np.unique(width[times > 0])
        if len(used) == _MOST_WIDTHS:
            allowed = np.isin(width, used)
    shares = np.zeros(risk.size)
    shares[points] = times / _MEMBERS
    return shares.reshape(risk.shape)
