"""Types of arrays that the package uses everywhere."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
