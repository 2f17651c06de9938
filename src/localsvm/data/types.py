"""Array types used in signatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
