"""The result of an evaluation as numbers and text, which can be written as JSON.

Filled in by the evaluator; printed by the command line and drawn by the report.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

Label = str | int | float | bool

_TITLES = {
    "error": "Error",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
    "recall": "Recall",
    "log_loss": "Log-loss",
    "calibration_error": "Calibration error",
    "tpr": "True positive rate",
    "tnr": "True negative rate",
    "tpr_tnr": "TPR x TNR",
    "f1": "F1",
    "precision": "Precision",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R2",
    "pinball_loss": "Pinball loss",
    "share_below": "Fraction at or below",
    "expectile_loss": "Expectile loss",
}


@dataclass(frozen=True)
class Measure:
    """A value with the ends of its 95 % confidence interval, None if it has no interval."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    of: str | None = None
    """Target or level, if there are several."""

    @property
    def title(self) -> str:
        """Name to display."""
        return _TITLES[self.name] if self.of is None else f"{_TITLES[self.name]}, {self.of}"

    def __str__(self) -> str:
        """Return the value with its interval."""
        interval = "" if self.low is None or self.high is None else f" ({self.low:.3g} to {self.high:.3g})"
        return f"{self.title}: {self.value:.3g}{interval}"


@dataclass(frozen=True)
class Confusion:
    """Confusion matrix."""

    labels: tuple[Label, ...]
    counts: tuple[tuple[float, ...], ...]
    """Total weight of the rows by true (first) and predicted class."""
    n_unknown: int = 0
    """Number of rows with labels that the model does not know; each counts as an error."""
    unknown_labels: tuple[Label, ...] = ()
    """Examples of such labels."""


@dataclass(frozen=True)
class ReliabilityBin:
    """Predicted probability and observed frequency in a bin of rows with similar probabilities.

    The probability is that of the second of two classes, or of the predicted class if there are more. For quantiles a
    bin is a level, and the observed frequency is the fraction of targets at or below the prediction.
    """

    predicted: float
    observed: float
    low: float
    high: float
    share: float
    """Fraction of all rows in the bin."""


@dataclass(frozen=True)
class Pairs:
    """Counts of rows by true and predicted value of one target, in bins of equal width."""

    target: str | None
    low: float
    high: float
    counts: tuple[tuple[float, ...], ...]
    """By bin of the true value (first) and of the prediction; values out of range are in the outermost bins."""


@dataclass(frozen=True)
class CellResult:
    """Test results and training summary of one cell."""

    cell: int
    n_rows: int
    loss: float
    """Mean loss of its rows: the error, or the loss of the regressor."""
    size: int
    """Number of training rows."""
    radius: float
    width: float | list[float] | None
    lam: float | list[float] | None
    cv_risk: float | None
    support_vectors: int
    place: tuple[str, ...]
    """Distinguishing features of the cell, in units of the input."""


@dataclass(frozen=True)
class CellTotals:
    """Number, mean loss and classes of the evaluated rows, per cell."""

    n_rows: tuple[int, ...]
    loss: tuple[float | None, ...]
    """None for cells without rows."""
    classes: tuple[tuple[float, ...], ...] | None = None
    """Total weight of the rows by cell and true class; None for regression and for very large tables."""


@dataclass(frozen=True)
class Evaluation:
    """Evaluation of a fitted estimator on test rows."""

    task: str
    """"classes", "means", "quantiles" or "expectiles"."""
    n_rows: int
    measures: tuple[Measure, ...]
    """The first is the headline. Undefined ones, such as the true positive rate without positives, are omitted."""
    worst_cells: tuple[CellResult, ...]
    """Cells with the highest loss, worst first, after shrinking losses towards the mean by 20 rows. Empty if
    predictions are averaged over cells."""
    cells: CellTotals | None
    confusion: Confusion | None = None
    reliability: tuple[ReliabilityBin, ...] = ()
    pairs: tuple[Pairs, ...] = ()

    @property
    def headline(self) -> Measure:
        """The main measure: error, RMSE of the first target, or mean loss over all levels."""
        return self.measures[0]

    def measure(self, name: str, of: str | None = None) -> Measure | None:
        """Return a measure by name, and by target or level if there are several; None if it is undefined."""
        return next((m for m in self.measures if m.name == name and (of is None or m.of == of)), None)

    def summary(self) -> dict[str, Any]:
        """Return everything but the tables of cells and pairs, as a dict."""
        found = asdict(self)
        del found["cells"], found["pairs"]
        return found
