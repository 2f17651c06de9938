"""localsvm: kernel machines for millions of rows that tune themselves.

>>> from localsvm import LocalSVC
>>> from localsvm.data import load_covtype_sample
>>> X, y = load_covtype_sample()
>>> clf = LocalSVC().fit(X[:200], y[:200])
>>> clf.predict(X[200:203]).shape
(3,)
"""

import os as _os
import warnings as _warnings
from typing import TYPE_CHECKING

from localsvm._native import available_simd_levels as _available_simd_levels
from localsvm._native import simd_level
from localsvm.cell import Grid
from localsvm.errors import (
    CannotWrite,
    GridEdgeWarning,
    InvalidData,
    InvalidFile,
    InvalidParameter,
    LocalSVMError,
    MissingPackage,
    PrecisionWarning,
)
from localsvm.lazy import load_when_asked as _load_when_asked
from localsvm.version import __version__

if TYPE_CHECKING:
    from localsvm.estimators import LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR, load
    from localsvm.verdict import advise

_forced = _os.environ.get("LOCALSVM_SIMD")
if _forced and _forced not in _available_simd_levels():
    _warnings.warn(
        f"LOCALSVM_SIMD={_forced!r} is not available here; using {simd_level()!r}. "
        f"This machine has: {', '.join(_available_simd_levels())}.",
        RuntimeWarning,
        stacklevel=2,
    )

__all__ = [
    "CannotWrite",
    "Grid",
    "GridEdgeWarning",
    "InvalidData",
    "InvalidFile",
    "InvalidParameter",
    "LocalExpectileRegressor",
    "LocalQuantileRegressor",
    "LocalSVC",
    "LocalSVMError",
    "LocalSVR",
    "MissingPackage",
    "PrecisionWarning",
    "__version__",
    "advise",
    "load",
    "simd_level",
]

# scikit-learn takes a second to load, and the workers of a cluster do without it.
__getattr__, __dir__ = _load_when_asked(
    __name__,
    {
        "LocalExpectileRegressor": "localsvm.estimators",
        "LocalQuantileRegressor": "localsvm.estimators",
        "LocalSVC": "localsvm.estimators",
        "LocalSVR": "localsvm.estimators",
        "advise": "localsvm.verdict",
        "load": "localsvm.estimators",
    },
)
