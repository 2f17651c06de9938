"""The scale of columns that the model does not scale: indicators, cyclic parts, target means.

Each is divided by its standard deviation on the training rows, so that it is comparable with standardized numbers.
"""

from __future__ import annotations

import numpy as np

from localsvm.data.types import FloatArray

LEAST_SHARE = 0.01
"""Levels with a smaller fraction of the weight have no column of their own, and indicators of rarer values are scaled
as if they had this fraction: a few rows must not be far from all others."""

_STEPS_PER_OCTAVE = 8


def indicator_factor(share: FloatArray) -> FloatArray:
    """Return the inverse standard deviation of indicators that are 1 in this fraction of the rows; 0 for none."""
    at_least = np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)
    return np.where(share > 0, 1 / np.sqrt(at_least * (1 - at_least)), 0.0)


def rounded(spread: float) -> float:
    """Return a positive number rounded to an eighth of an octave, so that no single row decides its last digits.

    Examples
    --------
    >>> from localsvm.data.encoding.scale import rounded
    >>> rounded(1.0), rounded(1.03) == rounded(1.0), rounded(2.05)
    (1.0, True, 2.0)
    """
    return float(2.0 ** (np.rint(np.log2(spread) * _STEPS_PER_OCTAVE) / _STEPS_PER_OCTAVE))
