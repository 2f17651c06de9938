"""Part `lightgbm`: gradient boosting, which many would use instead, on the same rows with all cores."""

from __future__ import annotations

from typing import Any

from benchmarks.csv_store import Figures, training
from benchmarks.scale.problems import PAPER, Problem
from benchmarks.scale.programs import local
from benchmarks.scale.store import Run, Store
from benchmarks.tables import number, print_table

SETS = ("covtype", "cod-rna")
FORESTS = ({"n_estimators": 100, "num_leaves": 31}, {"n_estimators": 500, "num_leaves": 255})
HEADER = ("", "", "train, s", "predict, s", "error", "unseen", "GB")


def compare(store: Store, partition: str) -> None:
    rows = []
    for problem in (PAPER[name] for name in SETS):
        for trees in FORESTS:
            label = f"LightGBM, {trees['n_estimators']} x {trees['num_leaves']}"
            rows.append(_row(store, problem, label, "lightgbm", trees))
        rows.append(_row(store, problem, "localsvm", "localsvm", _defaults(partition)))
    print_table("LightGBM (trees x leaves) and localsvm with its defaults; all cores", HEADER, rows)


def _defaults(partition: str) -> dict[str, Any]:
    return local(partition, scaling="auto") | {"relevance": "auto", "kernel": "auto"}


def _row(store: Store, problem: Problem, label: str, program: str, settings: dict[str, Any]) -> list[str]:
    run: Figures = store.best(Run(problem, program, settings)) or {}
    return [
        *(problem.name, label),
        number(training(run) if run else None, ".2f"),
        number(run.get("predict"), ".3f"),
        number(run.get("error"), ".5f"),
        number(run.get("error_unseen"), ".5f"),
        number(run["peak"] / 1e9 if run else None, ".2f"),
    ]
