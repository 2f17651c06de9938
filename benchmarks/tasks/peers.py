"""Part `peers`: localsvm against liquidSVM on many classes, means and quantiles.

Cells of 2000 rows, 5 folds, 10 x 10 grids, min-max scaled rows and standardised targets on both sides;
liquidSVM with 1 or 2 threads, whichever is better, localsvm with all cores and its own grid. Partitions
are a matter of luck, so every figure is a mean over random splits.

Of many classes liquidSVM cuts each pair into cells of its own, localsvm all rows together. The 1200 rows
of a pair of letters are one cell to liquidSVM, so that its machines see all there is; localsvm does
the same with --sets letter --cell-size 16000.
"""

from __future__ import annotations

from benchmarks.csv_store import Figures, fastest
from benchmarks.tables import print_table, ratio
from benchmarks.tasks.problems import FULL_COVTYPE, PEERS, Problem
from benchmarks.tasks.splits import Series, difference, mean, mean_text, splits_of
from benchmarks.tasks.store import Run, Store
from benchmarks.workers import CELL_SIZE

THREADS = (1, 2)
N_SPLITS = {"letter": 3, "covtype7": 3, "kin40k": 5, "protein": 5, "bike": 5}
LOSSES = {
    "classes": ("error",),
    "mean": ("mse",),
    "quantiles": ("pinball_0.1", "pinball_0.5", "pinball_0.9", "pinball"),
}
TIMES_HEADER = (
    *("", "rows", "splits", "train: liquidSVM", "localsvm", "ratio"),
    *("predict: liquidSVM", "localsvm", "ratio"),
)
LOSSES_HEADER = ("", "loss", "liquidSVM", "localsvm", "difference", "s.e.")


def problem_of(name: str, *, full: bool) -> tuple[Problem, int]:
    """Return the problem and its number of splits: one, if it is all rows of covtype."""
    if full and name == FULL_COVTYPE.name:
        return FULL_COVTYPE, 1
    return PEERS[name], N_SPLITS[name]


def compare(
    store: Store, problems: dict[Problem, int], programs: list[str], threads: list[int], cell_size: int
) -> None:
    """Measure the programs on so many splits of these problems, and print what there is of both."""
    times, losses = [], []
    local = {"partition": "voronoi", "cell_size": cell_size, "scaling": "minmax"}
    for problem, n_splits in problems.items():
        theirs: Series = []
        ours: Series = []
        for split in splits_of(problem, n_splits):
            theirs.append(_liquidsvm(store, split, threads) if "liquidsvm" in programs else None)
            ours.append(store.get(Run(split, "localsvm", local)) if "localsvm" in programs else None)
        times.append(_times(problem, theirs, ours))
        losses += [_loss(problem, name, theirs, ours) for name in LOSSES[problem.task]]
    cells = f"cells of {CELL_SIZE} rows" + (f" and {cell_size}" if cell_size != CELL_SIZE else "")
    print_table(f"liquidSVM and localsvm, {cells}; seconds, means over splits", TIMES_HEADER, times)
    print_table("Losses on test rows, means over splits; difference: localsvm less liquidSVM", LOSSES_HEADER, losses)


def _liquidsvm(store: Store, split: Problem, threads: list[int]) -> Figures | None:
    runs = [store.get(Run(split, "liquidsvm", {"threads": count})) for count in threads]
    known = [run for run in runs if run]
    return fastest(known) if known else None


def _times(problem: Problem, theirs: Series, ours: Series) -> list[str]:
    return [
        *(problem.name, f"{problem.n_train:,}", str(len(ours))),
        *(mean_text(theirs, "train", ".1f"), mean_text(ours, "train", ".2f")),
        ratio(mean(theirs, "train"), mean(ours, "train")),
        *(mean_text(theirs, "predict", ".2f"), mean_text(ours, "predict", ".3f")),
        ratio(mean(theirs, "predict"), mean(ours, "predict")),
    ]


def _loss(problem: Problem, name: str, theirs: Series, ours: Series) -> list[str]:
    values = [mean_text(series, name, ".5f") for series in (theirs, ours)]
    return [problem.name, name, *values, *difference(ours, theirs, name)]
