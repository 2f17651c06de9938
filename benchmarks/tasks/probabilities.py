"""Part `probabilities`: LocalSVC against scikit-learn's SVC, calibrated by a sigmoid on 5 folds.

LocalSVC has its defaults; the SVC is tuned on 2000 of the training rows: scaling, C and gamma.
"""

from __future__ import annotations

from benchmarks.tables import print_table
from benchmarks.tasks.losses import BINS
from benchmarks.tasks.problems import Problem
from benchmarks.tasks.splits import Series, difference, mean_text, splits_of
from benchmarks.tasks.store import Run, Store

N_SPLITS = 5
HEADER = ("", "rows", "splits", "loss", "calibrated SVC", "LocalSVC", "difference", "s.e.", "train: SVC", "LocalSVC")


def compare(store: Store, problems: dict[Problem, int]) -> None:
    """Measure both on so many splits of these problems, and print their losses side by side."""
    rows = []
    for problem, n_splits in problems.items():
        theirs: Series = []
        ours: Series = []
        for split in splits_of(problem, n_splits):
            theirs.append(store.get(Run(split, "calibrated SVC")))
            ours.append(store.get(Run(split, "localsvm")))
        rows += [_row(problem, name, theirs, ours) for name in ("log_loss", "calibration_error")]
    print_table(f"Probabilities; expected calibration error of {BINS} bins; seconds of training", HEADER, rows)


def _row(problem: Problem, name: str, theirs: Series, ours: Series) -> list[str]:
    return [
        *(problem.name, f"{problem.n_train:,}", str(len(ours)), name),
        *(mean_text(series, name, ".5f") for series in (theirs, ours)),
        *difference(ours, theirs, name),
        *(mean_text(theirs, "train", ".1f"), mean_text(ours, "train", ".2f")),
    ]
