"""What displays share: the axes they are drawn on, and evaluation before drawing.

Enters: axes of the user's own, or none. Leaves: the display, drawn, with `ax_` and `figure_`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from localsvm.evaluation.evaluator import Evaluator
from localsvm.evaluation.result import Evaluation
from localsvm.report.style import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Display(ABC):
    """Something that can be drawn on axes."""

    ax_: Any
    figure_: Any

    @abstractmethod
    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        """Draw on axes."""

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.
        **kwargs : dict
            Passed on to what is drawn: cells, tiles or line.

        Returns
        -------
        Display
            This display.
        """
        if ax is None:
            require("matplotlib")
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, **kwargs)
        return self


class EvaluationDisplay(Display):
    """Something that is drawn of an evaluation, or of rows after evaluating them."""

    @classmethod
    @abstractmethod
    def from_evaluation(cls, evaluation: Evaluation, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw what an evaluation found."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **kwargs: Any
    ) -> Self:
        """Evaluate a fitted estimator and draw what came out.

        Parameters
        ----------
        estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
            Fitted.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Samples that it has not seen.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            What is true of them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        **kwargs : dict
            Passed on to `from_evaluation`.

        Returns
        -------
        Display
            What was drawn.
        """
        evaluator = Evaluator(estimator)
        evaluator.add(X, y, sample_weight)
        return cls.from_evaluation(evaluator.result(), **kwargs)
