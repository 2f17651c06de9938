"""localsvm: kernel machines for millions of rows that tune themselves.

>>> from localsvm import LocalSVC
>>> from localsvm.data import load_covtype_sample
>>> X, y = load_covtype_sample()
>>> clf = LocalSVC().fit(X[:200], y[:200])
>>> clf.predict(X[200:203]).shape
(3,)
"""

from localsvm._native import simd_level
from localsvm.cell import Grid
from localsvm.errors import (
    GridEdgeWarning,
    InvalidData,
    InvalidParameter,
    LocalSVMError,
    PrecisionWarning,
)
from localsvm.estimators import LocalSVC

__version__ = "0.1.0"

__all__ = [
    "Grid",
    "GridEdgeWarning",
    "InvalidData",
    "InvalidParameter",
    "LocalSVC",
    "LocalSVMError",
    "PrecisionWarning",
    "simd_level",
]
