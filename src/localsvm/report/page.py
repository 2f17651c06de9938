"""The report: a self-contained HTML file.

Enters: a fitted estimator, optionally an evaluation. Leaves: a page with plots, tables and recommendations. Equal
models have equal pages, byte for byte.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from localsvm.data.durable import replacing
from localsvm.errors import InvalidParameter
from localsvm.evaluation.result import Evaluation
from localsvm.report import tables
from localsvm.report.cells import QUANTITIES, CellsDisplay, ValidationSurfaceDisplay
from localsvm.report.evaluation import PredictionDisplay, ReliabilityDisplay
from localsvm.report.partition import PartitionDisplay, cell_colours
from localsvm.report.recommendations import recommend
from localsvm.report.relevance import RelevanceDisplay
from localsvm.report.style import draw_svg, require, theme
from localsvm.tasks import OneVsOne, OneVsRest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGE, _SMALL, _BAR = (4.3, 3.4), (3.0, 1.9), 0.21  # inches
_MOST_TARGETS = 4  # targets whose predictions are drawn
_MOST_BARS = 14

_CELLS_DRAWN = {
    "areas": ("Each area is a cell", " Dots are support vectors."),
    "hexagons": ("Each hexagon summarizes the cells in it", " Axes show the explained variance in parentheses."),
    "discs": (
        "Each disc is a cell; its area is the number of training rows",
        " Dots are support vectors. Axes show the explained variance in parentheses.",
    ),
}


@dataclass(frozen=True)
class Plot:
    """A plot as SVG, with title and caption."""

    name: str
    title: str
    caption: str
    svg: str


def write_report(
    estimator: Any, path: str | os.PathLike[str], evaluation: Evaluation | None = None, title: str | None = None
) -> Path:
    """Write a self-contained HTML report about a fitted estimator.

    Parameters
    ----------
    estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
        Fitted estimator.
    path : str or path
        File to write.
    evaluation : Evaluation, optional
        Results on test rows; without it the report has cross-validated risks only.
    title : str, optional
        Title of the report.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from localsvm import LocalSVC
    >>> from localsvm.data import toy_mixture
    >>> from localsvm.report import write_report
    >>> clf = LocalSVC(cell_size=200).fit(*toy_mixture(600, 2, random_state=0))
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(clf, Path(folder) / "report.html").read_text(encoding="utf-8")
    >>> page.startswith("<!doctype html>")
    True
    """
    check_is_fitted(estimator)
    for package in ("matplotlib", "jinja2"):
        require(package)
    if evaluation is not None and evaluation.cells and len(evaluation.cells.loss) != len(estimator.model_.cells):
        raise InvalidParameter(
            f"the evaluation is of a model with {len(evaluation.cells.loss)} cells, but this one has "
            f"{len(estimator.model_.cells)}. Pass an evaluation of this model."
        )
    path = Path(path)
    page = _page(estimator, evaluation, title)
    if path.is_fifo() or path.is_char_device():  # like /dev/stdout, which must not be replaced
        path.write_bytes(page.encode())
        return path
    with replacing(path) as file:
        file.write(page.encode())
    return path


def _page(estimator: Any, evaluation: Evaluation | None, title: str | None) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    style, script = (Markup(_read(name)) for name in ("page.css", "page.js"))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    confusion = evaluation.confusion if evaluation is not None else None
    relevance = _relevance(estimator)
    return environment.from_string(_read("page.html")).render(
        style=style,
        script=script,
        script_hash=_content_hash(script),
        safe=Markup,
        theme=theme(),
        title=title or f"{type(estimator).__name__} report",
        kind=type(estimator).__name__,
        version=version("localsvm"),
        tiles=tables.tiles(estimator, evaluation),
        recommendations=recommend(estimator, evaluation),
        measures=tables.measures(evaluation) if evaluation is not None else None,
        matrix=confusion if confusion and len(confusion.labels) <= tables.MOST_CLASSES else None,
        confusions=tables.confusions(confusion) if confusion else None,
        test_plots=list(_test_plots(evaluation)) if evaluation is not None else [],
        relevance=_relevance_plot(relevance) if relevance else None,
        features=tables.features(relevance.names, relevance.relevance) if relevance else None,
        encoding=tables.encoding(estimator) if estimator.columns_ is not None else None,
        partition_plots=list(_partition_plots(estimator, evaluation)),
        surface=_surface_plot(estimator),
        cell_plots=list(_cell_plots(estimator)),
        worst=tables.worst(estimator, evaluation),
        cells=tables.all_cells(estimator, evaluation),
        timings=tables.timings(estimator),
        settings=tables.settings(estimator),
    )


def _read(name: str) -> str:
    return resources.files("localsvm.report").joinpath(name).read_text(encoding="utf-8")


def _content_hash(script: str) -> str:
    """Return the hash by which the content security policy allows this script and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _plot(
    paint: Callable[[Axes], object], name: str, title: str, caption: str, size: tuple[float, float] = _LARGE
) -> Plot:
    return Plot(name, title, caption, draw_svg(paint, name, size))


def _relevance(estimator: Any) -> RelevanceDisplay | None:
    """Return the display of feature relevance, if it was learned and features differ."""
    learned = getattr(estimator, "feature_relevance_", None)
    return None if learned is None or np.ptp(learned) == 0 else RelevanceDisplay.gather(estimator, most=_MOST_BARS)


def _relevance_plot(display: RelevanceDisplay) -> Plot:
    return _plot(
        display.plot,
        "relevance",
        "Feature relevance",
        "Weight of each feature in distances between rows, learned on a sample of the training rows. The dashed line "
        "is the mean over all features.",
        (_LARGE[0], _BAR * (display.n_bars + 3)),
    )


def _partition_plots(estimator: Any, evaluation: Evaluation | None) -> Iterator[Plot]:
    """Draw the partition by error, and by classes, or by kernel width if the classes are unknown."""
    cells = evaluation.cells if evaluation is not None else None
    display = PartitionDisplay.gather(estimator, color="cv_risk" if cells is None else "loss", evaluation=evaluation)
    what, dots = _CELLS_DRAWN[display.shape]
    name = display.colours.label if cells is None else f"test {display.colours.label}"
    caption = f"{what}. A stronger color means a higher {name}.{dots}"
    yield _plot(display.plot, "partition", f"{name.capitalize()} by cell", caption)
    if cells is not None and cells.classes is not None:
        coloured = replace(display, colours=cell_colours(estimator, "classes", evaluation))
        yield _plot(coloured.plot, "classes", "Classes of the test rows by cell", f"{what}.{dots}")
    else:
        coloured = replace(display, colours=cell_colours(estimator, "width", None))
        caption = f"{what}. A stronger color means a wider kernel; cells without a kernel are grey.{dots}"
        yield _plot(coloured.plot, "widths", "Kernel width by cell", caption)


def _surface_plot(estimator: Any) -> Plot:
    several = isinstance(estimator.model_.reduction, OneVsOne | OneVsRest)
    problems = " The risk is that of the binary problems, not the error of all classes." if several else ""
    return _plot(
        ValidationSurfaceDisplay.from_cells(estimator.model_.cells).plot,
        "surface",
        "Validation risk over the grid",
        "Mean validation risk of the cells at each position of the grid. Every cell has its own grid; axis labels are "
        f"medians over the cells. Discs show how many cells selected a point.{problems}",
    )


def _cell_plots(estimator: Any) -> Iterator[Plot]:
    display = CellsDisplay.from_cells(estimator.model_.cells)
    for name, title in QUANTITIES.items():
        yield _plot(
            partial(display.plot_quantity, name), f"cells-{name}", title, f"Histogram of cells by {title}.", _SMALL
        )


def _test_plots(evaluation: Evaluation) -> Iterator[Plot]:
    if evaluation.reliability:
        of_levels = evaluation.task == "quantiles"
        bars = "" if of_levels else " Bars show the number of rows."
        yield _plot(
            lambda ax: ReliabilityDisplay.from_evaluation(evaluation, ax=ax),
            "reliability",
            f"Calibration of {'quantile levels' if of_levels else 'probabilities'}",
            f"Points on the diagonal are perfectly calibrated; vertical lines are 95 % confidence intervals. The curve "
            f"is the increasing one that is nearest to the points.{bars}",
        )
    for number, pairs in enumerate(evaluation.pairs[:_MOST_TARGETS]):
        yield _plot(
            PredictionDisplay(pairs).plot,
            f"pairs-{number}",
            "Predicted and true values" if pairs.target is None else f"Predicted and true values, {pairs.target}",
            "Color shows the number of test rows on a logarithmic scale. On the dashed line predictions are exact.",
        )
