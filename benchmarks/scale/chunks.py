"""Part `chunks`: cells of a spatial partition against random chunks of the same size, 2000 rows.

The paper compares the times of prediction on 100 000 training and 100 000 test rows (its Table 3), so
the real sets are measured at that size as well. For the errors it has a figure only.
"""

from __future__ import annotations

from benchmarks.csv_store import Figures
from benchmarks.scale.problems import ALL, PAPER, Problem
from benchmarks.scale.programs import local
from benchmarks.scale.store import Run, Store
from benchmarks.tables import number, print_table, ratio

# Time to predict with random chunks divided by time to predict with cells; cell size 2000.
PAPER_RATIO = {"covtype": 153, "cod-rna": 139, "skin": 25}
COMPARED = {name: Problem(name, 100_000, 100_000) for name in PAPER}
HEADER = (
    *("", "rows", "train: spatial", "chunks", "ratio", "predict: spatial", "chunks", "ratio", "paper"),
    *("error: spatial", "chunks", "unseen: spatial", "chunks"),
)


def compare(store: Store, sets: list[str], partition: str) -> None:
    """Measure both partitions on these sets, and print them beside the paper's ratio."""
    rows = []
    for problem in [ALL[name] for name in sets] + [COMPARED[name] for name in sets if name in COMPARED]:
        runs = [store.best(Run(problem, "localsvm", local(choice))) or {} for choice in (partition, "chunks")]
        rows.append(_row(problem, *runs))
    print_table("Spatial cells and random chunks of 2000 rows; seconds", HEADER, rows)


def _row(problem: Problem, spatial: Figures, chunks: Figures) -> list[str]:
    def both(name: str, form: str) -> list[str]:
        return [number(spatial.get(name), form), number(chunks.get(name), form)]

    paper = PAPER_RATIO.get(problem.name) if problem in COMPARED.values() else None
    return [
        problem.name,
        f"{problem.n_train:,}",
        *(*both("train", ".2f"), ratio(chunks.get("train"), spatial.get("train"))),
        *(*both("predict", ".3f"), ratio(chunks.get("predict"), spatial.get("predict"))),
        f"{paper}x" if paper else "-",
        *(*both("error", ".4f"), *both("error_unseen", ".4f")),
    ]
