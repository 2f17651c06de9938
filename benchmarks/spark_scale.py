"""Spark: what it adds to a fit, what a second worker gains, and a set like ECBDL'14.

    python -m benchmarks.spark_scale overhead                  1 million x 28 on 1 and 2 workers, and on one machine
    python -m benchmarks.spark_scale ecbdl                     200 000 x 631, by cell size
    python -m benchmarks.spark_scale all --show                tables of what has been measured
    python -m benchmarks.spark_scale all --rows 20000 --results try.csv

Each run has a standalone cluster of its own on this machine, with workers of one core each. Rows are generated, and
read from parquet files. Every run is a line of benchmarks/results/spark.csv; what is there is not measured again
without --again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.spark_cluster import Cluster

from benchmarks.command_line import add_run_options, command_parser
from benchmarks.csv_store import RESULTS, CsvStore, Figures, Key, Layout, described, machine, revision
from benchmarks.ecbdl import ecbdllike
from benchmarks.generated import higgslike
from benchmarks.tables import at_most, number, print_table
from benchmarks.workers import answer

FILE = RESULTS / "spark.csv"
LAYOUT = Layout(
    keys=("set", "n_train", "n_test", "program", "cores", "settings"),
    figures=(*("start", "train", "predict", "error", "tpr", "tnr", "cells", "shuffle", "predict_shuffle"),),
)
# The application's page tells the shuffled bytes; processes that live long may compile more.
SETTINGS = {"spark.ui.enabled": "true", "spark.ui.port": 0, "spark.executor.extraJavaOptions": ""}
GENERATORS = {"higgslike": higgslike, "ecbdllike": ecbdllike}
N_FILES = 16
MILLION, N_ECBDL = 1_000_000, 200_000
OVERHEAD_GOAL = 1.5
ECBDL_CELLS = ((2000, 10), (5000, 10), (10_000, 10), (2000, 20))  # rows, and candidates for width and lambda
# The paper's Sec. 5.1: 32 million rows, a 20x20 grid; cell size, score, TPR, TNR, hours, workers.
PAPER = ((10_000, 0.422, 0.656, 0.643, 4.8, 7), (100_000, 0.456, 0.667, 0.680, 32.2, 11))
Store = CsvStore["Run"]


@dataclass(frozen=True)
class Run:
    """What is measured: a fit and predictions, on Spark with a number of workers, or on one machine with threads."""

    set: str
    n_train: int
    program: str
    cores: int
    settings: dict[str, Any] = field(hash=False)

    @property
    def n_test(self) -> int:
        return min(self.n_train, 100_000)

    @property
    def key(self) -> Key:
        sizes = str(self.n_train), str(self.n_test)
        return (self.set, *sizes, self.program, str(self.cores), described(self.settings))

    def __str__(self) -> str:
        return f"{self.set} {self.n_train} x {self.program}, {self.cores} cores ({described(self.settings)})"


class Files:
    """Generated rows as parquet files in a folder that is removed in the end."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="localsvm-spark-"))

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def __call__(self, name: str, n: int, seed: int) -> Path:
        folder = self.folder / f"{name}-{n}-{seed}"
        if not folder.exists():
            folder.mkdir()
            X, y = GENERATORS[name](n, seed)
            for part, rows in enumerate(np.array_split(np.arange(n), N_FILES)):
                features = pa.FixedSizeListArray.from_arrays(pa.array(X[rows].ravel()), X.shape[1])
                table = pa.table({"features": features.cast(pa.list_(pa.float32())), "label": y[rows].astype(float)})
                pq.write_table(table, folder / f"part-{part:02d}.parquet")
        return folder


def measure(run: Run, files: Files, gigabytes: int) -> Figures:
    """Fit and predict in a fresh process, on a fresh cluster."""
    rows = {"train": str(files(run.set, run.n_train, 0)), "test": str(files(run.set, run.n_test, 1))}
    task = rows | {"parameters": run.settings, "cores": run.cores}
    if run.program == "one machine":
        return answer(_WORKER, task)
    with (
        tempfile.TemporaryDirectory(dir=files.folder) as folder,
        Cluster(folder, n_workers=run.cores, applications=1, gigabytes=gigabytes) as cluster,
    ):
        os.environ.update(cluster.environment)
        settings = {name: str(value) for name, value in (cluster.settings() | SETTINGS).items()}
        return answer(_WORKER, task | {"settings": settings})


_WORKER: list[str | Path] = [sys.executable, "-m", "benchmarks._spark_worker"]


def overhead(store: Store, n: int | None) -> None:
    """Compare the fit of a million rows on Spark with that on one machine."""
    rows, settings = n or MILLION, {"cell_size": 2000, "scaling": "minmax", "random_state": 0}
    alone = store.get(Run("higgslike", rows, "one machine", 2, settings))
    runs = {cores: store.get(Run("higgslike", rows, "spark", cores, settings)) for cores in (1, 2)}
    single = runs[1] and runs[1]["train"]
    lines = [_overhead_line(cores, rows, run or {}, alone, single) for cores, run in runs.items()]
    lines.insert(0, _overhead_line(2, rows, alone or {}, alone, None, "one machine, threads"))
    header = ("", "cores", "fit, s", "ratio", "rows/s", "speed-up", "shuffle, MB", "error", "predict, s", "session, s")
    goal = f"* goal: at most {OVERHEAD_GOAL} times one machine with 2 threads"
    print_table(f"{rows:,} x 28 like HIGGS, cells of 2000 ({goal})", header, lines)


def _overhead_line(
    cores: int, rows: int, run: Figures, alone: Figures | None, single: float | None, name: str = "Spark, workers"
) -> list[str]:
    seconds = run.get("train")
    over = seconds / alone["train"] if seconds and alone else None
    shuffle = run.get("shuffle")
    return [
        name,
        str(cores),
        number(seconds),
        at_most(over, OVERHEAD_GOAL if cores == 2 and single else None, ".2f"),
        number(seconds and rows / seconds, ",.0f"),
        number(single / seconds if single and seconds else None, ".2f"),
        number(None if shuffle is None else shuffle / 1e6),
        number(run.get("error"), ".4f"),
        number(run.get("predict")),
        number(run.get("start") if shuffle is not None else None),
    ]


def ecbdl(store: Store, n: int | None) -> None:
    """Measure a set of ECBDL's shape by cell size, as the paper's table."""
    rows = n or N_ECBDL
    lines = []
    for cell_size, grid in ECBDL_CELLS:
        settings = {"cell_size": cell_size, "grid": grid, "class_weight": "balanced", "random_state": 0}
        run = store.get(Run("ecbdllike", rows, "spark", 2, settings)) or {}
        lines.append([f"{cell_size:,}", f"{grid}x{grid}", *_ecbdl_figures(run, rows)])
    for cell_size, score, tpr, tnr, hours, workers in PAPER:
        shown = (f"{hours} h", f"{score:.3f}", f"{tpr:.3f}", f"{tnr:.3f}", "-", "-", "-")
        lines.append([f"paper, {cell_size:,}, {workers} workers", "20x20", *shown])
    header = ("cell size", "grid", "fit, s", "TPR x TNR", "TPR", "TNR", "rows/s", "shuffle, MB", "predict, s")
    print_table(f"{rows:,} x 631 like ECBDL'14, 2 workers of a core each, balanced", header, lines)


def _ecbdl_figures(run: Figures, rows: int) -> list[str]:
    score = run["tpr"] * run["tnr"] if run else None
    rates = [number(value, ".3f") for value in (score, run.get("tpr"), run.get("tnr"))]
    speed, shuffle = run and rows / run["train"], run and run["shuffle"] / 1e6
    return [
        number(run.get("train")),
        *rates,
        number(speed or None, ",.0f"),
        number(shuffle or None),
        number(run.get("predict")),
    ]


PARTS: dict[str, Callable[[Store, int | None], None]] = {"overhead": overhead, "ecbdl": ecbdl}


def _arguments() -> argparse.Namespace:
    parser = command_parser("spark_scale", __doc__)
    add = parser.add_argument
    add("part", choices=("all", *PARTS), help="what to measure")
    add("--rows", type=int, help="training rows (1 000 000 of overhead, 200 000 of ecbdl)")
    add("--gigabytes", type=int, default=4, help="memory of the JVM of a worker (4)")
    add_run_options(parser, FILE)
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    print(f"{machine()}; revision {revision()}")
    with Files() as files:
        measured = None if given.show else partial(measure, files=files, gigabytes=given.gigabytes)
        store: Store = CsvStore(LAYOUT, given.results, measured, again=given.again)
        for part in PARTS if given.part == "all" else (given.part,):
            PARTS[part](store, given.rows)


if __name__ == "__main__":
    main()
