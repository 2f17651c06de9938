"""Summary of a fit: sizes, seconds, and measures on out-of-fold predictions.

Input: the out-of-fold scores on the driver, then a fitted model. Output: what the model stores of them, and a
`TrainingSummary` with the names of `pyspark.ml`. An out-of-fold prediction of a row is made by functions that were not
trained on it, so that these measures estimate those on new rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.types import FloatArray
from localsvm.decision.decide import FittedDecision, OutOfFoldScores
from localsvm.model.table import CellTable

if TYPE_CHECKING:
    from localsvm.spark.distributed import DistributedModel


@dataclass(frozen=True)
class TrainingSummary:
    """What was trained, and how long it took."""

    numInstances: int
    """Rows of positive weight."""
    numFeatures: int
    numCells: int
    numTasks: int
    numSupportVectors: int
    totalSeconds: float
    seconds: dict[str, float]
    """By phase; those of training are summed over all tasks."""
    risk: float
    """Cross-validated risk, the mean over all rows; NaN if no cell has one."""


@dataclass(frozen=True)
class ClassificationSummary(TrainingSummary):
    """Summary of a classification; measures are None for models that were saved without them."""

    labels: list[float]
    accuracy: float | None = None
    """Fraction of correct out-of-fold predictions."""
    recallByLabel: list[float] | None = None
    """Fraction of the rows of a class that are predicted correctly, in the order of `labels`."""
    precisionByLabel: list[float] | None = None
    """Fraction of the predictions of a class that are correct; NaN for a class that is never predicted."""
    areaUnderROC: float | None = None
    """For two classes, from the out-of-fold decision values."""


@dataclass(frozen=True)
class RegressionSummary(TrainingSummary):
    """Summary of a regression."""

    meanSquaredError: float | None
    """Of out-of-fold predictions; None for other losses than the squared one, whose mean is `risk`."""
    rootMeanSquaredError: float | None


# ------------------------------------------------------------------------------- while the model is made


def class_measures(scores: OutOfFoldScores, decision: FittedDecision, n_classes: int) -> dict[str, Any]:
    """Return the weights of classes: of their rows, their predictions and those that are correct; and the AUC."""
    used = ~np.isnan(scores.scores).any(axis=1)
    values, y, weight = scores.scores[used], scores.y[used], scores.count[used]
    area = None
    if n_classes == 2:
        point = None if decision.decision is None else decision.decision.point
        value = values[:, 0 if point is None else point.machine]
        true = (y > 0).astype(np.intp)
        predicted = (value >= (0.0 if point is None else point.threshold)).astype(np.intp)
        area = _area_under_roc(y > 0, value, weight)
    else:
        true, predicted = y.astype(np.intp), values.argmax(axis=1)
    correct = true == predicted
    return {
        "true": np.bincount(true, weight, n_classes),
        "predicted": np.bincount(predicted, weight, n_classes),
        "correct": np.bincount(true[correct], weight[correct], n_classes),
        "area_under_roc": area,
    }


def _area_under_roc(positive: NDArray[np.bool_], value: NDArray[np.floating], weight: FloatArray) -> float | None:
    from sklearn.metrics import roc_auc_score  # takes a moment, which tasks need not wait

    both = bool(weight[positive].sum() > 0 and weight[~positive].sum() > 0)
    return float(roc_auc_score(positive, value, sample_weight=weight)) if both else None


# ------------------------------------------------------------------------------------ of a fitted model


def classification_summary(model: DistributedModel, labels: list[float]) -> ClassificationSummary:
    """Return the summary of a classification."""
    found = model.headline.info.get("out_of_fold")
    if found is None:
        return ClassificationSummary(**_common(model), labels=labels)
    true, predicted, correct = (found[name] for name in ("true", "predicted", "correct"))
    with np.errstate(invalid="ignore"):
        recall, precision = correct / true, correct / predicted
    return ClassificationSummary(
        **_common(model),
        labels=labels,
        accuracy=float(correct.sum() / true.sum()),
        recallByLabel=recall.tolist(),
        precisionByLabel=precision.tolist(),
        areaUnderROC=found["area_under_roc"],
    )


def regression_summary(model: DistributedModel, loss: str) -> RegressionSummary:
    """Return the summary of a regression."""
    common = _common(model)
    error = common["risk"] if loss == "squared" else None
    root = None if error is None else math.sqrt(error)
    return RegressionSummary(**common, meanSquaredError=error, rootMeanSquaredError=root)


def _common(model: DistributedModel) -> dict[str, Any]:
    table, seconds = model.headline.table, dict(model.headline.seconds)
    return {
        "numInstances": sum(task["rows"] for task in model.tasks),
        "numFeatures": model.headline.model.n_features,
        "numCells": len(table),
        "numTasks": len(model.tasks),
        "numSupportVectors": int(table.support_vectors.sum()),
        "totalSeconds": seconds["total"],
        "seconds": seconds,
        "risk": _mean_risk(table),
    }


def _mean_risk(table: CellTable) -> float:
    known = np.isfinite(table.risk) & (table.total_weight > 0)
    return float(np.average(table.risk[known], weights=table.total_weight[known])) if known.any() else math.nan
