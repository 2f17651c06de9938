"""Display of the feature relevance of a fitted estimator.

Enters: `feature_relevance_`. Leaves: `RelevanceDisplay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from localsvm.data.types import FloatArray
from localsvm.errors import InvalidParameter
from localsvm.evaluation.places import feature_names
from localsvm.report.display import Display
from localsvm.report.style import ACCENT, INK, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 20


@dataclass(eq=False)
class RelevanceDisplay(Display):
    """Bar chart of feature relevance in descending order; the dashed line is the mean, 1.

    Parameters
    ----------
    relevance : array-like of shape (n_features,)
        Relevance of each feature: non-negative, with mean 1.
    names : sequence of str
        Feature names.
    most : int, default=20
        Number of features to draw; a last bar shows the mean of all others.

    Examples
    --------
    >>> from localsvm.report import RelevanceDisplay
    >>> display = RelevanceDisplay([0.3, 2.5, 0.2], ["width", "height", "colour"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['height', 'width', 'colour']
    """

    relevance: FloatArray
    names: Sequence[str]
    most: int = _MOST_BARS

    def __post_init__(self) -> None:
        """Check shapes and values."""
        self.relevance = np.asarray(self.relevance, dtype=np.float64)
        if self.relevance.shape != (len(self.names),):
            raise InvalidParameter(
                f"relevance has shape {self.relevance.shape}, but there are {len(self.names)} names. Pass one number "
                "per name."
            )
        if self.most < 1:
            raise InvalidParameter(f"most={self.most!r} must be at least 1.")

    @classmethod
    def from_estimator(cls, estimator: Any, *, most: int = _MOST_BARS, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the feature relevance of a fitted estimator.

        Parameters
        ----------
        estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
            Fitted estimator with `feature_relevance_`.
        most : int, default=20
            Number of features to draw; a last bar shows the mean of all others.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs : dict
            Passed to the bars.

        Returns
        -------
        RelevanceDisplay
            The display, drawn.
        """
        return cls.gather(estimator, most=most).plot(ax, **kwargs)

    @classmethod
    def gather(cls, estimator: Any, *, most: int = _MOST_BARS) -> Self:
        """Collect the data of the plot, without drawing it."""
        check_is_fitted(estimator)
        relevance = getattr(estimator, "feature_relevance_", None)
        if relevance is None:
            raise InvalidParameter(
                f"this {type(estimator).__name__} has no feature_relevance_. Fit it with relevance='auto'."
            )
        return cls(relevance, feature_names(estimator), most)

    @property
    def n_bars(self) -> int:
        """Number of bars, including the one for all other features."""
        return min(len(self.names), self.most + 1)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        """Draw the bars."""
        order = np.argsort(-self.relevance, kind="stable")
        shown, others = np.split(order, [self.most if len(order) > self.n_bars else len(order)])
        lengths = self.relevance[shown].tolist()
        labels = [short(self.names[j]) for j in shown]
        colours = [ACCENT["accent"]] * len(shown)
        if len(others):
            lengths.append(float(self.relevance[others].mean()))
            labels.append(f"mean of {len(others)} others")
            colours.append(INK["muted"])
        options: dict[str, Any] = {"color": colours, "height": 0.7} | kwargs
        ax.barh(range(len(lengths)), lengths, **options)
        ax.axvline(1.0, color=INK["muted"], linewidth=1, linestyle=(0, (4, 3)))
        ax.set_yticks(range(len(labels)), labels, parse_math=False)
        ax.set_ylim(len(lengths) - 0.4, -0.6)
        ax.set_xlim(0, 1.04 * max(1.0, *lengths))
        ax.set_xlabel("relevance (mean 1)")
        ax.locator_params(axis="x", nbins=5)
        ax.grid(axis="x", color=INK["line"], linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(length=0)
