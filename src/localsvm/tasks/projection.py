"""A few random combinations of many targets, which stand for all of them where squared errors are compared.

Enters: targets (n, k), such as indicators of classes. Leaves: r < k combinations of them. If e are the errors of k
least-squares functions and Q is (k, r) with independent rows of mean square 1/r, |Q' e|^2 has the mean |e|^2 (Johnson
and Lindenstrauss, 1984). So widths, kernels and feature weights are chosen at a price that does not grow with k.
"""

from __future__ import annotations

import numpy as np

from localsvm.data.types import FloatArray

_MOST_TARGETS = 4


def project_targets(targets: FloatArray) -> FloatArray:
    """Return at most four combinations of targets (n, k); targets that are no more than that as they are."""
    k = targets.shape[1]
    if k <= _MOST_TARGETS:
        return targets
    directions = np.random.default_rng(0).standard_normal((k, _MOST_TARGETS))
    # Directions of unit length, so that no class counts more than another.
    return np.asarray(targets @ (directions / np.linalg.norm(directions, axis=1, keepdims=True)))
