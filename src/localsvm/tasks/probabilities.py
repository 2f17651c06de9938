"""Class probabilities: the functions of a cell are log-odds (two classes) or logarithms of probabilities (more).

Enters: the classes of a cell's samples. Leaves: least-squares problems on their indicators, from which Newton steps of
the logistic loss begin (`localsvm.cell.logistic`), and scores, whose probabilities need no calibration.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localsvm.data.types import FloatArray
from localsvm.tasks.losses import Logistic
from localsvm.tasks.numbers import Regression
from localsvm.tasks.problem import Problem, unbounded


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of classes: y = -1 and +1 of two, 0, 1, ... of more."""

    rates: tuple[float, ...]
    """Of all training samples, by class; those of a cell are shrunk to them."""
    loss: Logistic = field(default_factory=Logistic)
    is_classification: bool = True
    repeats: int = 1
    has_parts: bool = False

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.rates)

    @property
    def n_outputs(self) -> int:
        """One function of two classes, else one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_scores(self) -> int:
        """One score per function."""
        return self.n_outputs

    @property
    def columns_per_row(self) -> int:
        """All problems are on all samples."""
        return self.n_outputs

    @property
    def one_width(self) -> bool:
        """All classes share their width."""
        return True

    @property
    def least_squares(self) -> Regression:
        """The task from which Newton steps begin: the indicators of the classes."""
        return Regression((self.loss.squared,), self.n_outputs, one_width=True)

    def indicators(self, y: FloatArray) -> FloatArray:
        """Return 1 where a sample is of the class of an output, else 0 (n, n_outputs)."""
        of_output = [1.0] if self.n_classes == 2 else np.arange(self.n_classes)
        return np.asarray(y[:, None] == of_output, dtype=np.float64)

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return the least-squares problems of the indicators; none where all samples are of one class."""
        return self.least_squares.problems(self.indicators(y), weight)

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the scores of the rates of the classes, shrunk to those of all samples by one sample."""
        index = np.maximum(y, 0).astype(np.intp)
        mass = np.bincount(index, weights=weight, minlength=self.n_classes).astype(np.float64)
        rate = (mass + self.rates) / (mass.sum() + 1.0)
        return np.asarray(np.log(rate[1:] / rate[:1]) if self.n_classes == 2 else np.log(rate))

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return infinite bounds, those of least squares; scores have `score_bound`."""
        return unbounded(self.n_outputs)

    def score_bound(self, weight: float) -> float:
        """Return the largest size of a score that samples of this weight support.

        If they were all of one class, the odds of another would be those of half a sample.
        """
        return float(np.log(2.0 * weight + 1.0))

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the values."""
        return values

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives of the values."""
        return gradients

    def of_outputs(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities (..., n_outputs) of the classes of the outputs."""
        if self.n_classes == 2:
            return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -700.0, 700.0))))
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))

    def scores_of(self, p: FloatArray) -> FloatArray:
        """Return scores of probabilities (..., n_outputs): the inverse of `of_outputs`."""
        p = np.clip(p, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).epsneg)
        return np.asarray(np.log(p / (1.0 - p)) if self.n_classes == 2 else np.log(p))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities (n, n_classes) of all classes."""
        found = self.of_outputs(scores)
        if self.n_classes > 2:
            return found
        # A score of 0 predicts the second class, and so do scores that round to one half.
        second = np.where((found == 0.5) & (scores >= 0), np.nextafter(0.5, 1.0), found)[:, 0]
        return np.column_stack([1.0 - second, second])

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the log-loss of every sample; scores are (..., n, n_outputs)."""
        if self.n_classes == 2:
            return np.asarray(np.logaddexp(0.0, -y * scores[..., 0]))
        largest = scores.max(axis=-1)
        total = largest + np.log(np.exp(scores - largest[..., None]).sum(axis=-1))
        return np.asarray(total - scores[..., np.arange(len(y)), y.astype(np.intp)])
