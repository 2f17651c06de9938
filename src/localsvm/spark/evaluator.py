"""TPR x TNR, the score of the ECBDL competition (Sec. 5.1), as an evaluator of Spark."""

from __future__ import annotations

from typing import Any, Self

from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasWeightCol
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from localsvm.errors import InvalidData
from localsvm.spark.persistence import Storable
from localsvm.spark.rows import number_column


class TprTnrEvaluator(Evaluator, HasLabelCol, HasPredictionCol, HasWeightCol, Storable):  # type: ignore[misc]
    """The product of the rates at which positive and negative rows are found; 1 is perfect, 1/4 is a coin.

    Parameters
    ----------
    labelCol : str, default="label"
        True labels.
    predictionCol : str, default="prediction"
        Predicted labels.
    weightCol : str, optional
        Weights of the rows.
    positive : float, default=1.0
        The label of positive rows; all others are negative.

    Examples
    --------
    .. code-block:: python

        from localsvm.spark import TprTnrEvaluator

        TprTnrEvaluator().evaluate(model.transform(test))
    """

    positive = Param(Params._dummy(), "positive", "label of positive rows", typeConverter=TypeConverters.toFloat)

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(positive=1.0)
        self._set(**params)

    def setParams(self, **params: Any) -> Self:
        """Set parameters by their names."""
        self._set(**params)
        return self

    def isLargerBetter(self) -> bool:
        """Return that it is."""
        return True

    def _evaluate(self, dataset: DataFrame) -> float:
        name, positive = self.getLabelCol(), self.getOrDefault(self.positive)
        weighted = self.isDefined(self.weightCol) and self.getWeightCol()
        weight = number_column(dataset, self.getWeightCol(), "weightCol") if weighted else F.lit(1.0)
        is_positive = number_column(dataset, name, "labelCol") == positive
        said_positive = number_column(dataset, self.getPredictionCol(), "predictionCol") == positive
        sums = {
            "positive": is_positive,
            "negative": ~is_positive,
            "found": is_positive & said_positive,
            "left": ~is_positive & ~said_positive,
        }
        row = dataset.agg(
            *(F.sum(F.when(rows, weight).otherwise(0.0)).alias(key) for key, rows in sums.items())
        ).first()
        if row is None or not row["positive"] or not row["negative"]:
            raise InvalidData(
                f"column {name!r} has no rows of label {positive:g}, or none of another: TPR x TNR needs both."
            )
        return float(row["found"] / row["positive"] * (row["left"] / row["negative"]))
