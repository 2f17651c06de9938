"""The runs of this benchmark, kept in benchmarks/results/scale.csv."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.csv_store import RESULTS, CsvStore, Figures, Key, Layout, described, fastest, training
from benchmarks.scale.problems import Problem

FILE = RESULTS / "scale.csv"
LAYOUT = Layout(
    keys=("set", "n_train", "n_test", "program", "settings", "repeat"),
    figures=(
        *("train", "select", "cpu", "predict", "error", "error_unseen", "peak", "cells", "largest_cell"),
        *("support_vectors", "steps", "partition", "kernel", "solver", "validation", "selection", "generate"),
    ),
)
SHORT = 60.0
REPEATS = 3


@dataclass(frozen=True)
class Run:
    """What is measured: a program with its settings on a problem, for the first time or again."""

    problem: Problem
    program: str
    settings: dict[str, Any] = field(hash=False)
    repeat: int = 1

    def __str__(self) -> str:
        program = f"{self.program} ({described(self.settings)})"
        return f"{self.problem.name} {self.problem.n_train} x {program}, repeat {self.repeat}"

    @property
    def key(self) -> Key:
        sizes = str(self.problem.n_train), str(self.problem.n_test)
        return (self.problem.name, *sizes, self.program, described(self.settings), str(self.repeat))


class Store(CsvStore[Run]):
    """What has been measured, by set, program and settings."""

    def best(self, run: Run) -> Figures | None:
        """Return the fastest training and the fastest prediction of 3 repeats, of 1 if it takes a minute."""
        first = self.get(run)
        if first is None:
            return None
        repeats = range(2, REPEATS + 1 if training(first) < SHORT else 2)
        return fastest([first, *filter(None, (self.get(replace(run, repeat=repeat)) for repeat in repeats))])
