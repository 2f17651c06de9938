"""Predicted against true values of a regression.

Enters: an evaluation. Leaves: `PredictionDisplay`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from localsvm.errors import InvalidParameter
from localsvm.evaluation.result import Evaluation, Pairs
from localsvm.report.display import EvaluationDisplay
from localsvm.report.style import INK, RAMP

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class PredictionDisplay(EvaluationDisplay):
    """Predicted against true values: tiles are darker where there are more rows. On the diagonal they agree.

    Parameters
    ----------
    pairs : Pairs
        Counts of rows by true and predicted value.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

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
        """Draw the predictions that an evaluation counted.

        Parameters
        ----------
        evaluation : Evaluation
            Of a regression of means.
        target : int, default=0
            Which of several targets.
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.
        **kwargs : dict
            Passed on to the tiles.

        Returns
        -------
        PredictionDisplay
            What was drawn.
        """
        if target >= len(evaluation.pairs):
            raise InvalidParameter(
                f"target={target}: the evaluation of {evaluation.task} has pairs of {len(evaluation.pairs)} targets."
            )
        return cls(evaluation.pairs[target]).plot(ax, **kwargs)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        """Draw on axes."""
        from matplotlib.collections import PolyCollection
        from matplotlib.colors import ListedColormap

        low, high = self.pairs.low, self.pairs.high
        counts = np.array(self.pairs.counts)
        true, predicted = np.nonzero(counts)
        side = (high - low) / len(counts)
        corners = low + side * np.stack([true, predicted], axis=1)[:, None, :]
        squares = corners + side * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        # Counts differ by orders of magnitude: tiles show their logarithm.
        options: dict[str, Any] = {"cmap": ListedColormap(list(RAMP[2:])), "linewidth": 0} | kwargs
        tiles = PolyCollection(list(squares), **options)
        tiles.set_array(np.log(counts[true, predicted]))
        ax.add_collection(tiles)
        ax.plot([low, high], [low, high], color=INK["muted"], linewidth=1, linestyle=(0, (4, 3)))
        ax.set(xlim=(low, high), ylim=(low, high), xlabel="true value", ylabel="prediction", aspect="equal")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(length=0)
