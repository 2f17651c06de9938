"""Fig. 3 and the supplement's figure: test error against training size, and against training time.

By size of the cells, and of random chunks. The paper's finding: more rows make spatial cells better, whatever their
size; chunks get better by their size alone.
"""

from __future__ import annotations

from matplotlib.axes import Axes

from benchmarks.csv_store import Figures
from benchmarks.paper.drawing import CHUNK_COLOURS, SIZE_COLOURS, label, legend, logarithmic, new_figure, save, title
from benchmarks.paper.runs import PARTITIONS, Runs
from benchmarks.paper.scales import Series
from benchmarks.paper.written import write_lines

COLUMNS = ("set", "stands_for", "partition", "cell_size", "n_train", "n_test", "cells", "error", "train", "predict")
_SHOWN = ("cells", "error", "train", "predict")
_COLOURS = {"voronoi": SIZE_COLOURS, "chunks": CHUNK_COLOURS}
Curves = dict[tuple[str, int], dict[int, Figures]]


def make(runs: Runs) -> None:
    """Run what has not been run, write the curves, and draw both figures."""
    curves = {series: curves_of(runs, series) for series in runs.scale.series}
    lines = [
        (series.name, series.stands_for, partition, size, n, series.n_test, *(figures[name] for name in _SHOWN))
        for series, found in curves.items()
        for (partition, size), curve in found.items()
        for n, figures in curve.items()
    ]
    write_lines(runs.scale.folder / "fig3.csv", COLUMNS, lines)
    _draw(runs, curves, "size-error", "training rows")
    _draw(runs, curves, "time-error", "training time, seconds")


def curves_of(runs: Runs, series: Series) -> Curves:
    """Return error and times by training size, for cells and chunks of each size."""
    return {
        (partition, size): runs.curve(series, partition, size)
        for partition in PARTITIONS
        for size in runs.scale.cell_sizes
    }


def _draw(runs: Runs, curves: dict[Series, Curves], name: str, x: str) -> None:
    figure, axes = new_figure(len(curves))
    for number, (ax, (series, found)) in enumerate(zip(axes, curves.items(), strict=True)):
        _draw_curves(ax, runs, found, by_time=name == "time-error")
        logarithmic(ax.xaxis)
        if _spans_decades(found):
            logarithmic(ax.yaxis)
        title(ax, f"{series.name}, {series.n_features} features")
        label(ax, x, "test error" if number % 3 == 0 else "")
    handles, texts = axes[0].get_legend_handles_labels()
    legend(figure, handles=handles, labels=texts, loc="outside lower center", ncols=4)
    save(figure, runs.scale.folder / f"{name}.png")


def _draw_curves(ax: Axes, runs: Runs, found: Curves, *, by_time: bool) -> None:
    for (partition, size), curve in found.items():
        colour = _COLOURS[partition][runs.scale.cell_sizes.index(size)]
        x = [figures["train"] if by_time else n for n, figures in curve.items()]
        ax.plot(
            x,
            [figures["error"] for figures in curve.values()],
            color=colour,
            marker="o" if partition == "voronoi" else "s",
            markersize=3.5,
            linewidth=1.5,
            linestyle="-" if partition == "voronoi" else "--",
            label=f"{PARTITIONS[partition]} of {size:,}",
        )


def _spans_decades(found: Curves) -> bool:
    errors = [figures["error"] for curve in found.values() for figures in curve.values()]
    return min(errors) > 0 and max(errors) > 8 * min(errors)
