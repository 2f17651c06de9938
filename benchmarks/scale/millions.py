"""Part `millions`: how time and memory grow with the number of rows, 28 features like those of HIGGS.

Rows are generated in the process that measures, before the clock starts; the peak of its memory
includes them. The paper's Tables 2 and 4: HIGGS, 9 899 999 rows, cells of 2000: 308 minutes with up to 12
cores, 31 GB, 322 s for 100 000 predictions.
"""

from __future__ import annotations

import math

from benchmarks.csv_store import Figures
from benchmarks.scale.problems import Problem
from benchmarks.scale.programs import local
from benchmarks.scale.store import Run, Store
from benchmarks.tables import at_most, number, print_table

SIZES = (100_000, 1_000_000, 10_000_000)
N_TEST = 100_000
LARGEST = 10_000_000
MINUTES_GOAL, GIGABYTES_GOAL, PARTITION_GOAL, EXPONENT_GOAL = 12, 4, 60, 0.05
PHASES = ("partition", "kernel", "solver", "validation", "selection")
HEADER = (
    *("rows", "train, s", "exponent", "partition, s", "kernel", "solver", "validation", "selection", "GB", "cells"),
    *("error", "predict 100 000, s", "generated in, s"),
)


def measure(store: Store, sizes: list[int], partition: str) -> None:
    """Measure these numbers of rows, in increasing order, and print them."""
    rows, before = [], None
    for n in sorted(sizes):
        run = store.best(Run(Problem("higgslike", n, N_TEST, streamed=True), "localsvm", local(partition)))
        rows.append(_row(n, run or {}, before))
        before = (n, run["train"]) if run else None
    goals = f"* {LARGEST:,} rows: {MINUTES_GOAL} minutes, {GIGABYTES_GOAL} GB, partition in {PARTITION_GOAL} s"
    title = f"Millions of rows; phases in seconds summed over threads, partition in seconds by the clock\n({goals};"
    print_table(f"{title} exponent within {EXPONENT_GOAL} of 1)", HEADER, rows)


def _row(n: int, run: Figures, before: tuple[int, float] | None) -> list[str]:
    goal = n == LARGEST
    seconds = run.get("train")
    peak = run["peak"] / 1e9 if run else None
    exponent = "-"
    if before and seconds:
        slope = math.log(seconds / before[1]) / math.log(n / before[0])
        exponent = f"{slope:.3f}" + ("*" if abs(slope - 1) <= EXPONENT_GOAL else "")
    return [
        f"{n:,}",
        at_most(seconds, 60 * MINUTES_GOAL if goal else None, ".1f"),
        exponent,
        at_most(run.get("partition"), PARTITION_GOAL if goal else None, ".2f"),
        *(number(run.get(phase)) for phase in PHASES[1:]),
        at_most(peak, GIGABYTES_GOAL if goal else None, ".2f"),
        number(run.get("cells"), ",.0f"),
        number(run.get("error"), ".4f"),
        number(run.get("predict"), ".2f"),
        number(run.get("generate")),
    ]
