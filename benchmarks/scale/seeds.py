"""Part `seeds`: errors of liquidSVM and localsvm over random seeds, same rows, cells of 2000.

A seed decides on centres and folds. One run of each says little where the errors differ by less than what another
seed changes; the mean over some of them, with its standard error, says more.
"""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

from benchmarks.csv_store import Figures
from benchmarks.scale.problems import ALL, Problem
from benchmarks.scale.programs import local
from benchmarks.scale.store import Run, Store
from benchmarks.tables import print_table

SETS = ("skin", "cod-rna", "toy4", "higgslike", "covlike")  # covtype would take most of an hour
SEEDS = range(1, 6)
THREADS = 2  # of liquidSVM
HEADER = ("", "seeds", "error: liquidSVM", "localsvm", "difference", "unseen: liquidSVM", "localsvm", "difference")


def compare(store: Store, sets: list[str], partition: str) -> None:
    """Measure both programs with every seed on these sets, and print means and their standard errors."""
    rows = []
    for problem in (ALL[name] for name in sets if name in SETS):
        theirs = _runs(store, problem, "liquidsvm", [{"threads": THREADS, "random_seed": seed} for seed in SEEDS])
        ours = _runs(store, problem, "localsvm", [local(partition) | {"random_state": seed} for seed in SEEDS])
        if min(len(theirs), len(ours)) > 1:
            rows.append([problem.name, f"{len(theirs)}, {len(ours)}", *_errors(theirs, ours)])
    print_table("Errors over random seeds, mean and standard error; cells of 2000 rows", HEADER, rows)


def _runs(store: Store, problem: Problem, program: str, settings: list[dict[str, Any]]) -> list[Figures]:
    return [run for run in (store.get(Run(problem, program, given)) for given in settings) if run is not None]


def _errors(theirs: list[Figures], ours: list[Figures]) -> list[str]:
    texts = []
    for name in ("error", "error_unseen"):
        texts += _compared(_mean(theirs, name), _mean(ours, name))
    return texts


def _mean(runs: list[Figures], name: str) -> tuple[float, float]:
    values = [run[name] for run in runs]
    return fmean(values), stdev(values) / len(values) ** 0.5


def _compared(theirs: tuple[float, float], ours: tuple[float, float]) -> list[str]:
    difference, its_error = ours[0] - theirs[0], (ours[1] ** 2 + theirs[1] ** 2) ** 0.5
    return [f"{mean:.5f} ± {error:.5f}" for mean, error in (theirs, ours)] + [f"{difference:+.5f} ± {its_error:.5f}"]
