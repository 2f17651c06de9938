"""The same models on Apache Spark: estimators of `pyspark.ml` that train every cell by the one-machine code.

Rows come to the tasks that own their coarse cell by one shuffle; what is decided before that is decided from a bounded
sample that the content of the rows determines. So the model is the one that a single machine would have fitted, to the
bit. It works in classic and in Connect mode.
"""

from localsvm.errors import MissingPackage

try:
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    import pyspark.ml  # noqa: F401
except ImportError as error:
    raise MissingPackage(
        f"localsvm.spark needs the package {error.name!r}: pip install 'localsvm[spark]'", name=error.name
    ) from error

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
