"""The paper's tables, ours beside its own numbers: each is printed and written as a CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.csv_store import RESULTS, Figures
from benchmarks.paper.published import published
from benchmarks.paper.runs import Runs
from benchmarks.paper.scales import Series
from benchmarks.paper.written import read_lines, write_lines
from benchmarks.tables import print_table

PAPER_CELL = 2000  # of its Table 4
PHASES = ("partition", "kernel", "solver", "validation", "selection")
SPARK = RESULTS / "spark.csv"  # of benchmarks.spark_scale
ECBDL_CELLS = (10_000, 15_000, 20_000, 50_000, 100_000)  # of the paper
N_ECBDL = 32_000_000


@dataclass(frozen=True)
class Table:
    """A table: a name for its files, a heading, columns and lines of values."""

    name: str
    heading: str
    columns: tuple[str, ...]
    lines: list[tuple[Any, ...]]


def make(runs: Runs) -> None:
    """Run what has not been run, print and write all tables."""
    for table in (build(runs) for build in TABLES):
        if not table.lines:
            continue
        write_lines(runs.scale.folder / f"{table.name}.csv", table.columns, table.lines)
        print_table(table.heading, table.columns, [[shown(value) for value in line] for line in table.lines])


def shown(value: Any) -> str:
    """Return a value as a table shows it: three digits, a dash where there is none."""
    if value is None:
        return "-"
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)


def data_sets(runs: Runs) -> Table:
    columns = ("set", "n_train", "n_test", "n_features", "origin", "stands_for", "paper_n_train", "paper_n_features")
    lines = [
        (
            *(
                series.name,
                series.sizes[-1],
                series.n_test,
                series.n_features,
                series.origin,
                series.stands_for or None,
            ),
            published("Table 1", series.stands_for, "n_train"),
            published("Table 1", series.stands_for, "n_features"),
        )
        for series in runs.scale.series
    ]
    return Table("table1-sets", "Table 1: data sets", columns, lines)


def training_times(runs: Runs) -> Table:
    columns = ("set", "cell_size", "n_train", "minutes", "error", "paper_n_train", "paper_minutes")
    lines = [
        (
            *(series.name, size, n, figures["train"] / 60, figures["error"]),
            published("Table 1", series.stands_for, "n_train"),
            published("Table 2", series.stands_for, size),
        )
        for series, size, n, figures in _largest(runs)
    ]
    return Table("table2-training", "Table 2: minutes of training, 5 folds, 10 x 10 grid", columns, lines)


def prediction_ratios(runs: Runs) -> Table:
    """The rows to predict are the test rows of the set; the paper's are 100 000 of each."""
    columns = ("set", "cell_size", "n_train", "n_test", "cells_seconds", "chunks_seconds", "ratio", "paper_ratio")
    lines = []
    for series in runs.scale.series:
        n = max((n for n in series.sizes if n <= runs.scale.n_compared), default=series.sizes[0])
        for size in runs.scale.cell_sizes:
            cells, chunks = (runs.get(series, n, partition, size) for partition in ("voronoi", "chunks"))
            if cells is None or chunks is None:
                continue
            ratio = chunks["predict"] / cells["predict"]
            paper = published("Table 3", series.stands_for, size)
            lines.append((series.name, size, n, series.n_test, cells["predict"], chunks["predict"], ratio, paper))
    heading = "Table 3: seconds to predict with random chunks over those with cells"
    return Table("table3-prediction", heading, columns, lines)


def phases(runs: Runs) -> Table:
    quantities = (*PHASES, "predict", "gigabytes")
    columns = ("set", "n_train", *quantities, *(f"paper_{quantity}" for quantity in quantities))
    lines = []
    for series in runs.scale.series:
        figures = runs.get(series, series.sizes[-1], "voronoi", runs.scale.cell_sizes[0])
        if figures is not None:
            predict = figures["predict"] * 100_000 / series.n_test
            ours = (*(figures[phase] for phase in PHASES), predict, figures["peak"] / 1e9)
            known = runs.scale.cell_sizes[0] == PAPER_CELL
            papers = (published("Table 4", series.stands_for, quantity) if known else None for quantity in quantities)
            lines.append((series.name, series.sizes[-1], *ours, *papers))
    heading = (
        f"Table 4: seconds by phase, cells of {runs.scale.cell_sizes[0]:,}; summed over threads but for the partition; "
        "prediction of 100 000 rows; memory at the peak"
    )
    return Table("table4-phases", heading, columns, lines)


def times_by_work(runs: Runs) -> Table:
    columns = ("set", "cell_size", "n_train", "nanoseconds", "paper_nanoseconds")
    lines = [
        (
            *(series.name, size, n, 1e9 * figures["train"] / (n * size * series.n_features)),
            published("Table 6", series.stands_for, size),
        )
        for series, size, n, figures in _largest(runs)
    ]
    heading = "Table 6: training time divided by rows, cell size and features, in nanoseconds"
    return Table("table6-work", heading, columns, lines)


def spark(runs: Runs) -> Table:
    """The runs of the Spark benchmark on a set of ECBDL's shape, if there are any, above those of the paper."""
    columns = ("set", "n_train", "settings", "workers", "hours", "score", "tpr", "tnr")
    ours = {
        (line["n_train"], line["cores"], line["settings"]): line
        for line in read_lines(SPARK)
        if line["set"] == "ecbdllike" and line["program"] == "spark"
    }
    lines = [_spark_line(line) for line in ours.values()]
    papers = [
        ("paper: ecbdl", N_ECBDL, f"cell_size={size}", *(published("Table 5", f"ecbdl {size}", q) for q in columns[3:]))
        for size in ECBDL_CELLS
    ]
    heading = "Table 5: ECBDL's shape on Spark; score: TPR x TNR"
    return Table("table5-spark", heading, columns, [*lines, *papers] if lines else [])


def _spark_line(line: dict[str, str]) -> tuple[Any, ...]:
    tpr, tnr = float(line["tpr"]), float(line["tnr"])
    hours = float(line["train"]) / 3600
    return ("ecbdllike", int(line["n_train"]), line["settings"], float(line["cores"]), hours, tpr * tnr, tpr, tnr)


def _largest(runs: Runs) -> Iterator[tuple[Series, int, int, Figures]]:
    """Yield the largest training size that each set and cell size has."""
    for series in runs.scale.series:
        for size in runs.scale.cell_sizes:
            curve = runs.curve(series, "voronoi", size)
            if curve:
                n = max(curve)
                yield series, size, n, curve[n]


TABLES: tuple[Callable[[Runs], Table], ...] = (
    data_sets,
    training_times,
    prediction_ratios,
    phases,
    spark,
    times_by_work,
)
