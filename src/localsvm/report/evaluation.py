"""Displays of an evaluation: reliability of probabilities, and predicted against true values.

Enters: an evaluation, or an estimator and test rows. Leaves: `ReliabilityDisplay`, `PredictionDisplay`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from localsvm.data.types import FloatArray
from localsvm.errors import InvalidParameter
from localsvm.evaluation.evaluator import Evaluator
from localsvm.evaluation.result import Evaluation, Pairs, ReliabilityBin
from localsvm.report.display import Display
from localsvm.report.style import ACCENT, INK, RAMP, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class EvaluationDisplay(Display):
    """A display made from an evaluation."""

    @classmethod
    @abstractmethod
    def from_evaluation(cls, evaluation: Evaluation, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw an evaluation."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **kwargs: Any
    ) -> Self:
        """Evaluate a fitted estimator on test samples and draw the result.

        Parameters
        ----------
        estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
            Fitted estimator.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Test samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            True labels or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        **kwargs : dict
            Passed to `from_evaluation`.

        Returns
        -------
        Display
            The display, drawn.
        """
        evaluator = Evaluator(estimator)
        evaluator.add(X, y, sample_weight)
        return cls.from_evaluation(evaluator.result(), **kwargs)


@dataclass(eq=False)
class ReliabilityDisplay(EvaluationDisplay):
    """Reliability diagram: observed frequencies against predicted probabilities, with 95 % intervals.

    For quantiles: the fraction of targets at or below the prediction, against the level. Points on the diagonal are
    perfectly calibrated. The line is the increasing curve that is nearest to the points (isotonic regression;
    Dimitriadis, Gneiting, Jordan 2021). The bars at the bottom show how many rows each bin of probabilities has.

    Parameters
    ----------
    bins : tuple of ReliabilityBin
        Bins of probability, or levels.
    labels : (str, str)
        Labels of the axes.

    Examples
    --------
    >>> from localsvm import LocalSVC
    >>> from localsvm.data import toy_mixture
    >>> from localsvm.report import ReliabilityDisplay
    >>> X, y = toy_mixture(900, 2, random_state=0)
    >>> display = ReliabilityDisplay.from_estimator(LocalSVC().fit(X[:300], y[:300]), X[300:], y[300:])
    >>> round(sum(bin.share for bin in display.bins), 6)
    1.0
    """

    bins: tuple[ReliabilityBin, ...]
    labels: tuple[str, str]

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the reliability diagram of an evaluation.

        Parameters
        ----------
        evaluation : Evaluation
            Evaluation of a classifier or a quantile regressor.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs : dict
            Passed to the line.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.
        """
        if not evaluation.reliability:
            raise InvalidParameter(
                f"an evaluation of {evaluation.task} has no reliability diagram; use one of classes or quantiles."
            )
        return cls(evaluation.reliability, _labels(evaluation)).plot(ax, **kwargs)

    def curve(self) -> FloatArray:
        """Return the increasing curve at the bins that is nearest to their observed frequencies."""
        observed, rows = [bin.observed for bin in self.bins], [bin.share for bin in self.bins]
        return np.asarray(isotonic_regression(observed, sample_weight=rows))

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        """Draw diagonal, intervals, curve, points and bars."""
        x = np.array([bin.predicted for bin in self.bins])
        observed = np.array([bin.observed for bin in self.bins])
        ax.plot([0, 1], [0, 1], color=INK["muted"], linewidth=1, linestyle=(0, (4, 3)))
        ax.vlines(x, [b.low for b in self.bins], [b.high for b in self.bins], color=ACCENT["accent"], linewidth=1.4)
        options: dict[str, Any] = {"color": ACCENT["accent"], "linewidth": 1.6}
        ax.plot(x, self.curve(), **(options | kwargs))
        edge: dict[str, Any] = {"markeredgecolor": INK["surface"], "markeredgewidth": 0.8}
        ax.plot(x, observed, "o", color=ACCENT["accent"], markersize=4.5, **edge)
        has_bars = any(bin.share < 1 for bin in self.bins)  # every row is in the bins of all quantile levels
        if has_bars:
            self._draw_bars(ax, x)
        ax.set(
            xlim=(0, 1),
            ylim=(-0.13 if has_bars else 0, 1.02),
            yticks=[0, 0.25, 0.5, 0.75, 1],
            xticks=[0, 0.25, 0.5, 0.75, 1],
        )
        ax.set_xlabel(self.labels[0], parse_math=False)
        ax.set_ylabel(self.labels[1], parse_math=False)
        ax.grid(color=INK["line"], linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(length=0)

    def _draw_bars(self, ax: Axes, x: Any) -> None:
        """Draw bars below zero for the number of rows in each bin."""
        fraction = np.array([bin.share for bin in self.bins])
        ax.bar(x, 0.1 * fraction / fraction.max(), 0.035, bottom=-0.12, color=INK["muted"], alpha=0.55)


def _labels(evaluation: Evaluation) -> tuple[str, str]:
    if evaluation.task == "quantiles":
        return "level", "fraction of targets at or below the prediction"
    assert evaluation.confusion is not None
    if len(evaluation.confusion.labels) == 2:
        positive = short(str(evaluation.confusion.labels[1]))
        return f"predicted probability of {positive}", f"observed frequency of {positive}"
    return "probability of the predicted class", "accuracy"


@dataclass(eq=False)
class PredictionDisplay(EvaluationDisplay):
    """Predicted against true values as a two-dimensional histogram: darker tiles have more rows.

    Parameters
    ----------
    pairs : Pairs
        Counts of rows by true and predicted value.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm import LocalSVR
    >>> from localsvm.report import PredictionDisplay
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> display = PredictionDisplay.from_estimator(LocalSVR().fit(X[:200], X[:200, 0]), X[200:], X[200:, 0])
    >>> float(np.sum(display.pairs.counts))
    100.0
    """

    pairs: Pairs

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, target: int = 0, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw predicted against true values of an evaluation.

        Parameters
        ----------
        evaluation : Evaluation
            Evaluation of a `LocalSVR`.
        target : int, default=0
            Index of the target, if there are several.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs : dict
            Passed to the tiles.

        Returns
        -------
        PredictionDisplay
            The display, drawn.
        """
        if target >= len(evaluation.pairs):
            raise InvalidParameter(
                f"target={target}: the evaluation of {evaluation.task} has pairs of {len(evaluation.pairs)} targets."
            )
        return cls(evaluation.pairs[target]).plot(ax, **kwargs)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        """Draw tiles and diagonal."""
        from matplotlib.collections import PolyCollection
        from matplotlib.colors import ListedColormap

        low, high = self.pairs.low, self.pairs.high
        counts = np.array(self.pairs.counts)
        true, predicted = np.nonzero(counts)
        side = (high - low) / len(counts)
        corners = low + side * np.stack([true, predicted], axis=1)[:, None, :]
        squares = corners + side * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        # Counts differ by orders of magnitude, so colors show their logarithm.
        options: dict[str, Any] = {"cmap": ListedColormap(list(RAMP[2:])), "linewidth": 0} | kwargs
        tiles = PolyCollection(list(squares), **options)
        tiles.set_array(np.log(counts[true, predicted]))
        ax.add_collection(tiles)
        ax.plot([low, high], [low, high], color=INK["muted"], linewidth=1, linestyle=(0, (4, 3)))
        ax.set(xlim=(low, high), ylim=(low, high), xlabel="true value", ylabel="prediction", aspect="equal")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(length=0)
