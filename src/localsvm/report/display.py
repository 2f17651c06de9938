"""Base class of the displays, which follow scikit-learn's plotting API.

Enters: matplotlib axes, or None. Leaves: the display, drawn, with the axes in `ax_` and their figure in `figure_`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from localsvm.report.style import require


class Display(ABC):
    """Data of a plot, and how to draw it on axes."""

    ax_: Any
    figure_: Any
    _subplots: ClassVar[dict[str, Any]] = {}
    """Arguments of `plt.subplots` for new axes."""

    @abstractmethod
    def _draw(self, ax: Any, **kwargs: Any) -> None:
        """Draw on axes."""

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, or an array of them, optional
            Axes to draw on; new ones by default.
        **kwargs : dict
            Passed to the matplotlib artist: cells, tiles, bars or line.

        Returns
        -------
        Display
            This display, with the axes in `ax_` and their figure in `figure_`.
        """
        if ax is None:
            require("matplotlib")
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(**self._subplots, layout="constrained")
        self.ax_ = np.asarray(ax) if np.ndim(ax) else ax
        self.figure_ = np.ravel(ax)[0].figure
        self._draw(self.ax_, **kwargs)
        return self
