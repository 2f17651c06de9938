"""The programs that are compared; every run is a fresh process, so that its peak memory is its own."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.csv_store import Figures
from benchmarks.peers_env import lightgbm_python, liquidsvm_python
from benchmarks.scale.problems import Files
from benchmarks.scale.store import Run
from benchmarks.workers import BENCHMARKS, CELL_SIZE, LIQUIDSVM_VORONOI, LIQUIDSVM_WORKER, PLAIN_SVC, answer


def local(partition: str, scaling: str = "minmax", cell_size: int = CELL_SIZE) -> dict[str, Any]:
    """Return the parameters of LocalSVC; the metric and the kernel are liquidSVM's, everything else is its default."""
    return {"partition": partition, "cell_size": cell_size, "scaling": scaling}


def measure(run: Run, files: Files) -> Figures:
    """Train and predict in a fresh process, and return what it took."""
    return {"localsvm": _localsvm, "liquidsvm": _liquidsvm, "lightgbm": _lightgbm}[run.program](run, files)


def _localsvm(run: Run, files: Files) -> Figures:
    problem = run.problem
    if problem.streamed:
        task = {"generate": problem.name, "n_train": problem.n_train, "n_test": problem.n_test}
    else:
        task = {"file": str(files(problem))}
    return answer(
        [sys.executable, "-m", "benchmarks.scale._localsvm_worker"], task | {"parameters": PLAIN_SVC | run.settings}
    )


def _liquidsvm(run: Run, files: Files) -> Figures:
    options = {"voronoi": LIQUIDSVM_VORONOI, **run.settings}
    task = {"file": str(files(run.problem)), "minmax": True, "options": options}
    figures = answer([liquidsvm_python(), "-I", LIQUIDSVM_WORKER], task)
    return figures | {"predict": figures["test"]}


def _lightgbm(run: Run, files: Files) -> Figures:
    task = {"file": str(files(run.problem)), "parameters": run.settings}
    return answer([lightgbm_python(), "-I", BENCHMARKS / "_lightgbm_worker.py"], task)
