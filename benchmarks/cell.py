"""One cell, localsvm against liquidSVM: seconds by phase, steps, errors, prediction, memory.

Both train on the same 2000 min-max scaled rows with 5 folds and liquidSVM's own 10 x 10 grid, stop
at a gap of 1e-3, use one thread, and predict the same rows. They take turns; every figure in
seconds is the best of some repeats, and all figures are averages over several cells. Memory is read
from /proc, as Linux has it.

    LOCALSVM_DATA=folder python -m benchmarks.cell [--cells 5] [--repeat 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers_env import liquidsvm_python
from benchmarks.sets import Sample, cells
from benchmarks.workers import PLAIN_SVC
from localsvm import Grid, LocalSVC, simd_level
from localsvm.data import toy_mixture
from localsvm.errors import GridEdgeWarning

SETS = ("toy", "higgs_26k", "covtype")
N_TEST = 20_000
N_MEMORY = 4000
PHASES = ("partition", "kernel", "solver", "validation", "selection", "total")
Figures = dict[str, Any]
Peer = Callable[[Sample], Figures]

# The grid is liquidSVM's, too short for some of these sets.
warnings.simplefilter("ignore", GridEdgeWarning)


class LiquidSVM:
    """liquidSVM in a process of its own environment."""

    def __enter__(self) -> Peer:
        worker = Path(__file__).with_name("_liquidsvm_worker.py")
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [liquidsvm_python(), "-I", worker],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self._run

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        self._folder.cleanup()

    def _run(self, sample: Sample) -> Figures:
        file = Path(self._folder.name) / "cell.npz"
        np.savez(file, **vars(sample))
        print(json.dumps({"file": str(file), "options": {"threads": 1}}), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("liquidSVM ended without an answer; its messages are above.")
        return dict(json.loads(answer))


def run_localsvm(sample: Sample, grid: Grid) -> Figures:
    begin = time.perf_counter()
    clf = LocalSVC(partition="none", grid=grid, scaling=None, n_jobs=1, **PLAIN_SVC).fit(sample.X, sample.y)
    fitted = time.perf_counter()
    error = float((clf.predict(sample.X_test) != sample.y_test).mean())
    predicted = time.perf_counter()
    return {
        **{phase: clf.timings_[phase] for phase in PHASES},
        "fit": fitted - begin,
        "predict": predicted - fitted,
        "steps": float(clf.model_.cells[0].certificates.steps.sum()),
        "error": error,
    }


def compare_cell(liquidsvm: Peer, sample: Sample, repeat: int) -> dict[str, Figures]:
    """Let both sides take turns on one cell; keep the fastest of each."""
    theirs, ours = [], []
    for _ in range(repeat):
        theirs.append(liquidsvm(sample))
        grid = Grid(widths=tuple(theirs[0]["widths"]), lams=tuple(theirs[0]["lams"]))
        ours.append(run_localsvm(sample, grid))
    return {
        "localsvm": min(ours, key=lambda run: run["fit"]) | {"predict": min(run["predict"] for run in ours)},
        "liquidsvm": min(theirs, key=lambda run: run["train"] + run["select"])
        | {"test": min(run["test"] for run in theirs)},
    }


def average(runs: list[dict[str, Figures]]) -> Figures:
    """Average the cells of a set; errors with the standard error of their paired difference."""
    ours, theirs = [run["localsvm"] for run in runs], [run["liquidsvm"] for run in runs]
    mean = {f"localsvm {key}": np.mean([run[key] for run in ours]) for key in ours[0]}
    mean |= {
        f"liquidsvm {key}": np.mean([run[key] for run in theirs])
        for key in ("train", "select", "test", "steps", "error")
    }
    difference = [a["error"] - b["error"] for a, b in zip(ours, theirs, strict=True)]
    mean |= {
        "localsvm error s.e.": _standard_error([run["error"] for run in ours]),
        "liquidsvm error s.e.": _standard_error([run["error"] for run in theirs]),
        "difference of errors": np.mean(difference),
        "difference s.e.": _standard_error(difference),
        "train ratio": (mean["liquidsvm train"] + mean["liquidsvm select"]) / mean["localsvm fit"],
        "predict ratio": mean["liquidsvm test"] / mean["localsvm predict"],
    }
    return {key: float(value) for key, value in mean.items()}


def _standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def peak_floats_per_pair(n: int) -> float:
    """Return by how many floats per n^2 training on n rows raises this process's peak memory."""
    X, y = toy_mixture(n, 4, random_state=0)
    LocalSVC(partition="none", n_jobs=1, **PLAIN_SVC).fit(X[:300], y[:300])
    before = _peak_bytes()
    LocalSVC(partition="none", n_jobs=1, **PLAIN_SVC).fit(X, y)
    return (_peak_bytes() - before) / (4 * n**2)


def _peak_bytes() -> int:
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def show(name: str, mean: Figures, n_cells: int) -> None:
    """Print the table of one set."""
    print(f"\n{name}: mean of {n_cells} cells of 2000 rows, {N_TEST} test rows")
    print(f"{'':24}{'localsvm':>12}{'liquidSVM':>12}")
    for phase in PHASES[:-1]:
        print(f"  {phase:22}{mean['localsvm ' + phase]:12.4f}")
    for stage in ("train", "select"):
        print(f"  {stage:22}{'':12}{mean['liquidsvm ' + stage]:12.4f}")
    trained = mean["liquidsvm train"] + mean["liquidsvm select"]
    _row("training, seconds", mean["localsvm fit"], trained, ".4f", f"{mean['train ratio']:.1f}x")
    microseconds = [1e6 * mean[key] / N_TEST for key in ("localsvm predict", "liquidsvm test")]
    _row("prediction, us/point", *microseconds, ".2f", f"{mean['predict ratio']:.1f}x")
    _row("steps, millions", mean["localsvm steps"] / 1e6, mean["liquidsvm steps"] / 1e6, ".2f")
    difference = f"{mean['difference of errors']:+.4f} +- {mean['difference s.e.']:.4f}"
    _row("test error", mean["localsvm error"], mean["liquidsvm error"], ".4f", difference)
    _row("  standard error", mean["localsvm error s.e."], mean["liquidsvm error s.e."], ".4f")


def _row(label: str, ours: float, theirs: float, form: str, note: str = "") -> None:
    print(f"{label:24}{ours:12{form}}{theirs:12{form}}   {note}".rstrip(), flush=True)


def main() -> None:
    summary = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cell", description=summary)
    parser.add_argument("--cells", type=int, default=5, help="cells per set (5)")
    parser.add_argument("--repeat", type=int, default=3, help="runs, the fastest counts (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    print(f"localsvm ({simd_level()}), liquidSVM: one thread each, best of {arguments.repeat}")
    results: dict[str, Any] = {"simd": simd_level(), "sets": {}}
    with LiquidSVM() as liquidsvm:
        for name in SETS:
            runs = [
                compare_cell(liquidsvm, sample, arguments.repeat)
                for sample in cells(name, range(arguments.cells), N_TEST)
            ]
            results["sets"][name] = {"mean": average(runs), "cells": runs}
            show(name, results["sets"][name]["mean"], arguments.cells)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        results["memory"] = fresh.submit(peak_floats_per_pair, N_MEMORY).result()
    print(f"\nPeak memory of a cell, n = {N_MEMORY}: {results['memory']:.2f} n^2 floats (limit 2.5)")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
