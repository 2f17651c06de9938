"""Colours and frames of all figures: those of localsvm's reports. Files are PNG, for pages and for eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from localsvm.report.style import CLASSES, INK

matplotlib.use("Agg")

SIZE_COLOURS = ("#82b1e5", "#3b7ac6", "#174786", "#7759cc")
"""Of cell sizes, the smallest first."""

CHUNK_COLOURS = ("#f0b070", "#df7a2a", "#a65512", "#bf4690")
"""Of random chunks of the same sizes."""

LINE_COLOURS = CLASSES


def new_figure(
    n_panels: int, *, columns: int = 3, panel: tuple[float, float] = (3.6, 3.0)
) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, a few in a row."""
    rows, columns = -(-n_panels // columns), min(columns, n_panels)
    figure = Figure(figsize=(panel[0] * columns, panel[1] * rows), layout="constrained")
    axes = [figure.add_subplot(rows, columns, number + 1) for number in range(n_panels)]
    for ax in axes:
        frame(ax)
    return figure, axes


def frame(ax: Axes) -> None:
    """Leave the axes that carry numbers, and thin lines behind the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(INK["muted"])
    ax.tick_params(colors=INK["muted"], labelsize=8)
    ax.grid(color=INK["line"], linewidth=0.6)
    ax.set_axisbelow(True)


def title(ax: Axes, text: str) -> None:
    ax.set_title(text, fontsize=10, color=INK["ink"], loc="left")


def label(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=9, color=INK["ink"])
    ax.set_ylabel(y, fontsize=9, color=INK["ink"])


def logarithmic(axis: Axis) -> None:
    """Make an axis logarithmic, with plain numbers: of few decades also those between."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 200 * low else (1.0,)))
    axis.set_major_formatter(lambda value, _: plain(value))
    axis.set_minor_formatter(NullFormatter())


def plain(value: float) -> str:
    """Return a number as an axis shows it: 0.02, 500, 20k, 5M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def legend(where: Any, **options: Any) -> None:
    where.legend(frameon=False, fontsize=8, labelcolor=INK["ink"], **options)


def save(figure: Figure, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=160, facecolor="white", metadata={"Software": None})
    print(f"  {file}", flush=True)
