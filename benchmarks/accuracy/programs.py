"""The programs that are compared, and how one of them is run on a split: in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.accuracy.measures import PARTS, measured
from benchmarks.accuracy.sets import DataSet, Split
from benchmarks.csv_store import Figures, Layout
from benchmarks.peers_env import peer_python
from benchmarks.workers import BENCHMARKS, WorkerFailed, answer

WORKER = Path(__file__).with_name("_worker.py")
THREADS = 2
BATCH = 10_000  # rows of a prediction
FIRST_RELEASE = "9d6a97f"  # the revision of its sources


@dataclass(frozen=True)
class Program:
    """A function of the worker, its environment, and its parameters."""

    function: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        return self.function == "localsvm"


# A setting of localsvm is a line here: it is then run, stored and compared with all others.
OURS = {
    "localsvm": Program("localsvm", {"missing": "impute"}),
    "localsvm, fast": Program("localsvm", {"missing": "impute", "effort": "fast"}),
    "localsvm, best": Program("localsvm", {"missing": "impute", "effort": "best"}),
}
PREVIOUS = {"first release": Program("localsvm", {"missing": "impute"})}
PEERS = {
    "LightGBM": Program("lightgbm"),
    "LightGBM 500 x 255": Program("lightgbm", {"n_estimators": 500, "num_leaves": 255}),
    "XGBoost": Program("xgboost"),
    "CatBoost": Program("catboost"),
    "xRFM": Program("xrfm"),
}
PROGRAMS = OURS | PREVIOUS | PEERS
BETTER_LIGHTGBM = "LightGBM, better"
"""Of the two settings of LightGBM the better one by each measure, on the test rows, which is in its favour."""

_PARTS = [f"{name}_{part}" for name in ("auc", "log_loss", "rmse") for part in range(PARTS)]
LAYOUT = Layout(
    keys=("set", "kind", "n_train", "n_test", "split", "program"),
    figures=(
        *("auc", "log_loss", "rmse", "error", "calibration_error"),
        *("processor_seconds", "seconds", "predict_microseconds", "peak", "limit"),
        *_PARTS,
    ),
)


def run(name: str, chosen: DataSet, split: Split, limit: float) -> Figures:
    """Return the figures of a program on a split; a limit that it has reached, or nothing if it has failed."""
    program = PROGRAMS[name]
    if name in PREVIOUS and not _sources_are_those_of(FIRST_RELEASE):
        raise SystemExit(f"{name!r} is measured with the sources of {FIRST_RELEASE}, and src or native have changed.")
    with TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}" for name in ("train", "test", "predictions.npy")}
        split.train.to_parquet(files["train"])
        split.test.drop(columns="target").to_parquet(files["test"])
        task = {
            **{"train": files["train"], "test": files["test"], "predictions": files["predictions.npy"]},
            **{"program": program.function, "parameters": program.parameters},
            **{"kind": chosen.kind, "n_classes": split.n_classes},
            **{"threads": THREADS, "batch": BATCH, "limit": limit},
        }
        python = sys.executable if program.is_ours else peer_python(program.function)
        try:
            figures = answer([python, "-I", WORKER], task)
        except WorkerFailed as failure:
            return {"limit": limit} if failure.status == -signal.SIGXCPU else {}
        predicted = np.load(files["predictions.npy"])
    return figures | measured(chosen.kind, split.test["target"].to_numpy(), predicted)


@cache
def _sources_are_those_of(revision: str) -> bool:
    compare = ["git", "diff", "--quiet", revision, "--", ":/src", ":/native"]
    return subprocess.run(compare, cwd=BENCHMARKS, check=False).returncode == 0
