"""Display of a partition: cells in the plane, colored by risk, width, test loss or classes.

Enters: a fitted estimator, optionally an evaluation. Leaves: `PartitionDisplay`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from localsvm.data.rows import ScaledRows
from localsvm.data.types import FloatArray
from localsvm.errors import InvalidParameter
from localsvm.estimators.rows import check_rows
from localsvm.evaluation.places import feature_names, model_columns
from localsvm.evaluation.result import Evaluation
from localsvm.model.local_model import LocalModel
from localsvm.partition.overlap import OverlapPartition
from localsvm.partition.voronoi import VoronoiPartition
from localsvm.report.cells import cell_quantities
from localsvm.report.display import Display
from localsvm.report.plane import Plane, cell_polygons, plane_of
from localsvm.report.style import CLASSES, INK, OTHER, SIDES, colour_scale, short, steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 800  # dots drawn behind the cells
_MOST_POLYGONS = 600
_HEXAGONS = 34  # per row
_MOST_DISCS = 1200  # with more cells, a hexagon stands for several
_DISC_SIZES = 8
_MARGIN = 0.04


@dataclass(frozen=True)
class CellColours:
    """One value per cell, NaN if unknown, and how to map it to a color."""

    values: FloatArray
    label: str
    kind: str
    """One of "ramp" (sequential), "ratios" (sequential, logarithmic), "sides" (diverging), "classes" (indices)."""
    names: tuple[str, ...] = ()
    """Names of the classes."""


@dataclass(eq=False)
class PartitionDisplay(Display):
    """The cells of a model in the plane of the first two principal components.

    With two features the cells are drawn as polygons; with more, as discs at their centers whose area is the number of
    training rows. Dots are support vectors, or the rows passed as `X`.

    Parameters
    ----------
    centers : ndarray of shape (n_cells, 2)
        Centers in the plane.
    sizes : ndarray of shape (n_cells,)
        Number of training rows per cell.
    colours : CellColours
        Values that are shown as colors.
    points : ndarray of shape (n_points, 2)
        Dots in the plane.
    plane : Plane
        Axes of the projection.
    polygons : list of ndarray or None
        Cells as polygons, if there are two features.

    Examples
    --------
    >>> from localsvm import LocalSVC
    >>> from localsvm.data import toy_mixture
    >>> from localsvm.report import PartitionDisplay
    >>> clf = LocalSVC(cell_size=100).fit(*toy_mixture(600, 2, random_state=0))
    >>> display = PartitionDisplay.from_estimator(clf)
    >>> len(display.polygons) == clf.n_cells_
    True
    """

    centers: FloatArray
    sizes: NDArray[np.intp]
    colours: CellColours
    points: FloatArray
    plane: Plane
    polygons: list[FloatArray] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        color: str = "cv_risk",
        evaluation: Evaluation | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the partition of a fitted estimator.

        Parameters
        ----------
        estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
            Fitted estimator.
        X : array-like, optional
            Rows to draw as dots and to fit the axes to; support vectors and centers by default.
        color : {"cv_risk", "width", "loss", "classes"}, default="cv_risk"
            Cross-validated risk, selected kernel width, mean loss of the evaluated rows, or their classes.
        evaluation : Evaluation, optional
            Required for "loss" and "classes".
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **kwargs : dict
            Passed to the collection of cells.

        Returns
        -------
        PartitionDisplay
            The display, drawn.
        """
        return cls.gather(estimator, X, color=color, evaluation=evaluation).plot(ax, **kwargs)

    @classmethod
    def gather(
        cls, estimator: Any, X: Any = None, *, color: str = "cv_risk", evaluation: Evaluation | None = None
    ) -> Self:
        """Collect the data of the plot, without drawing it."""
        check_is_fitted(estimator)
        model = estimator.model_
        columns = model_columns(feature_names(estimator), estimator.members_[0].view)[0]
        points = sample_support(model, _MOST_POINTS) if X is None else _sample_rows(estimator, X)
        centers = np.asarray(model.partition.centers)
        plane = plane_of(centers if X is None and len(centers) > 2 else points, columns)
        display = cls(
            centers=plane.project(centers),
            sizes=np.array([cell.n_samples for cell in model.cells]),
            colours=cell_colours(estimator, color, evaluation),
            points=plane.project(points),
            plane=plane,
        )
        display.polygons = display._find_polygons(model.partition)
        return display

    def _find_polygons(self, partition: Any) -> list[FloatArray] | None:
        cells = partition.cells if isinstance(partition, OverlapPartition) else partition
        is_plane = isinstance(cells, VoronoiPartition) and cells.centers.shape[1] == 2
        if not is_plane or len(self.centers) > _MOST_POLYGONS:
            return None
        seen = np.concatenate([self.centers, self.points])
        low, high = seen.min(axis=0), seen.max(axis=0)
        margin = np.maximum(_MARGIN * (high - low), 1e-6)
        return cell_polygons(cells, low - margin, high + margin)

    @property
    def shape(self) -> str:
        """How cells are drawn: "areas", "discs", or "hexagons" of several cells each."""
        if self.polygons is not None:
            return "areas"
        many = len(self.centers) > _MOST_DISCS and np.isfinite(self.colours.values).any()
        return "hexagons" if many else "discs"

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        """Draw cells, dots and colorbar or legend."""
        draw = {"areas": self._draw_areas, "hexagons": self._draw_hexagons, "discs": self._draw_discs}[self.shape]
        drawn = draw(ax, **kwargs)
        ax.set_xlabel(self.plane.labels[0], parse_math=False)
        ax.set_ylabel(self.plane.labels[1], parse_math=False)
        ax.set_xticks([])
        ax.set_yticks([])
        self._add_legend(ax, drawn)

    def _maps(self, values: FloatArray) -> dict[str, Any]:
        """Return colormap and norm for values."""
        from matplotlib.colors import BoundaryNorm, ListedColormap

        if self.colours.kind in ("ramp", "ratios"):
            cmap, norm = steps(values, logarithmic=self.colours.kind == "ratios")
        elif self.colours.kind == "sides":
            cmap, norm = ListedColormap(list(SIDES)), BoundaryNorm(np.linspace(0, 1, len(SIDES) + 1), len(SIDES))
        else:
            colours = [*CLASSES, OTHER]
            cmap, norm = ListedColormap(colours), BoundaryNorm(np.arange(len(colours) + 1) - 0.5, len(colours))
        return {"cmap": cmap.with_extremes(bad=INK["line"]), "norm": norm}

    def _draw_areas(self, ax: Axes, **kwargs: Any) -> Any:
        from matplotlib.collections import PolyCollection

        assert self.polygons is not None
        seen = [number for number, polygon in enumerate(self.polygons) if len(polygon) > 2]
        options = self._maps(self.colours.values) | {"edgecolor": INK["surface"], "linewidth": 1.2} | kwargs
        cells = PolyCollection([self.polygons[number] for number in seen], **options)
        cells.set_array(np.ma.masked_invalid(self.colours.values[seen]))
        ax.add_collection(cells)
        ax.plot(*self.points.T, ".", color=INK["ink"], alpha=0.35, markersize=2.2, markeredgewidth=0)
        ax.autoscale_view()
        ax.margins(0)
        return cells

    def _draw_discs(self, ax: Axes, **kwargs: Any) -> Any:
        ax.plot(*self.points.T, ".", color=INK["muted"], alpha=0.5, markersize=2.8, markeredgewidth=0)
        largest = float(np.clip(9000 / len(self.centers), 40, 420))
        step = np.ceil(_DISC_SIZES * self.sizes / max(self.sizes.max(), 1)).astype(int)
        options = (
            self._maps(self.colours.values)
            | {"edgecolor": INK["surface"], "linewidth": 0.7, "plotnonfinite": True}
            | kwargs
        )
        drawn = None
        # One scatter per size keeps files small; large discs first, so that they do not hide small ones.
        for size in range(_DISC_SIZES, -1, -1):
            here = step == size
            if here.any():
                options["s"] = largest * max(size, 0.3) / _DISC_SIZES
                options["c"] = self.colours.values[here]
                drawn = ax.scatter(self.centers[here, 0], self.centers[here, 1], **options)
        return drawn

    def _draw_hexagons(self, ax: Axes, **kwargs: Any) -> Any:
        known = np.isfinite(self.colours.values)
        reduce = _most_frequent if self.colours.kind == "classes" else np.mean
        options: dict[str, Any] = {"gridsize": _HEXAGONS, "linewidth": 0.4, "edgecolor": INK["surface"]} | kwargs
        options |= {"C": self.colours.values[known], "reduce_C_function": reduce}
        drawn = ax.hexbin(self.centers[known, 0], self.centers[known, 1], **options)
        drawn.set(**self._maps(np.asarray(drawn.get_array())))
        return drawn

    def _add_legend(self, ax: Axes, drawn: Any) -> None:
        """Add a colorbar, or a legend of the classes that occur."""
        if self.colours.kind != "classes":
            colour_scale(ax, drawn, self.colours.label)
            return
        from matplotlib.lines import Line2D

        there = np.unique(self.colours.values[np.isfinite(self.colours.values)]).astype(int)
        named = [(CLASSES[c], short(self.colours.names[c], 14)) for c in there if c < len(CLASSES)]
        named += [(OTHER, "others")] if there.max(initial=0) >= len(CLASSES) else []
        handles = [Line2D([], [], color=colour, marker="o", linestyle="", label=name) for colour, name in named]
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.07), "ncols": 3}
        legend = ax.legend(handles=handles, title=self.colours.label, columnspacing=1.0, handletextpad=0.1, **place)
        for text in legend.get_texts():
            text.set_parse_math(False)


def cell_colours(estimator: Any, color: str, evaluation: Evaluation | None) -> CellColours:
    """Return the values that cells are colored by."""
    if color == "cv_risk":
        return CellColours(cell_quantities(estimator.model_.cells)["risk"], "cross-validated risk", "ramp")
    if color == "width":
        return CellColours(cell_quantities(estimator.model_.cells)["width"], "kernel width", "ratios")
    if color not in ("loss", "classes"):
        raise InvalidParameter(f"color={color!r} is unknown; use one of 'cv_risk', 'width', 'loss', 'classes'.")
    if evaluation is None or evaluation.cells is None:
        raise InvalidParameter(f"color={color!r} needs an evaluation by cell: pass evaluation=Evaluator(...).result().")
    if color == "loss":
        label = "error" if evaluation.task == "classes" else "mean loss"
        return CellColours(np.array(evaluation.cells.loss, dtype=np.float64), label, "ramp")
    if evaluation.cells.classes is None or evaluation.confusion is None:
        raise InvalidParameter("color='classes' needs an evaluation with classes by cell. Use color='loss'.")
    return _class_colours(np.array(evaluation.cells.classes), tuple(map(str, evaluation.confusion.labels)))


def _class_colours(masses: FloatArray, names: tuple[str, ...]) -> CellColours:
    total = masses.sum(axis=1)
    if len(names) == 2:
        fraction = np.divide(masses[:, 1], total, out=np.full(len(total), np.nan), where=total > 0)
        return CellColours(fraction, f"fraction of {short(names[1])}", "sides")
    return CellColours(np.where(total > 0, masses.argmax(axis=1), np.nan), "most frequent class", "classes", names)


def _most_frequent(values: Any) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()])


def _sample_rows(estimator: Any, X: Any) -> NDArray[np.float32]:
    rows = ScaledRows(check_rows(estimator, X), estimator.model_.scaling)
    wanted = np.unique(np.linspace(0, len(rows) - 1, min(_MOST_POINTS, len(rows))).astype(np.intp))
    return rows.take(wanted)


def sample_support(model: LocalModel, count: int) -> NDArray[np.float32]:
    """Return up to `count` support vectors, evenly spaced over all cells; only their cells are read."""
    parts = [part for cell in model.cells for part in cell.functions.sums]
    ends = np.cumsum([len(part.support_vectors) for part in parts], dtype=np.intp)
    total = int(ends[-1]) if len(ends) else 0
    wanted = np.unique(np.linspace(0, total - 1, min(count, total)).astype(np.intp))
    found = np.zeros((len(wanted), model.n_features), dtype=np.float32)
    owners = np.searchsorted(ends, wanted, side="right")
    for number in np.unique(owners):
        here = owners == number
        begin = int(ends[number]) - len(parts[number].support_vectors)
        found[here] = parts[number].support_vectors[wanted[here] - begin]
    return found
