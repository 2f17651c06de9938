"""TPR x TNR, the score of the ECBDL competition (Sec. 5.1), as an evaluator of `pyspark.ml`."""

from __future__ import annotations

from typing import Any, Self

from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasWeightCol
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from localsvm.errors import InvalidData
from localsvm.spark.base import Storable
from localsvm.spark.rows import Columns


class TprTnrEvaluator(Evaluator, HasLabelCol, HasPredictionCol, HasWeightCol, Storable):  # type: ignore[misc]
    """True positive rate times true negative rate: 1 for perfect predictions, 1/4 for fair coin flips.

    Parameters
    ----------
    labelCol : str, default="label"
        True labels.
    predictionCol : str, default="prediction"
        Predicted labels.
    weightCol : str, optional
        Weights of the rows.
    positive : float, default=1.0
        The positive label; all others are negative.

    Examples
    --------
    .. code-block:: python

        from localsvm.spark import TprTnrEvaluator

        TprTnrEvaluator().evaluate(model.transform(test))
    """

    positive = Param(Params._dummy(), "positive", "the positive label", typeConverter=TypeConverters.toFloat)

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(positive=1.0)
        self._set(**params)

    def setParams(self, **params: Any) -> Self:
        """Set parameters by name."""
        self._set(**params)
        return self

    def isLargerBetter(self) -> bool:
        """Return True."""
        return True

    def _evaluate(self, dataset: DataFrame) -> float:
        name, positive = self.getLabelCol(), self.getOrDefault(self.positive)
        columns = Columns(dataset)
        weighted = self.isDefined(self.weightCol) and self.getWeightCol()
        weight = columns.number(self.getWeightCol(), "weightCol") if weighted else F.lit(1.0)
        is_positive = columns.number(name, "labelCol") == positive
        predicted = columns.number(self.getPredictionCol(), "predictionCol") == positive
        sums = {
            "positive": is_positive,
            "negative": ~is_positive,
            "true_positive": is_positive & predicted,
            "true_negative": ~is_positive & ~predicted,
        }
        row = dataset.agg(
            *(F.sum(F.when(rows, weight).otherwise(0.0)).alias(key) for key, rows in sums.items())
        ).first()
        if row is None or not row["positive"] or not row["negative"]:
            raise InvalidData(
                f"column {name!r} has no rows with label {positive:g}, or only such rows: TPR x TNR needs both classes."
            )
        return float(row["true_positive"] / row["positive"] * (row["true_negative"] / row["negative"]))
