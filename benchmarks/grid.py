"""The default grid, by measurement: errors, edge choices and seconds of grids on the same cells.

Cells of 2000 min-max scaled rows, 5 folds, 10 x 10 candidates; the tables are those of
docs/lab/2026-11-grids.md. Seconds are processor time of one thread. Runs are kept in .bench/grid.jsonl, so
that an interrupted or extended measurement goes on where it was; delete the file after a change of
the solver.

    LOCALSVM_DATA=folder python -m benchmarks.grid [--cells 10] [--first 0]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers_env import BENCH
from benchmarks.sets import Sample, cells
from benchmarks.workers import PLAIN_SVC
from localsvm import Grid, LocalSVC
from localsvm.errors import GridEdgeWarning, PrecisionWarning

RANDOM_SETS = ("toy", "higgs_26k", "susy_10k", "ijcnn1", "covtype", "cod-rna")
SETS = (*RANDOM_SETS, "covtype, local", "cod-rna, local")
LAPLACE_SETS = ("higgs_26k", "covtype", "cod-rna", "covtype, local")
N_TEST = 10_000
Ends = tuple[float, float]
Run = dict[str, Any]
Settings = dict[str, Any]
Variants = dict[str, Callable[[Sample], Settings]]
Results = dict[str, dict[str, list[Run]]]


def own_liquidsvm(sample: Sample) -> Settings:
    """Return the grid that liquidSVM 1.0.1 was seen to use for a single min-max scaled cell."""
    n, d = 0.8 * len(sample.X), sample.X.shape[1]
    widths = np.geomspace(0.2 * n ** (-1 / d), 5 * np.exp(0.0031 * d), 10)
    return {"grid": Grid(widths=tuple(widths), lams=tuple(np.geomspace(1e-3 / n, 0.01, 10)))}


def rule(ends: tuple[Ends, Ends], **settings: Any) -> Callable[[Sample], Settings]:
    """Return the default rule with these multiples of the median distance, and these lams."""
    width, lam = ends
    return lambda _: {"grid": Grid(width=width, lam=lam), **settings}


def _name(ends: tuple[Ends, Ends]) -> str:
    (low, high), (smallest, largest) = ends
    return f"{low:g}..{high:g}, {smallest:g}/n..{largest:g}"


CHOSEN = ((0.05, 16), (3e-3, 0.01))
CANDIDATES = (
    ((0.05, 4), (1e-3, 0.01)),
    ((0.05, 8), (1e-3, 0.01)),
    ((0.05, 16), (1e-3, 0.01)),
    ((0.1, 8), (1e-3, 0.01)),
    ((0.1, 16), (1e-3, 0.01)),
    ((0.05, 8), (1e-3, 1e-3)),
    ((0.05, 8), (1e-2, 0.01)),
    CHOSEN,
    ((0.1, 16), (3e-3, 0.01)),
    ((0.05, 8), (1e-4, 0.01)),
    ((0.05, 16), (1e-4, 0.01)),
)
LAPLACE_CANDIDATES = (
    ((0.1, 16), (1e-3, 0.01)),
    ((0.2, 32), (1e-3, 0.01)),
    ((0.2, 64), (1e-3, 0.01)),
    ((0.2, 128), (1e-3, 0.01)),
    ((0.2, 32), (1e-2, 0.01)),
)
GRIDS: Variants = {
    "Grid.paper()": lambda _: {"grid": Grid.paper()},
    "Grid.liquidsvm()": lambda _: {"grid": Grid.liquidsvm()},
    "liquidSVM, one cell": own_liquidsvm,
} | {_name(ends): rule(ends) for ends in CANDIDATES}
LAPLACE: Variants = {_name(ends): rule(ends, kernel="laplace") for ends in LAPLACE_CANDIDATES}
ENDINGS: Variants = {"combine": rule(CHOSEN), "retrain": rule(CHOSEN, refit="retrain")}
SEARCHES: Variants = {"full": rule(CHOSEN), "racing": rule(CHOSEN, search="racing")}


def measure(sample: Sample, settings: Settings) -> Run:
    """Fit one cell, and say what was chosen and how well it predicts."""
    begin = time.process_time()
    clf = LocalSVC(partition="none", scaling=None, n_jobs=1, **(PLAIN_SVC | settings)).fit(sample.X, sample.y)
    seconds = time.process_time() - begin
    cell = clf.model_.cells[0]
    (width,), (lam,) = cell.width.tolist(), cell.lam.tolist()
    return {
        "error": float((clf.predict(sample.X_test) != sample.y_test).mean()),
        "seconds": seconds,
        "width": width,
        "lam": lam,
        "largest width": width == float(cell.widths[0]),
        "smallest width": width == float(cell.widths[-1]),
        "largest lam": lam == float(cell.lams[0]),
        "smallest lam": lam == float(cell.lams[-1]),
    }


class Store:
    """Finished runs, one line of JSON each, by set, number of the cell, and settings."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(exist_ok=True)
        file.touch()
        self._file = file
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        self._runs: dict[tuple[str, int, str], Run] = {
            (line["set"], line["cell"], line["settings"]): line["run"] for line in lines
        }

    def get(self, key: tuple[str, int, str], make: Callable[[], Run]) -> Run:
        if key not in self._runs:
            self._runs[key] = make()
            line = dict(zip(("set", "cell", "settings"), key, strict=True), run=self._runs[key])
            with self._file.open("a") as file:
                print(json.dumps(line, default=bool), file=file)
        return self._runs[key]


def run_all(store: Store, variants: Variants, sets: Iterable[str], numbers: range) -> Results:
    """Return the runs by variant and set."""
    results: Results = {variant: {name: [] for name in sets} for variant in variants}
    for name in sets:
        for number, sample in zip(numbers, cells(name, numbers, N_TEST), strict=True):
            for variant, settings_for in variants.items():
                settings = settings_for(sample)
                run = store.get((name, number, repr(settings)), partial(measure, sample, settings))
                results[variant][name].append(run)
    return results


def show(title: str, results: Results) -> None:
    """Print a table: errors in %, relative to the first row, edges in % of the cells, seconds."""
    sets = list(next(iter(results.values())))
    edges = ("largest width", "smallest width", "largest lam", "smallest lam")
    print(f"\n{title}\n")
    _row(["", *sets, "relative", *(f"{edge}, %" for edge in edges), "seconds"])
    print("|" + "---|" * (len(sets) + len(edges) + 3))
    first = next(iter(results.values()))
    for variant, by_set in results.items():
        runs = [run for name in sets for run in by_set[name]]
        row = [variant, *(_error(by_set[name]) for name in sets), _relative(by_set, first)]
        row += [f"{100 * np.mean([run[edge] for run in runs]):.0f}" for edge in edges]
        row += [f"{np.mean([run['seconds'] for run in runs]):.2f}"]
        _row(row)


def _row(values: Iterable[str]) -> None:
    print("| " + " | ".join(values) + " |", flush=True)


def _error(runs: list[Run]) -> str:
    errors = 100 * np.array([run["error"] for run in runs])
    spread = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
    return f"{errors.mean():.2f} ± {spread:.2f}"


def _relative(by_set: dict[str, list[Run]], first: dict[str, list[Run]]) -> str:
    """Return the mean ratio of errors to the first variant's, and its standard error over cells."""
    ratios, variances = [], []
    for name, runs in by_set.items():
        reference = np.array([run["error"] for run in first[name]])
        excess = (np.array([run["error"] for run in runs]) - reference) / reference.mean()
        ratios.append(1 + excess.mean())
        variances.append(excess.var(ddof=1) / len(excess) if len(excess) > 1 else np.nan)
    return f"{np.mean(ratios):.4f} ± {np.sqrt(np.sum(variances)) / len(ratios):.4f}"


def show_differences(results: Results) -> None:
    """Print in how many cells racing chose another grid point than the full search."""
    pairs = [
        ((full["width"], full["lam"]), (raced["width"], raced["lam"]))
        for name in results["full"]
        for full, raced in zip(results["full"][name], results["racing"][name], strict=True)
    ]
    print(f"\nRacing chose another point in {sum(a != b for a, b in pairs)} of {len(pairs)} cells.")


def main() -> None:
    summary = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grid", description=summary)
    parser.add_argument("--cells", type=int, default=10, help="cells per set (10)")
    parser.add_argument("--first", type=int, default=0, help="number of the first cell (0)")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.cells)
    warnings.simplefilter("ignore", GridEdgeWarning)
    warnings.simplefilter("ignore", PrecisionWarning)
    store = Store(BENCH / "grid.jsonl")
    show("Grids: width in units of the median distance, lam", run_all(store, GRIDS, SETS, numbers))
    show("Laplace kernel", run_all(store, LAPLACE, LAPLACE_SETS, numbers))
    show("Ending of Algorithm 1", run_all(store, ENDINGS, SETS, numbers))
    searches = run_all(store, SEARCHES, SETS, numbers)
    show("Search", searches)
    show_differences(searches)


if __name__ == "__main__":
    main()
