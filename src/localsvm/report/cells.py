"""How cells differ: distributions of their sizes, radii, widths, lams, support vectors and risks.

Enters: a fitted estimator. Leaves: `CellsDisplay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from localsvm.cell.trained import TrainedCell
from localsvm.report.style import ACCENT, INK, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

QUANTITIES = {
    "size": "training rows",
    "radius": "radius, scaled",
    "width": "kernel width",
    "lam": "lambda",
    "support": "support vectors",
    "risk": "cross-validated risk",
}
"""What is drawn of cells, and its title."""

_LOGARITHMIC = ("width", "lam")
_BINS = 24
_DIGITS = {8.0: (1.0, 2.0, 5.0), 100.0: (1.0, 3.0), np.inf: (1.0,)}
"""First digits of the numbers on a logarithmic axis, by the ratio of its ends."""


def cell_quantities(cells: Sequence[TrainedCell]) -> dict[str, FloatArray]:
    """Return the quantities of all cells; of several problems the middle width and lam, NaN where there is none."""
    return {
        "size": np.array([cell.n_samples for cell in cells], dtype=np.float64),
        "radius": np.array([cell.radius for cell in cells]),
        "width": np.array([_middle(cell.width) for cell in cells]),
        "lam": np.array([_middle(cell.lam) for cell in cells]),
        "support": np.array([cell.n_support for cell in cells], dtype=np.float64),
        "risk": np.array([cell.risk for cell in cells]),
    }


def _middle(values: FloatArray) -> float:
    return float(np.median(values)) if len(values) else np.nan


@dataclass(eq=False)
class CellsDisplay:
    """Histograms over the cells of a model.

    Parameters
    ----------
    quantities : dict of str to ndarray of shape (n_cells,)
        What is drawn: "size", "radius", "width", "lam", "support", "risk"; NaN where a cell has none.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes of shape (2, 3)
        Where they are drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from localsvm import LocalSVC
    >>> from localsvm.data import toy_mixture
    >>> from localsvm.report import CellsDisplay
    >>> clf = LocalSVC(cell_size=100).fit(*toy_mixture(600, 2, random_state=0))
    >>> display = CellsDisplay.from_estimator(clf)
    >>> display.ax_[0, 0].get_title(loc="left")
    'training rows'
    """

    quantities: dict[str, FloatArray]
    ax_: NDArray[Any] = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: NDArray[Any] | None = None, **kwargs: Any) -> Self:
        """Draw the cells of a fitted estimator.

        Parameters
        ----------
        estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
            Fitted.
        ax : array of six matplotlib Axes, optional
            Where to draw; new ones by default.
        **kwargs : dict
            Passed on to the bars.

        Returns
        -------
        CellsDisplay
            What was drawn.
        """
        check_is_fitted(estimator)
        return cls(cell_quantities(estimator.model_.cells)).plot(ax, **kwargs)

    def plot(self, ax: NDArray[Any] | None = None, **kwargs: Any) -> Self:
        """Draw all histograms.

        Parameters
        ----------
        ax : array of six matplotlib Axes, optional
            Where to draw; new ones by default.
        **kwargs : dict
            Passed on to the bars.

        Returns
        -------
        CellsDisplay
            This display.
        """
        if ax is None:
            require("matplotlib")
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(2, 3, figsize=(9, 4.5), layout="constrained")
        self.ax_ = np.asarray(ax)
        self.figure_ = self.ax_.flat[0].figure
        for name, axes in zip(QUANTITIES, self.ax_.flat, strict=True):
            self.plot_quantity(name, axes, **kwargs)
        return self

    def plot_quantity(self, name: str, ax: Axes, **kwargs: Any) -> None:
        """Draw one histogram.

        Parameters
        ----------
        name : str
            What to draw.
        ax : matplotlib Axes
            Where to draw.
        **kwargs : dict
            Passed on to the bars.
        """
        values = self.quantities[name]
        values = values[np.isfinite(values)]
        ax.set_title(QUANTITIES[name], loc="left")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(length=0)
        if len(values) == 0 or values.min() == values.max():
            _write(ax, f"{values[0]:,.4g}" if len(values) else "none")
            return
        edges = _edges(values, logarithmic=name in _LOGARITHMIC)
        options: dict[str, Any] = {"color": ACCENT["accent"], "rwidth": 0.9} | kwargs
        ax.hist(values, edges.tolist(), **options)
        if name in _LOGARITHMIC:
            _mark_ratios(ax, edges[-1] / edges[0])
        ax.locator_params(axis="y", nbins=3, integer=True)
        ax.grid(axis="y", color=INK["line"], linewidth=0.8)
        ax.set_axisbelow(True)
        ax.set_ylabel("cells")


def _write(ax: Axes, text: str) -> None:
    """Write what all cells share."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.text(0.5, 0.45, text, ha="center", va="center", fontsize=18, color=INK["muted"], transform=ax.transAxes)


def _mark_ratios(ax: Axes, span: float) -> None:
    """Make the axis logarithmic, with plain numbers on it, and enough of them."""
    from matplotlib.ticker import LogLocator

    ax.set_xscale("log")
    digits = next(digits for most, digits in _DIGITS.items() if span <= most)
    ax.xaxis.set_major_locator(LogLocator(subs=digits, numticks=5))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.minorticks_off()


def _edges(values: FloatArray, *, logarithmic: bool) -> FloatArray:
    """Return edges of bins of equal width, or of equal ratio."""
    count = int(np.clip(2 * np.sqrt(len(values)), 6, _BINS))
    spaced = np.geomspace if logarithmic else np.linspace
    return np.asarray(spaced(values.min(), values.max(), count + 1))
