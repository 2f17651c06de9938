"""Reliability: what was predicted against what was seen.

Enters: an evaluation. Leaves: `ReliabilityDisplay`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from localsvm.errors import InvalidParameter
from localsvm.evaluation.result import Evaluation, ReliabilityBin
from localsvm.report.display import EvaluationDisplay
from localsvm.report.style import ACCENT, INK, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class ReliabilityDisplay(EvaluationDisplay):
    """Predicted probabilities against the shares that were seen, with 95 % intervals; quantile levels likewise.

    On the diagonal predictions are what they say. The strip below shows how many rows have which probability; all rows
    have all levels.

    Parameters
    ----------
    bins : tuple of ReliabilityBin
        Rows of like probability, or levels.
    labels : (str, str)
        Of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

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
        """Draw the reliability that an evaluation found.

        Parameters
        ----------
        evaluation : Evaluation
            Of classes or quantiles.
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.
        **kwargs : dict
            Passed on to the line.

        Returns
        -------
        ReliabilityDisplay
            What was drawn.
        """
        if not evaluation.reliability:
            raise InvalidParameter(
                f"an evaluation of {evaluation.task} has no shares to compare: only classes and quantiles have."
            )
        return cls(evaluation.reliability, _labels(evaluation)).plot(ax, **kwargs)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        """Draw on axes."""
        x = np.array([bin.predicted for bin in self.bins])
        seen = np.array([bin.observed for bin in self.bins])
        ax.plot([0, 1], [0, 1], color=INK["muted"], linewidth=1, linestyle=(0, (4, 3)))
        ax.vlines(x, [b.low for b in self.bins], [b.high for b in self.bins], color=ACCENT["accent"], linewidth=1.4)
        options: dict[str, Any] = {"color": ACCENT["accent"], "linewidth": 1.6, "marker": "o", "markersize": 4.5}
        ax.plot(x, seen, **(options | {"markeredgecolor": INK["surface"], "markeredgewidth": 0.8} | kwargs))
        has_shares = any(bin.share < 1 for bin in self.bins)
        if has_shares:
            self._draw_shares(ax, x)
        ax.set(
            xlim=(0, 1),
            ylim=(-0.13 if has_shares else 0, 1.02),
            yticks=[0, 0.25, 0.5, 0.75, 1],
            xticks=[0, 0.25, 0.5, 0.75, 1],
        )
        ax.set_xlabel(self.labels[0], parse_math=False)
        ax.set_ylabel(self.labels[1], parse_math=False)
        ax.grid(color=INK["line"], linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(length=0)

    def _draw_shares(self, ax: Axes, x: Any) -> None:
        """Draw a strip of bars below zero: how many rows a bin has."""
        share = np.array([bin.share for bin in self.bins])
        ax.bar(x, 0.1 * share / share.max(), 0.035, bottom=-0.12, color=INK["muted"], alpha=0.55)


def _labels(evaluation: Evaluation) -> tuple[str, str]:
    if evaluation.task == "quantiles":
        return "level", "share of targets at most the prediction"
    assert evaluation.confusion is not None
    if len(evaluation.confusion.labels) == 2:
        positive = short(str(evaluation.confusion.labels[1]))
        return f"predicted probability of {positive}", f"share of {positive}"
    return "probability of the predicted class", "share that is right"
