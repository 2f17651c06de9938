"""The figure of the first pages: losses of localsvm relative to those of boosted trees, set by set.

python -m benchmarks.accuracy.figure --write     write docs/results.png
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

from benchmarks.accuracy.comparison import AHEAD, BEHIND, WITHIN, Comparison, compared, last_runs
from benchmarks.accuracy.programs import BETTER_LIGHTGBM
from benchmarks.accuracy.sets import SETS
from benchmarks.command_line import command_parser
from benchmarks.csv_store import RESULTS

FILE = Path(__file__).resolve().parents[2] / "docs" / "results.png"
RIVALS = {"CatBoost": "CatBoost", BETTER_LIGHTGBM: "LightGBM, the better of two settings"}
COLORS = {AHEAD: "#2f7d5b", WITHIN: "#8a8f98", BEHIND: "#b5483a"}
LOSS = {"binary": "log_loss", "multiclass": "log_loss", "regression": "rmse"}


def comparisons(runs: pd.DataFrame, rival: str) -> dict[str, Comparison]:
    """Return the comparison with a rival on every development set that both have finished."""
    runs = last_runs(runs)
    found = {}
    for name, chosen in SETS.items():
        if not chosen.reserve:
            one = compared(runs[runs["set"] == name], "localsvm", rival, LOSS[chosen.kind])
            if one is not None:
                found[name] = one
    return found


def draw(runs: pd.DataFrame, file: Path) -> None:
    """Draw ratios of losses with intervals of two standard errors, a panel for each rival."""
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    sides = {title: comparisons(runs, rival) for rival, title in RIVALS.items()}
    first = next(iter(sides.values()))
    names = sorted(first, key=lambda name: first[name].ours / first[name].theirs, reverse=True)
    figure, axes = plt.subplots(1, 2, figsize=(9, 0.19 * len(names) + 1.2), sharey=True, layout="constrained")
    for axis, (title, found) in zip(axes, sides.items(), strict=True):
        for row, name in enumerate(names):
            if name in found:
                _draw_one(axis, row, found[name])
        counts = {verdict: sum(one.verdict == verdict for one in found.values()) for verdict in COLORS}
        subtitle = f"{counts[AHEAD]} lower, {counts[WITHIN]} within noise, {counts[BEHIND]} higher"
        axis.set_title(f"{title}\n{subtitle}", fontsize=10)
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xlim(0.25, 1.6)
        ticks = [0.3, 0.5, 0.7, 1.0, 1.4]
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        axis.grid(axis="x", color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
    axes[0].set_yticks(range(len(names)), [name.replace("_", " ") for name in names], fontsize=8)
    axes[0].tick_params(axis="y", length=0)
    axes[1].tick_params(axis="y", length=0)
    figure.supxlabel("loss of localsvm / loss of the other: log-loss of classes, RMSE of numbers", fontsize=9)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _draw_one(axis: matplotlib.axes.Axes, row: int, one: Comparison) -> None:
    ratio, error = one.ours / one.theirs, 2 * one.error / one.theirs
    ends = np.clip([ratio - error, ratio + error], 0.25, 1.6)
    axis.plot(ends, [row, row], color=COLORS[one.verdict], linewidth=1.2, alpha=0.6)
    axis.plot(max(ratio, 0.25), row, "o", color=COLORS[one.verdict], markersize=4.5)


def main() -> None:
    parser = command_parser("accuracy.figure", __doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    draw(pd.read_csv(RESULTS / "accuracy.csv"), FILE)


if __name__ == "__main__":
    main()
