"""The same models on Apache Spark: estimators of `pyspark.ml` that train every cell by the one-machine code.

Rows come to the tasks that own their coarse cell by one shuffle; what is decided before that is decided from a bounded
sample that the content of the rows determines. So the model is the one that a single machine would have fitted, to the
bit. It works in classic and in Connect mode.
"""

from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from localsvm.errors import MissingPackage
from localsvm.lazy import load_when_asked as _load_when_asked

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

# Tasks on the workers need other modules of this package, not these.
__getattr__, __dir__ = _load_when_asked(
    __name__,
    {
        "LocalSVMClassificationModel": "localsvm.spark.classifier",
        "LocalSVMClassifier": "localsvm.spark.classifier",
        "LocalSVMRegressionModel": "localsvm.spark.regressor",
        "LocalSVMRegressor": "localsvm.spark.regressor",
        "TprTnrEvaluator": "localsvm.spark.evaluator",
    },
)
