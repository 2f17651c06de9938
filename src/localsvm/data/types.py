"""Array types that several stages share."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
