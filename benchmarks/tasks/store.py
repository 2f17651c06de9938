"""The runs of this benchmark, kept in benchmarks/results/tasks.csv."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.csv_store import RESULTS, CsvStore, Key, Layout, described
from benchmarks.tasks.problems import Problem

FILE = RESULTS / "tasks.csv"
LAYOUT = Layout(
    keys=("set", "task", "n_train", "n_test", "split", "program", "settings"),
    figures=(
        *("train", "select", "predict", "peak", "cells", "error", "mse"),
        *("pinball_0.1", "pinball_0.5", "pinball_0.9", "pinball"),
        *("log_loss", "calibration_error", "tpr", "tnr", "tpr_tnr"),
    ),
)


@dataclass(frozen=True)
class Run:
    """What is measured: a program with its settings on a split of a problem."""

    problem: Problem
    program: str
    settings: dict[str, Any] = field(hash=False, default_factory=dict)

    def __str__(self) -> str:
        return f"{self.problem} x {self.program} ({described(self.settings)})"

    @property
    def key(self) -> Key:
        problem = self.problem
        sizes = (str(problem.n_train), str(problem.n_test), str(problem.split))
        return (problem.name, problem.task, *sizes, self.program, described(self.settings))


Store = CsvStore[Run]
