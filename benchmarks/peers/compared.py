"""Runs, put together: what each program reached on each set, as means over splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.csv_store import CsvStore, Figures
from benchmarks.peers.programs import can
from benchmarks.tasks.problems import Problem
from benchmarks.tasks.splits import splits_of
from benchmarks.tasks.store import Run

FIGURES = ("loss", "train", "predict", "peak")
NOT_RUN = "-"


@dataclass(frozen=True)
class Result:
    """What a program reached on a set: figures, or why there are none."""

    figures: Figures | None
    why: str = ""
    """What tables show where there are no figures: "> 300 s", "failed", `NOT_RUN`, nothing for no such task."""


@dataclass(frozen=True)
class Compared:
    """All programs on one set."""

    problem: Problem
    results: dict[str, Result]

    @property
    def is_measured(self) -> bool:
        """Whether any program was run."""
        return any(result.figures is not None or result.why not in ("", NOT_RUN) for result in self.results.values())

    @property
    def finished(self) -> dict[str, Figures]:
        """The figures of the programs that have some."""
        return {name: result.figures for name, result in self.results.items() if result.figures is not None}


def compare(
    store: CsvStore[Run], problems: dict[str, Problem], programs: list[str], n_splits: int
) -> dict[str, Compared]:
    """Measure the programs on so many splits of each set."""
    return {
        name: Compared(problem, {program: _result(store, problem, program, n_splits) for program in programs})
        for name, problem in problems.items()
    }


def _result(store: CsvStore[Run], problem: Problem, program: str, n_splits: int) -> Result:
    if not can(program, problem.task):
        return Result(None)
    runs = []
    for split in splits_of(problem, n_splits):
        figures = store.get(Run(split, program))
        if figures is None:
            return Result(None, NOT_RUN)
        if "loss" not in figures:  # another split would not end otherwise
            return Result(None, f"> {figures['limit']:.0f} s" if "limit" in figures else "failed")
        runs.append(figures)
    return Result({name: float(np.mean([run[name] for run in runs])) for name in FIGURES})


def frontier(found: dict[str, Figures]) -> list[str]:
    """Return the programs that no other one beats in both training time and loss, the fastest first.

    >>> frontier({"a": {"train": 1, "loss": 3}, "b": {"train": 2, "loss": 4}, "c": {"train": 3, "loss": 2}})
    ['a', 'c']
    """
    best: list[str] = []
    for name in sorted(found, key=lambda name: (found[name]["train"], found[name]["loss"])):
        if not best or found[name]["loss"] < found[best[-1]]["loss"]:
            best.append(name)
    return best
