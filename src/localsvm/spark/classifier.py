"""`LocalSVMClassifier`: classification by local support vector machines, on Spark."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import NDArray
from pyspark.ml.linalg import DenseVector
from pyspark.ml.param.shared import HasProbabilityCol, HasRawPredictionCol

from localsvm.decision.operating_point import OperatingPoint
from localsvm.estimators.classifier import LocalSVC
from localsvm.spark.base import LocalSVMEstimator, LocalSVMModel, LocalSVMParams, param
from localsvm.spark.predict import Outputs, predict_vector
from localsvm.spark.summary import ClassificationSummary, classification_summary


def _weights(value: Any) -> Any:
    """Return class weights by label; JSON saves the labels as text."""
    return {float(label): float(weight) for label, weight in value.items()} if isinstance(value, dict) else value


class ClassifierParams(LocalSVMParams, HasRawPredictionCol, HasProbabilityCol):  # type: ignore[misc]
    """Parameters of the classifier and its model."""

    _local = LocalSVC

    class_weight = param("class_weight", "weights of the classes: a dict, 'balanced' or None", _weights)
    multiclass = param("multiclass", "'auto', 'ovo' or 'ovr'")
    loss = param("loss", "'auto', 'logistic', 'hinge' or 'squared'")
    objective = param("objective", "'log_loss', 'accuracy', 'balanced_accuracy', 'tpr_tnr' or 'f1'")
    false_alarm = param("false_alarm", "maximum false positive rate, between 0 and 1")

    def setRawPredictionCol(self, value: str) -> Self:
        """Set the column of decision values; '' for none."""
        return self.setParams(rawPredictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Set the column of probabilities; '' for none."""
        return self.setParams(probabilityCol=value)


class LocalSVMClassificationModel(LocalSVMModel, ClassifierParams):
    """A fitted `LocalSVMClassifier`."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, in the order of rawPrediction and probability."""
        return self._local_head.classes_

    @property
    def numClasses(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def operating_point(self) -> OperatingPoint | None:
        """Operating point selected by `objective` or `false_alarm`: threshold and out-of-fold rates."""
        return getattr(self._local_head, "operating_point_", None)

    @property
    def summary(self) -> ClassificationSummary:
        """Rows, cells, tasks, seconds, and accuracy, recall, precision and AUC of out-of-fold predictions."""
        return classification_summary(self._parts, self.classes.tolist())

    def predictRaw(self, value: Any) -> DenseVector:
        """Return the decision values of one vector, in the order of `classes`."""
        return DenseVector(predict_vector(self._parts, value)["raw"])

    def predictProbability(self, value: Any) -> DenseVector:
        """Return the probabilities of the classes of one vector, in the order of `classes`."""
        return DenseVector(predict_vector(self._parts, value)["probability"])

    @property
    def _local_head(self) -> LocalSVC:
        estimator = self._parts.estimator
        assert isinstance(estimator, LocalSVC)
        return estimator

    def _outputs(self) -> Outputs:
        return Outputs(self.getPredictionCol(), self.getRawPredictionCol(), self.getProbabilityCol())


class LocalSVMClassifier(LocalSVMEstimator, ClassifierParams):
    """Support vector classification on Spark, with all hyper-parameters selected by cross-validation in each cell.

    Rows are partitioned into coarse cells; one shuffle sends each coarse cell to one task, which partitions it into
    cells and trains these with the code of `localsvm.LocalSVC`. The model is the one that `LocalSVC(members=1)` fits to
    the same rows, to the bit, for any number of partitions and workers.

    Parameters
    ----------
    featuresCol : str or list of str, default="features"
        A column of vectors or of arrays of numbers, or several numeric columns.
    labelCol : str, default="label"
        Numeric labels of two or more classes. Convert text with `StringIndexer`.
    weightCol : str, optional
        Sample weights. Rows of weight 0 are ignored; an integer weight is equivalent to repeating the row.
    groupsCol, timeCol : str, optional
        Groups, of any type, whose rows share a fold; or times (numbers, dates, timestamps), whose blocks are folds. As
        `groups` and `time` of `fit` in `localsvm`.
    predictionCol, rawPredictionCol, probabilityCol : str
        Columns that `transform` adds: the label; decision values and probabilities as vectors, in the order of the
        model's `classes`. An empty name omits the column.
    cell_size, n_folds, grid, kernel, relevance, scaling, search, refit, random_state
        As in `localsvm.LocalSVC`.
    class_weight, multiclass, loss, objective, false_alarm
        As in `localsvm.LocalSVC`; labels of `class_weight` are numbers.
    coarse_size : int, default=50000
        Maximum number of rows of a coarse cell, which one task holds and trains. Smaller coarse cells make more tasks.
        With the default the cells are those of `LocalSVC`; with another size they are those of
        `LocalSVC(partition=model.coarse_cells)`.
    max_memory : str or int, optional
        Memory of a task, such as "4GB". By default it is proportional to the cores of the task.
    checkpoint : str, optional
        Directory to which every task writes the cells it has trained. If the fit is interrupted, the same fit with the
        same directory trains only the cells that are missing. Several fits may use one directory; one with files of
        something else is refused. Without it a small model is collected on the driver, and a large one stays in the
        executors; if an executor is lost, its cells are trained again.
    transform_by : {"auto", "broadcast", "shuffle"}, default="auto"
        Broadcast the model and predict the rows where they are, or send rows to the task of their coarse cell. "auto"
        broadcasts models of at most 32 MB.

    Examples
    --------
    .. code-block:: python

        from localsvm.spark import LocalSVMClassifier

        model = LocalSVMClassifier(featuresCol=["x1", "x2"], labelCol="y").fit(frame)
        model.transform(frame).select("prediction", "probability")
        model.write().overwrite().save("hdfs:///models/one")
        model.toLocal().save("one.lsvm")
    """

    _model = LocalSVMClassificationModel

    def _estimator(self) -> LocalSVC:
        return LocalSVC(**self._parameters_of(LocalSVC))
