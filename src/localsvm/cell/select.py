"""Selection (Alg. 1): the (width, lam) of every problem that minimises the combined validation risk.

Enters: validation risks by problem, width and lam. Leaves: a `Choice`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EQUAL_RISK = 1e-6
"""Risks are compared in steps of this size: solutions are exact to a gap of 1e-3, no finer."""


@dataclass(frozen=True)
class Choice:
    """The chosen grid points: indices by problem."""

    width: NDArray[np.intp]
    lam: NDArray[np.intp]


def select(risk: NDArray[np.float64], tie_breaker: NDArray[np.float64]) -> Choice:
    """Choose the grid point of least risk for every problem; risks are (problem, width, lam).

    Ties go to the lower `tie_breaker`, then to the smoother function: widths and lams descend along
    the axes, so that is the first of equal points.
    """
    n_lams = risk.shape[2]
    best = _best(risk.reshape(len(risk), -1), tie_breaker.reshape(len(risk), -1))
    return Choice(best // n_lams, best % n_lams)


def select_lams(risk: NDArray[np.float64], tie_breaker: NDArray[np.float64]) -> NDArray[np.intp]:
    """Choose the lam of least risk for every problem at one width; risks are (problem, lam)."""
    return _best(risk, tie_breaker)


def select_width(risk: NDArray[np.float64], tie_breaker: NDArray[np.float64]) -> int:
    """Choose the width of least risk for all problems together."""
    return int(_best(risk, tie_breaker))


def _best(risk: NDArray[np.float64], tie_breaker: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the first of the best points along the last axis."""
    # Steps, not distances: then equality is transitive, and the best of some widths is the best of
    # all if none of the others beats it. The offset keeps fractions like 3/128 off the edges.
    step = np.floor(risk / EQUAL_RISK + 1 / np.pi)
    tied = np.where(step == step.min(axis=-1, keepdims=True), tie_breaker, np.inf)
    return np.asarray(tied.argmin(axis=-1))
