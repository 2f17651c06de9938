"""Errors of localsvm, with and without a learned metric, and of LightGBM, xRFM and liquidSVM on numeric data sets.

    python -m benchmarks.learned_metric                                  everything; hours, most of them xRFM's
    python -m benchmarks.learned_metric --sets covtype --programs localsvm lightgbm
    python -m benchmarks.learned_metric --rows 2000 --splits 1 --results /tmp/try.csv
    python -m benchmarks.learned_metric --show                           tables of what has been measured

All programs have the same training and test rows. Of LightGBM the better of two sizes counts, chosen by the test rows,
which is in its favour. Sets are read from $LOCALSVM_DATA, those of KEEL from the registry. Every run is a process of
its own and a line of benchmarks/results/learned_metric.csv.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.command_line import add_run_options, command_parser
from benchmarks.csv_store import RESULTS, CsvStore, Figures, Layout, machine, revision, training
from benchmarks.peers.programs import coded, peer
from benchmarks.tables import number, print_table
from benchmarks.tasks import programs
from benchmarks.tasks.problems import Problem, rows
from benchmarks.tasks.splits import splits_of
from benchmarks.tasks.store import Run
from benchmarks.workers import PLAIN, WorkerFailed

FILE = RESULTS / "learned_metric.csv"
LAYOUT = Layout(
    keys=("set", "task", "n_train", "n_test", "split", "program", "settings"),
    figures=("train", "select", "predict", "loss", "loss_error", "limit"),
)
FORESTS = ({"n_estimators": 100, "num_leaves": 31}, {"n_estimators": 500, "num_leaves": 255})
# Label of a program, and what it is run with; of several settings the best counts.
PROGRAMS: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "localsvm": ("localsvm", ({},)),
    "plain": ("localsvm", (PLAIN,)),
    "lightgbm": ("LightGBM of a size", FORESTS),
    "liquidsvm": ("liquidsvm", ({"threads": 1},)),
    "xrfm": ("xRFM", ({},)),
}

ONE_SPLIT = ("liquidsvm", "xrfm")  # they take minutes

# As the paper splits its three sets, four fifths of the others.
SPLITS = {
    Problem("covtype", "classes", 464_429, 116_583): 1,
    Problem("cod-rna", "classes", 231_805, 99_347): 1,
    Problem("skin", "classes", 196_045, 49_012): 1,
    Problem("higgs_26k", "classes", 20_776, 5_194): 3,
    Problem("susy_10k", "classes", 8_000, 2_000): 5,
    Problem("ijcnn1", "classes", 39_992, 9_998): 3,
    Problem("gas_drift_partial", "classes", 5_357, 1_340): 5,
    Problem("protein", "mean", 36_584, 9_146): 3,
    Problem("kin40k", "mean", 32_000, 8_000): 3,
    Problem("bike", "mean", 13_903, 3_476): 3,
    Problem("letter-recognition", "classes", 16_000, 4_000): 3,
    Problem("magic", "classes", 15_216, 3_804): 5,
    Problem("phoneme", "classes", 4_323, 1_081): 5,
    Problem("satimage", "classes", 5_148, 1_287): 5,
    Problem("spambase", "classes", 3_677, 920): 5,
}
SETS = {problem.name: problem for problem in SPLITS}
Store = CsvStore[Run]
# Loss, its standard error over the test rows, and seconds of training, by split; None where nothing is measured.
Measured = list[tuple[float, float, float] | None]


def measure(run: Run, limit: float) -> Figures:
    """Train and predict in a fresh process; return the seconds, the loss, and its standard error over test rows.

    A peer that fails, for lack of memory perhaps, has no figures: its messages are on the terminal. One that takes
    longer than the limit is given up, and has that.
    """
    data = coded(rows(run.problem), run.problem.task)
    with TemporaryDirectory() as folder:
        file, predictions = Path(folder) / "rows.npz", Path(folder) / "predictions.npy"
        np.savez(file, **data)
        try:
            figures = _run(run, {"file": str(file), "predictions": str(predictions)}, limit)
        except WorkerFailed:
            return {}
        except TimeoutError:
            return {"limit": limit}
        predicted = np.load(predictions)[:, 0]
    y = data["y_test"]
    losses = (predicted != y).astype(float) if run.problem.task == "classes" else np.square(predicted - y)
    return figures | {"loss": float(losses.mean()), "loss_error": float(losses.std() / np.sqrt(len(y)))}


def _run(run: Run, files: dict[str, Any], limit: float) -> Figures:
    if run.program == "liquidsvm":
        return programs.liquidsvm(run, files, limit)
    if run.program == "localsvm":
        return programs.scikit_learn(run, files, limit)
    return peer("xrfm" if run.program == "xRFM" else "lightgbm", run, files, limit)


def _measured(store: Store, problem: Problem, label: str, n_splits: int) -> Measured:
    """Return what a program did on each split, with the settings that lose least."""
    program, settings = PROGRAMS[label]
    if label in ONE_SPLIT:
        n_splits = 1
    found: Measured = []
    for split in splits_of(problem, n_splits):
        runs = [run for run in (store.get(Run(split, program, chosen)) for chosen in settings) if run and "loss" in run]
        best = min(runs, key=lambda run: run["loss"], default=None)
        found.append(None if best is None else (best["loss"], best["loss_error"], training(best)))
    return found


def _seconds(store: Store, problem: Problem, label: str, measured: Measured) -> str:
    """Return the mean seconds of training, or the limit at which the program was given up."""
    program, settings = PROGRAMS[label]
    known = [store.known(Run(problem, program, chosen)) for chosen in settings]
    limits = [figures["limit"] for figures in known if figures and "limit" in figures]
    return f"> {limits[0]:.0f}" if limits else number(_mean(measured, 2), ".1f")


def _mean(measured: Measured, place: int) -> float | None:
    values = [run[place] for run in measured if run]
    return float(np.mean(values)) if values else None


def _difference(ours: Measured, theirs: Measured) -> tuple[float, float] | None:
    """Return ours less theirs, and its standard error: over splits, or with one of them over test rows."""
    pairs = [(our, their) for our, their in zip(ours, theirs, strict=False) if our and their]
    if not pairs:
        return None
    differences = [our[0] - their[0] for our, their in pairs]
    if len(pairs) > 1:
        return float(np.mean(differences)), float(np.std(differences, ddof=1) / np.sqrt(len(pairs)))
    (our, their), *_ = pairs
    return differences[0], float(np.hypot(our[1], their[1]))


def _judged(difference: tuple[float, float] | None) -> str:
    """Return a difference; a star says that ours is below or within two standard errors."""
    if difference is None:
        return "-"
    mean, error = difference
    return f"{mean:+.5f} ± {error:.5f}{'*' if mean <= 2 * error else ''}"


def compare(store: Store, problems: dict[Problem, int], labels: list[str]) -> None:
    """Measure what is missing, and print losses, differences and seconds."""
    losses, differences, seconds = [], [], []
    for problem, n_splits in problems.items():
        by_label = {label: _measured(store, problem, label, n_splits) for label in labels}
        ours = by_label.get("localsvm", [])
        size = (problem.name, str(problem.n_train), str(n_splits))
        losses.append([*size, *(number(_mean(by_label[label], 0), ".5f") for label in labels)])
        others = [_judged(_difference(ours, by_label[label])) for label in labels if label != "localsvm"]
        differences.append([problem.name, *others])
        seconds.append([*size, *(_seconds(store, problem, label, by_label[label]) for label in labels)])
    header = ("", "rows", "splits", *labels)
    print_table("Error, or mean squared error in units of the targets' variance", header, losses)
    others = [label for label in labels if label != "localsvm"]
    print_table("localsvm less the others; *: below, or within two standard errors", ("", *others), differences)
    print_table("Seconds of training, all cores (liquidSVM: one thread)", header, seconds)


def _arguments() -> argparse.Namespace:
    parser = command_parser("learned_metric", __doc__)
    add = parser.add_argument
    add("--sets", nargs="+", choices=tuple(SETS), default=list(SETS), help="all by default")
    add("--programs", nargs="+", choices=tuple(PROGRAMS), default=list(PROGRAMS), help="all by default")
    add("--splits", type=int, help="random splits of each set (1, 3 or 5)")
    add("--rows", type=int, metavar="N", help="train on at most N rows, to try it out")
    add("--limit", type=float, default=600.0, metavar="SECONDS", help="of a run (600); longer ones are given up")
    add_run_options(parser, FILE)
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    print(f"{machine()}; revision {revision()}")
    measured = None if given.show else partial(measure, limit=given.limit)
    store = Store(LAYOUT, given.results, measured, again=given.again, limit=given.limit)
    problems = {SETS[name].at_most(given.rows): given.splits or SPLITS[SETS[name]] for name in given.sets}
    compare(store, problems, given.programs)


if __name__ == "__main__":
    main()
