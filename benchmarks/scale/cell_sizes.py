"""Part `cell-sizes`: training time against the size of the cells, which should be linear."""

from __future__ import annotations

from benchmarks.csv_store import Figures
from benchmarks.scale.problems import Problem
from benchmarks.scale.programs import local
from benchmarks.scale.store import Run, Store
from benchmarks.tables import number, print_table

CELL_SIZES = (2000, 5000, 10_000, 15_000)
PROBLEMS = (Problem("higgslike", 60_000, 20_000), Problem("covtype", 60_000, 20_000))
# Minutes of the paper's Table 2, cells of these sizes, all rows.
PAPER_MINUTES = {"higgslike": (308, 679, 1358, 1992), "covtype": (9, 18, 39, 54)}
HEADER = (
    *("", "cell size", "cells", "largest", "train, s", "ms a row", "ns a row and cell size", "to size 2000"),
    *("paper, min", "paper, to size 2000", "error", "predict, s", "GB"),
)


def measure(store: Store, partition: str) -> None:
    rows = []
    for problem in PROBLEMS:
        runs = [store.best(Run(problem, "localsvm", local(partition, cell_size=size))) or {} for size in CELL_SIZES]
        for size, run, minutes in zip(CELL_SIZES, runs, PAPER_MINUTES[problem.name], strict=True):
            relative = (size / CELL_SIZES[0], runs[0], minutes, PAPER_MINUTES[problem.name][0])
            rows.append(_row(problem, size, run, *relative))
    title = "Cell sizes, 60 000 rows; `to size 2000` is 1 where time a row grows in proportion to the cell size"
    print_table(f"{title}\n(paper: Table 2, HIGGS and covtype in full)", HEADER, rows)


def _row(
    problem: Problem, size: int, run: Figures, growth: float, first: Figures, minutes: int, first_minutes: int
) -> list[str]:
    seconds = run.get("train")
    a_row = seconds / problem.n_train if seconds else None
    relative = seconds / first["train"] / growth if seconds and first else None
    return [
        problem.name,
        *(f"{size:,}", number(run.get("cells"), ".0f"), number(run.get("largest_cell"), ",.0f")),
        number(seconds),
        number(a_row and 1e3 * a_row, ".3f"),
        number(a_row and 1e9 * a_row / size, ".1f"),
        number(relative, ".2f"),
        *(str(minutes), f"{minutes / first_minutes / growth:.2f}"),
        *(number(run.get("error"), ".4f"), number(run.get("predict"), ".2f")),
        number(run["peak"] / 1e9 if run else None, ".2f"),
    ]
