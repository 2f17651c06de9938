"""A few of the support vectors of a model, to be drawn: evenly spaced over all cells, the same ones every time.

Enters: a model. Leaves: scaled points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localsvm.model.local_model import LocalModel


def sample_support(model: LocalModel, count: int) -> NDArray[np.float32]:
    """Return at most `count` support vectors; only the cells that they are from are read."""
    parts = [part for cell in model.cells for part in cell.functions.sums]
    ends = np.cumsum([len(part.support_vectors) for part in parts], dtype=np.intp)
    total = int(ends[-1]) if len(ends) else 0
    wanted = np.unique(np.linspace(0, total - 1, min(count, total)).astype(np.intp))
    found = np.zeros((len(wanted), model.n_features), dtype=np.float32)
    owners = np.searchsorted(ends, wanted, side="right")
    for number in np.unique(owners):
        here = owners == number
        begin = int(ends[number]) - len(parts[number].support_vectors)
        found[here] = parts[number].support_vectors[wanted[here] - begin]
    return found
