"""Displays of the trained cells: histograms of their properties, and the validation risk over the grid.

Enters: a fitted estimator. Leaves: `CellsDisplay`, `ValidationSurfaceDisplay`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from localsvm.cell.trained import TrainedCell
from localsvm.data.types import FloatArray
from localsvm.model.table import CellTable
from localsvm.report.display import Display
from localsvm.report.style import ACCENT, INK, colour_scale, plain, steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUANTITIES = {
    "size": "training rows",
    "radius": "radius (scaled)",
    "width": "kernel width",
    "lam": "lambda",
    "support": "support vectors",
    "risk": "cross-validated risk",
}
"""Properties of cells that are drawn, with their titles."""

_LOGARITHMIC = ("width", "lam")
_BINS = 24
_DIGITS = {8.0: (1.0, 2.0, 5.0), 100.0: (1.0, 3.0), np.inf: (1.0,)}
"""First digits of the tick labels on a logarithmic axis, by the ratio of its ends."""

_MOST_TICKS = 6
_LEAST_SOLVED = 0.5  # a grid point is drawn if cells with this fraction of the rows solved it


def cell_quantities(cells: Sequence[TrainedCell]) -> dict[str, FloatArray]:
    """Return the properties of all cells; median width and lam over the problems of a cell, NaN without problems."""
    table = CellTable.of(cells)
    ends = np.cumsum(table.n_problems)[:-1]
    return {
        "size": table.size.astype(np.float64),
        "radius": table.radius,
        "width": _medians(np.split(table.width, ends)),
        "lam": _medians(np.split(table.lam, ends)),
        "support": table.support_vectors.astype(np.float64),
        "risk": table.risk,
    }


def _medians(parts: Sequence[FloatArray]) -> FloatArray:
    return np.array([np.median(values) if len(values) else np.nan for values in parts])


class CellDisplay(Display):
    """A display made from trained cells."""

    @classmethod
    @abstractmethod
    def from_cells(cls, cells: Sequence[TrainedCell]) -> Self:
        """Collect the data of the plot from trained cells, without drawing it."""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the cells of a fitted estimator.

        Parameters
        ----------
        estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
            Fitted estimator.
        ax : matplotlib Axes, or an array of them, optional
            Axes to draw on; new ones by default.
        **kwargs : dict
            Passed to the bars or tiles.

        Returns
        -------
        Display
            The display, drawn.
        """
        check_is_fitted(estimator)
        return cls.from_cells(estimator.model_.cells).plot(ax, **kwargs)


@dataclass(eq=False)
class CellsDisplay(CellDisplay):
    """Histograms over the cells of a model, on six axes.

    Parameters
    ----------
    quantities : dict of str to ndarray of shape (n_cells,)
        Properties by name: "size", "radius", "width", "lam", "support", "risk"; NaN where a cell has none.

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
    _subplots: ClassVar[dict[str, Any]] = {"nrows": 2, "ncols": 3, "figsize": (9, 4.5)}

    @classmethod
    def from_cells(cls, cells: Sequence[TrainedCell]) -> Self:
        """Collect the properties of trained cells, without drawing them."""
        return cls(cell_quantities(cells))

    def _draw(self, ax: NDArray[Any], **kwargs: Any) -> None:
        """Draw all histograms."""
        for name, axes in zip(QUANTITIES, ax.flat, strict=True):
            self.plot_quantity(name, axes, **kwargs)

    def plot_quantity(self, name: str, ax: Axes, **kwargs: Any) -> None:
        """Draw one histogram.

        Parameters
        ----------
        name : str
            Property to draw.
        ax : matplotlib Axes
            Axes to draw on.
        **kwargs : dict
            Passed to the bars.
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
            _set_log_scale(ax, edges[-1] / edges[0])
        ax.locator_params(axis="y", nbins=3, integer=True)
        ax.grid(axis="y", color=INK["line"], linewidth=0.8)
        ax.set_axisbelow(True)
        ax.set_ylabel("cells")


def _write(ax: Axes, text: str) -> None:
    """Write a value that all cells have in place of a histogram."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.text(0.5, 0.45, text, ha="center", va="center", fontsize=18, color=INK["muted"], transform=ax.transAxes)


def _set_log_scale(ax: Axes, span: float) -> None:
    """Make the x axis logarithmic, with a few plain numbers as labels."""
    from matplotlib.ticker import LogLocator

    ax.set_xscale("log")
    digits = next(digits for most, digits in _DIGITS.items() if span <= most)
    ax.xaxis.set_major_locator(LogLocator(subs=digits, numticks=5))
    ax.xaxis.set_major_formatter(lambda value, _: plain(value))
    ax.minorticks_off()


def _edges(values: FloatArray, *, logarithmic: bool) -> FloatArray:
    """Return edges of bins of equal width, or of equal ratio."""
    count = int(np.clip(2 * np.sqrt(len(values)), 6, _BINS))
    spaced = np.geomspace if logarithmic else np.linspace
    return np.asarray(spaced(values.min(), values.max(), count + 1))


@dataclass(eq=False)
class ValidationSurfaceDisplay(CellDisplay):
    """Mean validation risk over the grid, as tiles; discs show how many cells selected a point.

    Every cell has its own grid, so a tile is a position on all grids, such as "second largest width".

    Parameters
    ----------
    risk : ndarray of shape (n_widths, n_lams)
        Mean over cells, weighted by training rows; NaN where racing skipped the point in too many cells.
    chosen : ndarray of shape (n_widths, n_lams)
        Number of cells that selected a point; each of the m problems of a cell counts 1/m.
    widths, lams : ndarray
        Median over cells of the values at each position, in descending order.

    Examples
    --------
    >>> from localsvm import LocalSVC
    >>> from localsvm.data import toy_mixture
    >>> from localsvm.report import ValidationSurfaceDisplay
    >>> clf = LocalSVC(partition="none").fit(*toy_mixture(300, 2, random_state=0))
    >>> display = ValidationSurfaceDisplay.from_estimator(clf)
    >>> display.risk.shape, float(display.chosen.sum())
    ((5, 9), 1.0)
    """

    risk: FloatArray
    chosen: FloatArray
    widths: FloatArray
    lams: FloatArray

    @classmethod
    def from_cells(cls, cells: Sequence[TrainedCell]) -> Self:
        """Collect the surface of trained cells, without drawing it; empty arrays if all cells are constant."""
        searched = [cell for cell in cells if cell.risks.size]
        # Grids differ in shape only in models that were assembled by hand.
        shape, _ = Counter(cell.risks.shape for cell in searched).most_common(1)[0] if searched else ((0, 0), 0)
        searched = [cell for cell in searched if cell.risks.shape == shape]
        if not searched:
            return cls(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0), np.zeros(0))
        chosen = np.zeros(shape)
        for cell in searched:
            places = _positions(cell.widths, cell.width), _positions(cell.lams, cell.lam)
            np.add.at(chosen, places, 1 / len(cell.width))
        return cls(
            risk=_mean_risk(searched),
            chosen=chosen,
            widths=np.median([cell.widths for cell in searched], axis=0),
            lams=np.median([cell.lams for cell in searched], axis=0),
        )

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        """Draw tiles and discs."""
        if self.risk.size == 0:
            ax.set(xticks=[], yticks=[])
            ax.text(0.5, 0.5, "no cell needed a grid search", ha="center", color=INK["muted"], transform=ax.transAxes)
            return
        cmap, norm = steps(self.risk)
        tiled = {"cmap": cmap.with_extremes(bad=INK["surface"]), "norm": norm}
        options: dict[str, Any] = tiled | {"edgecolors": INK["surface"], "linewidth": 1.2} | kwargs
        # Widths and lams descend in the model; the axes ascend.
        tiles = ax.pcolormesh(np.ma.masked_invalid(self.risk[::-1, ::-1].T), **options)
        self._draw_choices(ax)
        _label(ax.xaxis, self.widths[::-1])
        _label(ax.yaxis, self.lams[::-1])
        ax.set(xlabel="kernel width", ylabel="lambda")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        colour_scale(ax, tiles, "mean validation risk")

    def _draw_choices(self, ax: Axes) -> None:
        width, lam = np.nonzero(self.chosen[::-1, ::-1])
        count = self.chosen[::-1, ::-1][width, lam]
        ax.scatter(
            width + 0.5,
            lam + 0.5,
            s=120 * count / count.max() + 4,
            color=ACCENT["contrast"],
            edgecolor=INK["surface"],
            linewidth=1.0,
            zorder=3,
        )


def _positions(candidates: FloatArray, values: FloatArray) -> NDArray[np.intp]:
    """Return the nearest candidates by ratio; problems that differ in size have different lams."""
    distance = np.abs(np.log(candidates)[None, :] - np.log(values)[:, None])
    return np.asarray(distance.argmin(axis=1))


def _mean_risk(cells: Sequence[TrainedCell]) -> FloatArray:
    """Return the mean over cells, weighted by rows; NaN where too few rows are in cells that solved the point."""
    total, rows = np.zeros((2, *cells[0].risks.shape))
    for cell in cells:
        known = np.isfinite(cell.risks)
        total[known] += cell.n_samples * cell.risks[known]
        rows[known] += cell.n_samples
    enough = rows >= _LEAST_SOLVED * sum(cell.n_samples for cell in cells)
    none = np.full(total.shape, np.nan)
    return np.asarray(np.divide(total, rows, out=none, where=enough & (rows > 0)))


def _label(axis: Any, values: FloatArray) -> None:
    """Label a few positions of an axis with the values there."""
    places = np.arange(0, len(values), -(-len(values) // _MOST_TICKS))
    axis.set_ticks(places + 0.5, [plain(values[place]) for place in places])
