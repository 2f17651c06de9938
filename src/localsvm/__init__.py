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
from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from localsvm._native import available_simd_levels as _available_simd_levels
from localsvm._native import simd_level
from localsvm.errors import (
    CannotWrite,
    GridEdgeWarning,
    InvalidData,
    InvalidFile,
    InvalidParameter,
    LocalSVMError,
    MissingPackage,
    PrecisionWarning,
    RareClassWarning,
    SingleGroupWarning,
)
from localsvm.storage.version import __version__

if TYPE_CHECKING:
    from localsvm.cell import Grid
    from localsvm.estimators import LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR, load
    from localsvm.evaluation.advise import advise

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
    "RareClassWarning",
    "SingleGroupWarning",
    "__version__",
    "advise",
    "load",
    "simd_level",
]

# scikit-learn takes a second to load; the command line and the workers of a cluster do without it.
_LOADED_ON_FIRST_USE = {
    "Grid": "localsvm.cell",
    "LocalExpectileRegressor": "localsvm.estimators",
    "LocalQuantileRegressor": "localsvm.estimators",
    "LocalSVC": "localsvm.estimators",
    "LocalSVR": "localsvm.estimators",
    "advise": "localsvm.evaluation.advise",
    "load": "localsvm.estimators",
}


def __getattr__(name: str) -> object:
    if name not in _LOADED_ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(_import_module(_LOADED_ON_FIRST_USE[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
