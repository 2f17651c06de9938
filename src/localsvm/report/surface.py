"""The validation surface: the mean risk over the grid, and the points that cells chose.

Enters: a fitted estimator. Leaves: `ValidationSurfaceDisplay`. Cells have grids of their own, so a point of the
surface is a position on all of them, like "second largest width".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from localsvm.cell.trained import TrainedCell
from localsvm.report.display import Display
from localsvm.report.style import ACCENT, INK, colour_scale, steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]

_MOST_TICKS = 6
_LEAST_SOLVED = 0.5  # share of the rows whose cells know a risk, for a point to be drawn


@dataclass(eq=False)
class ValidationSurfaceDisplay(Display):
    """Mean validation risk by position on the grid, as tiles; discs show how many cells chose a point.

    Parameters
    ----------
    risk : ndarray of shape (n_widths, n_lams)
        Mean over cells, by training rows; NaN where racing left out too many.
    chosen : ndarray of shape (n_widths, n_lams)
        Number of cells that chose a point; of a cell with several problems each has its share.
    widths, lams : ndarray
        The middle one of the cells' values, by position; they descend.

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
    >>> from localsvm.report import ValidationSurfaceDisplay
    >>> clf = LocalSVC(partition="none").fit(*toy_mixture(300, 2, random_state=0))
    >>> display = ValidationSurfaceDisplay.from_estimator(clf)
    >>> display.risk.shape, float(display.chosen.sum())
    ((10, 10), 1.0)
    """

    risk: FloatArray
    chosen: FloatArray
    widths: FloatArray
    lams: FloatArray

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the surface of a fitted estimator.

        Parameters
        ----------
        estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw; new ones by default.
        **kwargs : dict
            Passed on to the tiles.

        Returns
        -------
        ValidationSurfaceDisplay
            What was drawn.
        """
        check_is_fitted(estimator)
        return cls.from_cells(estimator.model_.cells).plot(ax, **kwargs)

    @classmethod
    def from_cells(cls, cells: Sequence[TrainedCell]) -> Self:
        """Gather the surface of trained cells, without drawing it; of a grid without points if all are constant."""
        searched = [cell for cell in cells if cell.risks.size]
        # A grid of given values may be shorter than another only in a model put together by hand.
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
        """Draw on axes."""
        if self.risk.size == 0:
            ax.set(xticks=[], yticks=[])
            ax.text(0.5, 0.5, "no cell had to choose", ha="center", color=INK["muted"], transform=ax.transAxes)
            return
        cmap, norm = steps(self.risk)
        tiled = {"cmap": cmap.with_extremes(bad=INK["surface"]), "norm": norm}
        options: dict[str, Any] = tiled | {"edgecolors": INK["surface"], "linewidth": 1.2} | kwargs
        # Both axes descend in the model; drawn, they ascend.
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
    """Return the nearest candidates, by ratio: problems of other sizes have other lams than the first."""
    distance = np.abs(np.log(candidates)[None, :] - np.log(values)[:, None])
    return np.asarray(distance.argmin(axis=1))


def _mean_risk(cells: Sequence[TrainedCell]) -> FloatArray:
    """Return the mean over cells by their rows; NaN where less than half of the rows are in cells that know it."""
    total, rows = np.zeros((2, *cells[0].risks.shape))
    for cell in cells:
        known = np.isfinite(cell.risks)
        total[known] += cell.n_samples * cell.risks[known]
        rows[known] += cell.n_samples
    enough = rows >= _LEAST_SOLVED * sum(cell.n_samples for cell in cells)
    none = np.full(total.shape, np.nan)
    return np.asarray(np.divide(total, rows, out=none, where=enough & (rows > 0)))


def _label(axis: Any, values: FloatArray) -> None:
    """Name a few of the positions by the values there."""
    places = np.arange(0, len(values), -(-len(values) // _MOST_TICKS))
    axis.set_ticks(places + 0.5, [f"{values[place]:.2g}" for place in places])
