"""Labels of classes as numbers and a list of names: text that is read once, not held for every row.

Enters: places in a list. Leaves: `Labels`, which classifiers take as targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labels:
    """The class of every sample: its place among sorted names."""

    codes: NDArray[np.integer]
    names: tuple[str, ...]
