"""The programs that are compared, each in a process of its own environment, within a limit of time.

A run that takes longer, or fails, is a line as well: one that says so.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.csv_store import Figures, training
from benchmarks.peers_env import peer_python
from benchmarks.tasks.losses import QUANTILES, TASKS
from benchmarks.tasks.problems import Arrays, rows
from benchmarks.tasks.programs import liquidsvm, scikit_learn
from benchmarks.tasks.store import Run
from benchmarks.workers import WorkerFailed, answer

WORKER = Path(__file__).with_name("_worker.py")
# By the environment they live in, and the tasks they can be given.
ENVIRONMENTS = {
    "SVC": ("scikit-learn", ("classes", "mean")),
    "SVC on 10 000 rows": ("scikit-learn", ("classes", "mean")),
    "SVC, intelex": ("intelex", ("classes", "mean")),
    "ThunderSVM": ("thundersvm", ("classes", "mean")),
    "Nystroem + linear": ("scikit-learn", ("classes", "mean")),
    "xRFM": ("xrfm", ("classes", "mean")),
    "LightGBM": ("lightgbm", ("classes", "mean", "quantiles")),
    "XGBoost": ("xgboost", ("classes", "mean", "quantiles")),
    "HistGradientBoosting": ("scikit-learn", ("classes", "mean", "quantiles")),
}
PROGRAMS = ("localsvm", "liquidSVM", *ENVIRONMENTS)


def can(program: str, task: str) -> bool:
    """Return whether a program can be given a task."""
    return program not in ENVIRONMENTS or task in ENVIRONMENTS[program][1]


def measure(run: Run, seconds: float) -> Figures:
    """Train and predict in a fresh process; return what it took and what the predictions are worth."""
    data = coded(rows(run.problem), run.problem.task)
    with TemporaryDirectory() as folder:
        file, predictions = Path(folder) / "rows.npz", Path(folder) / "predictions.npy"
        np.savez(file, **data)
        try:
            figures = _program(run.program)(run, {"file": str(file), "predictions": str(predictions)}, seconds)
        except TimeoutError:
            return {"limit": seconds}
        except (WorkerFailed, CalledProcessError):  # or it could not be installed: its messages are on the terminal
            return {"failed": 1.0}
        judged = TASKS[run.problem.task](data["y_test"], np.load(predictions))
    figures["train"] = training(figures)
    return {name: figures[name] for name in ("train", "predict", "peak")} | {"loss": _loss(judged)}


def coded(data: Arrays, task: str) -> Arrays:
    """Return classes as 0, 1, ..., which some programs insist on."""
    if task != "classes":
        return data
    classes = np.unique(np.concatenate([data["y"], data["y_test"]]))
    return data | {name: np.searchsorted(classes, data[name]) for name in ("y", "y_test")}


def _program(name: str) -> Any:
    if name == "localsvm":
        return scikit_learn
    return liquidsvm if name == "liquidSVM" else partial(peer, ENVIRONMENTS[name][0])


def peer(environment: str, run: Run, files: dict[str, Any], seconds: float | None = None) -> Figures:
    """Train and predict in the environment of a peer."""
    task = {"task": run.problem.task, "program": run.program, "levels": QUANTILES, "parameters": run.settings}
    return answer([peer_python(environment), "-I", WORKER], files | task, seconds)


def _loss(judged: Figures) -> float:
    return next(judged[name] for name in ("error", "mse", "pinball") if name in judged)
