"""The end of Algorithm 1: the k fold solutions merged into one coefficient vector.

Enters: coefficients and validation risks of the folds at the chosen grid point. Leaves: one coefficient vector, so
that prediction costs one kernel row per support vector.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def fold_shares(risk: NDArray[np.float64], fold_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights exponential in the folds' risks, summing to one.

    A fold whose risk is the largest has exponent -n_fold/100, one without errors exponent 0: the more validation
    samples speak, the more their verdict counts.
    """
    worst = risk.max()
    if worst <= 0:
        return np.full(len(risk), 1.0 / len(risk))
    temperature = fold_weight.mean() / 100.0
    share = np.exp(-temperature * (risk - risk.min()) / worst)
    return np.asarray(share / share.sum())


def combine(
    beta: NDArray[np.float32], risk: NDArray[np.float64], fold_weight: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the weighted average of the fold solutions (fold, sample)."""
    shares = fold_shares(risk, fold_weight)
    return (shares @ beta.astype(np.float64)).astype(np.float32)
