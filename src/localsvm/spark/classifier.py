"""`LocalSVMClassifier`: classification by local support vector machines on Spark."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from pyspark.ml.base import Estimator
from pyspark.sql import DataFrame

from localsvm.decision.operating_point import OperatingPoint
from localsvm.estimators.classifier import LocalSVC
from localsvm.spark.fit import fit_distributed
from localsvm.spark.model import LocalSVMModel
from localsvm.spark.params import ClassifierParams
from localsvm.spark.persistence import Storable
from localsvm.spark.predict import Outputs


class LocalSVMClassificationModel(LocalSVMModel, ClassifierParams):
    """A fitted `LocalSVMClassifier`."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels; their order is that of rawPrediction and probability."""
        return self._local_head.classes_

    @property
    def numClasses(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def operating_point(self) -> OperatingPoint | None:
        """What `objective` or `false_alarm` chose: machine, threshold, and rates on left-out rows."""
        return getattr(self._local_head, "operating_point_", None)

    @property
    def _local_head(self) -> LocalSVC:
        estimator = self._parts.estimator
        assert isinstance(estimator, LocalSVC)
        return estimator

    def _outputs(self) -> Outputs:
        return Outputs(self.getPredictionCol(), self.getRawPredictionCol(), self.getProbabilityCol())


class LocalSVMClassifier(Estimator, ClassifierParams, Storable):  # type: ignore[misc]
    """Support vector classification on Spark that tunes itself.

    Rows are cut into coarse cells, each of which comes to one task by one shuffle. There it is cut into cells, and
    these are trained by the code of `localsvm.LocalSVC`. The model is the one that `LocalSVC` fits to the same rows, to
    the bit, whatever the number of partitions and workers is.

    Parameters
    ----------
    featuresCol : str or list of str, default="features"
        A column of vectors or of arrays of numbers; or several columns of numbers.
    labelCol : str, default="label"
        Labels of two classes or more, numbers. `StringIndexer` makes them of text.
    weightCol : str, optional
        Weights: 0 is as if absent, an integer as if repeated.
    predictionCol, rawPredictionCol, probabilityCol : str
        Columns that `transform` adds: the label; decision values and probabilities as vectors, in the order of the
        model's `classes`. An empty name leaves one out.
    cell_size, n_folds, grid, kernel, scaling, search, refit, random_state
        As in `localsvm.LocalSVC`.
    class_weight, multiclass, loss, objective, false_alarm
        As in `localsvm.LocalSVC`; labels of `class_weight` are numbers.
    coarse_size : int, default=50000
        Most rows of a coarse cell. One task holds and trains them; smaller ones make more tasks. With the default
        the cells are those of `LocalSVC`; with another size they are those of `LocalSVC(partition=model.coarse_cells)`.
    max_memory : str or int, optional
        Memory that a task may take, such as "4GB". By default the share of the machine's that its cores are.
    checkpoint : str, optional
        Path to which trained cells are written as tasks finish. Without it a small model comes to the driver, and a
        large one stays in the executors: what an executor had, if it is lost, is trained again.
    transform_by : {"auto", "broadcast", "shuffle"}, default="auto"
        Predict where the rows are with the model broadcast, or route rows to their coarse cells. "auto" broadcasts
        models of at most 32 MB.

    Examples
    --------
    .. code-block:: python

        from localsvm.spark import LocalSVMClassifier

        model = LocalSVMClassifier(featuresCol=["x1", "x2"], labelCol="y").fit(frame)
        model.transform(frame).select("prediction", "probability")
        model.write().overwrite().save("hdfs:///models/one")
        model.toLocal().save("one.lsvm")
    """

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self.setParams(**params)

    def _fit(self, dataset: DataFrame) -> LocalSVMClassificationModel:
        names = ("class_weight", "multiclass", "loss", "objective", "false_alarm")
        estimator = LocalSVC(**self._common(), **{name: self.getOrDefault(name) for name in names})
        model = LocalSVMClassificationModel(fit_distributed(dataset, estimator, self._fit_plan()))
        return self._copyValues(model._resetUid(self.uid))  # type: ignore[no-any-return]
