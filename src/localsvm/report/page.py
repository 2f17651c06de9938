"""The report: one HTML file that needs nothing else.

Enters: a fitted estimator, perhaps an evaluation. Leaves: a page with plots, tables and advice. The same model makes
the same page, to the byte.
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

from localsvm.errors import InvalidParameter
from localsvm.evaluation.result import Evaluation
from localsvm.report import tables
from localsvm.report.cells import QUANTITIES, CellsDisplay, cell_quantities
from localsvm.report.partition import PartitionDisplay, cell_colours
from localsvm.report.predictions import PredictionDisplay
from localsvm.report.recommendations import advise
from localsvm.report.relevance import RelevanceDisplay
from localsvm.report.reliability import ReliabilityDisplay
from localsvm.report.style import require, theme
from localsvm.report.surface import ValidationSurfaceDisplay
from localsvm.report.svg import draw_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGE, _SMALL, _BAR = (4.3, 3.4), (3.0, 1.9), 0.21  # inches
_MOST_TARGETS = 4  # whose predictions are drawn
_MOST_BARS = 14

_CELLS_DRAWN = {
    "areas": ("An area is a cell", " Dots are support vectors."),
    "hexagons": ("A hexagon stands for the cells there", " Axes have their share of the spread."),
    "discs": (
        "A disc is a cell, its area the number of training rows",
        " Dots are support vectors; axes have their share of the spread.",
    ),
}


@dataclass(frozen=True)
class Plot:
    """A plot of the page, as SVG, with the words that say what it shows."""

    name: str
    title: str
    caption: str
    svg: str


def write_report(
    estimator: Any, path: str | os.PathLike[str], evaluation: Evaluation | None = None, title: str | None = None
) -> Path:
    """Write a page about a fitted estimator: one HTML file without any other.

    Parameters
    ----------
    estimator : LocalSVC, LocalSVR, LocalQuantileRegressor or LocalExpectileRegressor
        Fitted.
    path : str or path
        The file to write.
    evaluation : Evaluation, optional
        What the estimator is worth on test rows; without it the page has the numbers of cross-validation only.
    title : str, optional
        Heading of the page.

    Returns
    -------
    Path
        The file.

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
            f"the evaluation is of a model of {len(evaluation.cells.loss)} cells, but this one has "
            f"{len(estimator.model_.cells)}: evaluate this model."
        )
    path = Path(path)
    path.write_text(_page(estimator, evaluation, title), encoding="utf-8")
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
        advice=advise(estimator, evaluation),
        measures=tables.measures(evaluation) if evaluation is not None else None,
        matrix=confusion if confusion and len(confusion.labels) <= tables.MOST_CLASSES else None,
        confusions=tables.confusions(confusion) if confusion else None,
        test_plots=list(_test_plots(evaluation)) if evaluation is not None else [],
        relevance=_relevance_plot(relevance) if relevance else None,
        features=tables.features(relevance.names, relevance.relevance) if relevance else None,
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
    """Return the hash by which the page allows this script, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _plot(
    paint: Callable[[Axes], object], name: str, title: str, caption: str, size: tuple[float, float] = _LARGE
) -> Plot:
    return Plot(name, title, caption, draw_svg(paint, name, size))


def _relevance(estimator: Any) -> RelevanceDisplay | None:
    """Return the relevance of the features, where it has been learned and they differ."""
    learned = getattr(estimator, "feature_relevance_", None)
    return None if learned is None or np.ptp(learned) == 0 else RelevanceDisplay.gather(estimator, most=_MOST_BARS)


def _relevance_plot(display: RelevanceDisplay) -> Plot:
    return _plot(
        display.plot,
        "relevance",
        "Relevance of the features",
        "How much a feature counts when rows are compared, learned on a sample of the training rows. The dashed line "
        "is the mean over all features.",
        (_LARGE[0], _BAR * (display.n_bars + 3)),
    )


def _partition_plots(estimator: Any, evaluation: Evaluation | None) -> Iterator[Plot]:
    """Draw the partition twice: by what cells err, and by their classes, or their widths where there are none."""
    cells = evaluation.cells if evaluation is not None else None
    display = PartitionDisplay.gather(estimator, color="cv_risk" if cells is None else "loss", evaluation=evaluation)
    what, dots = _CELLS_DRAWN[display.shape]
    where = "in cross-validation" if cells is None else "on test rows"
    caption = f"{what}: the more it errs {where}, the stronger the colour.{dots}"
    yield _plot(display.plot, "partition", f"Where it errs {where}", caption)
    if cells is not None and cells.classes is not None:
        coloured = replace(display, colours=cell_colours(estimator, "classes", evaluation))
        yield _plot(coloured.plot, "classes", "Classes of the test rows", f"{what}.{dots}")
    else:
        coloured = replace(display, colours=cell_colours(estimator, "width", None))
        caption = f"{what}: the wider its kernel, the stronger the colour; none where no kernel was needed.{dots}"
        yield _plot(coloured.plot, "widths", "Kernel widths", caption)


def _surface_plot(estimator: Any) -> Plot:
    return _plot(
        lambda ax: ValidationSurfaceDisplay.from_estimator(estimator, ax=ax),
        "surface",
        "Validation over the grid",
        "Mean validation risk by position on the grid. Every cell has a grid of its own; the numbers are those of a "
        "middle one. Discs show how many cells chose a point.",
    )


def _cell_plots(estimator: Any) -> Iterator[Plot]:
    display = CellsDisplay(cell_quantities(estimator.model_.cells))
    for name, title in QUANTITIES.items():
        yield _plot(partial(display.plot_quantity, name), f"cells-{name}", title, f"Cells by {title}.", _SMALL)


def _test_plots(evaluation: Evaluation) -> Iterator[Plot]:
    if evaluation.reliability:
        of_levels = evaluation.task == "quantiles"
        bars = "" if of_levels else " Bars show how many rows have such probabilities."
        yield _plot(
            lambda ax: ReliabilityDisplay.from_evaluation(evaluation, ax=ax),
            "reliability",
            f"Are {'levels' if of_levels else 'probabilities'} what they say?",
            f"On the diagonal they are. Upright lines are 95 % intervals.{bars}",
        )
    for number, pairs in enumerate(evaluation.pairs[:_MOST_TARGETS]):
        yield _plot(
            partial(_draw_pairs, evaluation, number),
            f"pairs-{number}",
            "Predicted against true" if pairs.target is None else f"Predicted against true, {pairs.target}",
            "Tiles are darker where there are more test rows, by the logarithm. On the dashed line both agree.",
        )


def _draw_pairs(evaluation: Evaluation, target: int, ax: Axes) -> PredictionDisplay:
    return PredictionDisplay.from_evaluation(evaluation, target=target, ax=ax)
