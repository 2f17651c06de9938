"""Estimators with the API of `pyspark.ml` that train every cell with the code of `localsvm`.

One shuffle sends the rows of each coarse cell to one task. Everything that is decided before depends on a bounded
sample that the content of the rows determines, so that the model is the same, to the bit, as one fitted without Spark.
Classic and Connect mode are supported.
"""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from localsvm.errors import MissingPackage

for _package in ("pandas", "pyarrow", "pyspark"):
    if _find_spec(_package) is None:
        raise MissingPackage(
            f"localsvm.spark needs the package {_package!r}: pip install 'localsvm[spark]'", name=_package
        )

if TYPE_CHECKING:
    from localsvm.spark.classifier import LocalSVMClassificationModel, LocalSVMClassifier
    from localsvm.spark.evaluator import TprTnrEvaluator
    from localsvm.spark.regressor import LocalSVMRegressionModel, LocalSVMRegressor

__all__ = [
    "LocalSVMClassificationModel",
    "LocalSVMClassifier",
    "LocalSVMRegressionModel",
    "LocalSVMRegressor",
    "TprTnrEvaluator",
]

# Loaded on first use: tasks on the workers import other modules of this package, and not these.
_LOADED_ON_FIRST_USE = {
    "LocalSVMClassificationModel": "localsvm.spark.classifier",
    "LocalSVMClassifier": "localsvm.spark.classifier",
    "LocalSVMRegressionModel": "localsvm.spark.regressor",
    "LocalSVMRegressor": "localsvm.spark.regressor",
    "TprTnrEvaluator": "localsvm.spark.evaluator",
}


def __getattr__(name: str) -> object:
    if name not in _LOADED_ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(_import_module(_LOADED_ON_FIRST_USE[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LOADED_ON_FIRST_USE})
