"""One large cell, with its matrices stored and in little memory: seconds, peak memory, hit rate, equality.

Every run is a process of its own and trains the same cell on 5 folds with the default 10 x 10 grid.
Memory is by how much training raises the peak, read from /proc, as Linux has it.

    LOCALSVM_DATA=folder python -m benchmarks.memory [--rows 20000] [--budget 600] [--sets covtype higgs_26k]
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sets import cells
from localsvm.cell import CellSettings, CellTask, Grid, path, train_cell
from localsvm.cell.grid import cell_radius
from localsvm.cell.trained import TrainedCell
from localsvm.data.content import canonical_rows

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Run:
    """What one process is to do."""

    name: str
    n_rows: int
    budget: int | None
    n_threads: int
    steps: int


@dataclass(frozen=True)
class Figures:
    """What came of it; rates are shares of the rows asked for that the cache had."""

    storage: str
    seconds: float
    processor_seconds: float
    peak: int
    held: int
    hit_rate: float
    refresh_hit_rate: float
    digest: str


def measure(run: Run) -> Figures:
    (sample,) = cells(run.name, [0], 1, run.n_rows)
    rows = canonical_rows(sample.X, sample.y, np.ones(run.n_rows), 0)
    task = CellTask(rows, radius=cell_radius(rows))
    settings = CellSettings(grid=Grid.of(run.steps))
    native = _keep_native_cell()
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = _bytes("VmRSS:")
    wall, processor = time.perf_counter(), time.process_time()
    cell = train_cell(task, settings, max_bytes=run.budget, n_threads=run.n_threads)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    counts = native[0].row_counts
    return Figures(
        storage=native[0].storage,
        seconds=wall,
        processor_seconds=processor,
        peak=_bytes("VmHWM:") - before,
        held=counts["held"],
        hit_rate=_share(counts["hits"], counts["misses"]),
        refresh_hit_rate=_share(counts["refresh_hits"], counts["refresh_misses"]),
        digest=_digest(cell),
    )


def _keep_native_cell() -> list[Any]:
    made: list[Any] = []
    make = path.Cell

    def keep(*arguments: Any) -> Any:
        made.append(make(*arguments))
        return made[-1]

    path.Cell = keep  # type: ignore[misc, assignment]
    return made


def _share(hits: int, misses: int) -> float:
    return hits / (hits + misses) if hits + misses else 1.0


def _digest(cell: TrainedCell) -> str:
    parts = [cell.risks, cell.width, cell.lam]
    for part in cell.functions.sums:
        parts += [part.support_vectors, part.coefficients]
    parts += [np.asarray(getattr(cell.certificates, field.name)) for field in fields(cell.certificates)]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:12]


def _bytes(field: str) -> int:
    # Not getrusage: its peak is inherited from the process that started this one.
    return 1024 * int(Path("/proc/self/status").read_text().partition(field)[2].split()[0])


def in_fresh_process(run: Run) -> Figures:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(measure, run).result()


def show(run: Run, figures: Figures, stored: Figures | None) -> None:
    line = f"  {figures.storage:8}{figures.seconds:9.1f} s{figures.processor_seconds:9.1f} s processor"
    line += f"{figures.peak / MEGABYTE:9.0f} MB"
    if figures.held:
        line += f"   {figures.held} rows held, hits {figures.hit_rate:.1%}, refreshes {figures.refresh_hit_rate:.1%}"
    if stored:
        line += f"   {figures.seconds / stored.seconds:.2f} x seconds"
        line += f", {figures.processor_seconds / stored.processor_seconds:.2f} x processor"
        line += ", the same cell" if figures.digest == stored.digest else ", A DIFFERENT CELL"
    if run.budget is not None and figures.peak > run.budget:
        line += f", OVER THE BUDGET of {run.budget / MEGABYTE:.0f} MB"
    print(line, flush=True)


def main() -> None:
    summary = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=summary)
    parser.add_argument("--rows", type=int, default=20_000, help="of the cell (20000)")
    parser.add_argument("--budget", type=float, nargs="+", default=[600], help="megabytes, one run each (600)")
    parser.add_argument("--sets", nargs="+", default=["covtype", "higgs_26k"], help="data sets (covtype higgs_26k)")
    parser.add_argument("--threads", type=int, default=2, help="threads (2)")
    parser.add_argument("--grid", type=int, default=10, help="steps of the grid (10)")
    parser.add_argument("--skip-stored", action="store_true", help="do not train with stored matrices")
    arguments = parser.parse_args()
    for name in arguments.sets:
        print(f"{name}: {arguments.rows} rows, {arguments.grid} x {arguments.grid}, {arguments.threads} threads")
        stored = None
        for budget in [None, *arguments.budget][arguments.skip_stored :]:
            max_bytes = None if budget is None else int(budget * MEGABYTE)
            run = Run(name, arguments.rows, max_bytes, arguments.threads, arguments.grid)
            figures = in_fresh_process(run)
            show(run, figures, stored)
            stored = figures if budget is None else stored


if __name__ == "__main__":
    main()
