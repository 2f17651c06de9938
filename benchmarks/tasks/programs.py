"""The programs that are compared: each run is a fresh process that saves its predictions, judged here."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.csv_store import Figures
from benchmarks.peers_env import liquidsvm_python
from benchmarks.tasks.losses import QUANTILES, TASKS
from benchmarks.tasks.problems import rows
from benchmarks.tasks.store import Run
from benchmarks.workers import LIQUIDSVM_VORONOI, LIQUIDSVM_WORKER, PLAIN, answer

# liquidSVM's names of the tasks: pairs of classes, least squares, quantiles.
_SCENARIOS = {"classes": "MC AvA_hinge", "mean": "LS", "quantiles": "QT"}


def measure(run: Run) -> Figures:
    """Train and predict in a fresh process; return what it took, and what the predictions are worth."""
    data = rows(run.problem)
    with TemporaryDirectory() as folder:
        file, predictions = Path(folder) / "rows.npz", Path(folder) / "predictions.npy"
        np.savez(file, **data)
        program = run_liquidsvm if run.program == "liquidsvm" else _scikit_learn
        figures = program(run, {"file": str(file), "predictions": str(predictions)})
        return figures | TASKS[run.problem.task](data["y_test"], np.load(predictions))


def _scikit_learn(run: Run, files: dict[str, Any]) -> Figures:
    """Run an estimator with scikit-learn's interface, localsvm's or another."""
    levels = {"quantile": QUANTILES} if run.problem.task == "quantiles" else {}
    plain = PLAIN if run.problem.task in _SCENARIOS else {}  # what liquidSVM does, too, is compared with it
    return run_estimator(run.problem.task, run.program, levels | plain | run.settings, files)


def run_estimator(task: str, program: str, parameters: dict[str, Any], files: dict[str, Any]) -> Figures:
    """Fit and predict in a fresh process of this interpreter; predictions are saved."""
    chosen = {"task": task, "program": program, "parameters": parameters}
    return answer([sys.executable, "-m", "benchmarks.tasks._estimator_worker"], files | chosen)


def run_liquidsvm(run: Run, files: dict[str, Any]) -> Figures:
    """Train and test in liquidSVM's environment; predictions are saved."""
    levels = {"weights": QUANTILES} if run.problem.task == "quantiles" else {}
    options = {"voronoi": LIQUIDSVM_VORONOI} | levels | run.settings
    chosen = {"minmax": True, "scenario": _SCENARIOS[run.problem.task], "options": options}
    figures = answer([liquidsvm_python(), "-I", LIQUIDSVM_WORKER], files | chosen)
    return figures | {"predict": figures["test"]}
