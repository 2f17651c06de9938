"""The probability of classes that a cell has no samples of.

Enters: the weight of every class in every cell, and the classes of which a cell has a single sample. Leaves: the
probability of each class in a cell where it is absent.

A cell of one class cannot be cross-validated, but leave-one-out estimates the probability (I. J. Good, *The population
frequencies of species*, Biometrika 1953): samples that are the only ones of their class in a cell are those that the
cell without them would not have expected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import FloatArray


def absent_rates(class_weight: FloatArray, single: NDArray[np.bool_]) -> FloatArray:
    """Return the probability of every class in every cell, were it absent there.

    A cell without class c has to expect a_c samples of it, a_c = weight of the single samples / cells without c, one
    more sample and one more cell being added to what was seen; the rate is a_c among the cell's weight. It never
    exceeds 1/k^2 for k classes: all absent ones together stay less probable than the likeliest class that is present.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.decision.absent import absent_rates
    >>> weight = np.array([[99.0, 0.0], [98.0, 1.0], [60.0, 39.0]])
    >>> absent_rates(weight, single=weight == 1)[0].round(4)
    array([0.0086, 0.0056])
    """
    n_classes = class_weight.shape[1]
    seen = class_weight.sum(axis=0)
    frequency = seen / seen.sum() if seen.sum() > 0 else np.full(n_classes, 1.0 / n_classes)
    expected = (np.where(single, class_weight, 0.0).sum(axis=0) + frequency) / ((class_weight == 0).sum(axis=0) + 1.0)
    rate = expected / (class_weight.sum(axis=1, keepdims=True) + 1.0 + expected)
    return np.asarray(np.clip(rate, 1e-12, 1.0 / n_classes**2))
