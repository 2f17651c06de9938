"""Loss against the time to fit, a panel for every set; a line joins the programs that none beats in both."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks.paper.drawing import label, legend, logarithmic, new_figure, save, title
from benchmarks.peers.compared import Compared, frontier
from benchmarks.peers.problems import TITLES
from benchmarks.peers.programs import PROGRAMS
from localsvm.report.style import CLASSES, INK

_MARKS = dict(
    zip(
        PROGRAMS,
        [
            *[("*", "#b0123b", 130), ("P", CLASSES[0], 45)],
            *[("o", CLASSES[1], 30), ("s", CLASSES[1], 26), ("^", CLASSES[1], 30), ("v", CLASSES[1], 30)],
            *[("D", CLASSES[3], 24), ("X", CLASSES[4], 36)],
            *[("o", CLASSES[2], 30), ("s", CLASSES[2], 26), ("^", CLASSES[2], 30)],
        ],
        strict=True,
    )
)


def draw(compared: dict[str, Compared], file: Path) -> None:
    """Draw the sets that any program has finished."""
    drawn = {name: found for name, found in compared.items() if found.finished}
    if not drawn:
        return
    figure, axes = new_figure(len(drawn), columns=4, panel=(3.1, 2.5))
    for ax, (name, found) in zip(axes, drawn.items(), strict=True):
        _draw_set(ax, found)
        title(ax, f"{name}, {found.problem.n_train:,} rows")
        label(ax, "seconds to fit", TITLES[found.problem.task].partition(",")[0])
    programs = next(iter(drawn.values())).results
    handles = [
        Line2D([], [], linestyle="", marker=_MARKS[name][0], color=_MARKS[name][1], markersize=7, label=name)
        for name in programs
    ]
    legend(figure, handles=handles, loc="outside lower center", ncols=6)
    save(figure, file)


def _draw_set(ax: Axes, found: Compared) -> None:
    ahead = [found.finished[name] for name in frontier(found.finished)]
    ax.step(
        [figures["train"] for figures in ahead],
        [figures["loss"] for figures in ahead],
        where="post",
        color=INK["muted"],
        linewidth=1.0,
    )
    for name, figures in found.finished.items():
        marker, colour, size = _MARKS[name]
        ax.scatter(figures["train"], figures["loss"], marker=marker, color=colour, s=size, zorder=3, linewidths=0)
    logarithmic(ax.xaxis)
