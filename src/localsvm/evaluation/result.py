"""What came out of an evaluation: plain numbers and text, ready for JSON.

Enters: nothing; the evaluator fills it in. Leaves: `Evaluation`, which the command line prints and the report draws.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

Label = str | int | float | bool

_TITLES = {
    "error": "Error",
    "balanced_accuracy": "Balanced accuracy",
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
    "share_below": "Share below",
    "expectile_loss": "Expectile loss",
}


@dataclass(frozen=True)
class Measure:
    """A number with the ends of its 95 % interval; None where an interval makes no sense."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    of: str | None = None
    """The target or level, where there are several."""

    @property
    def title(self) -> str:
        """The name for people."""
        return _TITLES[self.name] if self.of is None else f"{_TITLES[self.name]}, {self.of}"


@dataclass(frozen=True)
class Confusion:
    """How often which class was taken for which."""

    labels: tuple[Label, ...]
    counts: tuple[tuple[float, ...], ...]
    """Weight of the rows by true (first) and predicted class."""
    n_unknown: int = 0
    """Rows whose label the model does not know: each is an error."""
    unknown_labels: tuple[Label, ...] = ()
    """Some of these labels."""


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows of like probability: what was predicted, and what was seen.

    Of two classes the probability is that of the second, of more that of the predicted one. Of quantiles a bin is a
    level, and what is seen is the share of targets at most the prediction.
    """

    predicted: float
    observed: float
    low: float
    high: float
    share: float
    """Share of all rows in the bin."""


@dataclass(frozen=True)
class Pairs:
    """Counts of rows by true and predicted value of one target, in bins of equal width."""

    target: str | None
    low: float
    high: float
    counts: tuple[tuple[float, ...], ...]
    """By bin of the true value (first) and of the prediction; values beyond the ends are in the outermost bins."""


@dataclass(frozen=True)
class CellResult:
    """One cell: what it did on the evaluated rows, and what is known from training."""

    cell: int
    n_rows: int
    loss: float
    """Mean loss of its rows: the error, or the loss of the regression."""
    size: int
    """Training rows."""
    radius: float
    width: float | list[float] | None
    lam: float | list[float] | None
    cv_risk: float | None
    support_vectors: int
    place: tuple[str, ...]
    """Features by which the cell stands out from the others, in units of the input."""


@dataclass(frozen=True)
class CellTotals:
    """All cells: rows, mean loss and classes of those evaluated."""

    n_rows: tuple[int, ...]
    loss: tuple[float | None, ...]
    """None where no row fell into the cell."""
    classes: tuple[tuple[float, ...], ...] | None = None
    """Weight of the rows by cell and true class; None for regression, and where that is too many numbers."""


@dataclass(frozen=True)
class Evaluation:
    """Measures of a fitted estimator on rows that it has not seen."""

    task: str
    """"classes", "means", "quantiles" or "expectiles"."""
    n_rows: int
    measures: tuple[Measure, ...]
    """The first is the headline. One that has no value, as the share of positives found where there are none, is left
    out."""
    worst_cells: tuple[CellResult, ...]
    """The worst first. Few rows say little: a cell counts as if it had 20 rows more of mean loss. None where all cells
    predict together."""
    cells: CellTotals | None
    confusion: Confusion | None = None
    reliability: tuple[ReliabilityBin, ...] = ()
    pairs: tuple[Pairs, ...] = ()

    @property
    def headline(self) -> Measure:
        """The measure that says most: error, RMSE of the first target, or the mean loss of all levels."""
        return self.measures[0]

    def measure(self, name: str, of: str | None = None) -> Measure | None:
        """Return a measure by its name, and by its target or level where there are several; None if it has no value."""
        return next((m for m in self.measures if m.name == name and (of is None or m.of == of)), None)

    def summary(self) -> dict[str, Any]:
        """Return what fits on a screen, as plain data: all but the numbers of every cell and the pairs."""
        found = asdict(self)
        del found["cells"], found["pairs"]
        return found
