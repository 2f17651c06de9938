"""Selection (Alg. 1): the (width, lam) of a cell that minimises the combined validation risk.

Enters: validation risks by width, lam and fold. Leaves: a `Choice`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EQUAL_RISK = 1e-6
"""Risks are compared in steps of this size: solutions are exact to a gap of 1e-3, no finer."""


@dataclass(frozen=True)
class Choice:
    """The chosen grid point and its cross-validated risk."""

    width_index: int
    lam_index: int
    risk: float


def combined_risk(risk: NDArray[np.float64], fold_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average risks (..., fold) over folds by the weight of their validation samples."""
    return np.asarray(risk @ (fold_weight / fold_weight.sum()))


def select(risk: NDArray[np.float64], tie_breaker: NDArray[np.float64]) -> Choice:
    """Choose the grid point of least risk.

    Ties go to the lower `tie_breaker`, then to the smoother function: widths and lams descend along
    the axes, so that is the first of equal points.
    """
    # Steps, not distances: then equality is transitive, and the best of some widths is the best of
    # all if none of the others beats it. The offset keeps fractions like 3/128 off the edges.
    step = np.floor(risk / EQUAL_RISK + 1 / np.pi)
    tied = np.where(step == step.min(), tie_breaker, np.inf)
    w, q = np.unravel_index(int(tied.argmin()), risk.shape)
    return Choice(int(w), int(q), float(risk[w, q]))
