"""The programs that are compared; every run is a fresh process, so that its peak memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers_env import lightgbm_python, liquidsvm_python
from benchmarks.scale.problems import Files
from benchmarks.scale.store import Figures, Run

CELL_SIZE = 2000
_BENCHMARKS = Path(__file__).resolve().parent.parent


def local(partition: str, scaling: str = "minmax", cell_size: int = CELL_SIZE) -> dict[str, Any]:
    """Return the parameters of LocalSVC; everything else is its default."""
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
    return _answer([sys.executable, "-m", "benchmarks.scale._localsvm_worker"], task | {"parameters": run.settings})


def _liquidsvm(run: Run, files: Files) -> Figures:
    # The paper's partition: a tree of farthest-first traversals on samples of 50 000 rows.
    voronoi = [6, CELL_SIZE, 1, 50_000, 2.0, 20, 4]
    task = {"file": str(files(run.problem)), "minmax": True, "options": {"voronoi": voronoi, **run.settings}}
    figures = _answer([liquidsvm_python(), "-I", _BENCHMARKS / "_liquidsvm_worker.py"], task)
    return figures | {"predict": figures["test"]}


def _lightgbm(run: Run, files: Files) -> Figures:
    task = {"file": str(files(run.problem)), "parameters": run.settings}
    return _answer([lightgbm_python(), "-I", _BENCHMARKS / "_lightgbm_worker.py"], task)


def _answer(worker: list[str | Path], task: dict[str, Any]) -> Figures:
    done = subprocess.run(
        worker,
        input=json.dumps(task) + "\n",
        stdout=subprocess.PIPE,
        text=True,
        cwd=_BENCHMARKS.parent,
        check=False,
    )
    if done.returncode or not done.stdout.strip():
        raise SystemExit(f"{worker[-1]} ended with status {done.returncode} and no answer; its messages are above.")
    return dict(json.loads(done.stdout.splitlines()[-1]))
