"""`localsvm demo`: train and evaluate on bundled data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import localsvm
from localsvm import GridEdgeWarning, LocalSVC
from localsvm.data import load_covtype_sample, toy_bayes_error, toy_mixture
from localsvm.evaluation import Evaluator

PHASES = ("scaling", "relevance", "partition", "kernel", "solver", "validation", "selection")
_SECTION_ENDS = ("test rows", "support vectors", "Bayes error")


@dataclass(frozen=True)
class DataSet:
    """Training and test rows of one column of the table."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.int8]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int8]
    bayes_error: float | None


@dataclass(frozen=True)
class Outcome:
    """A fitted estimator, its test error and its timings."""

    data: DataSet
    estimator: LocalSVC
    seconds_fit: float
    seconds_predict: float
    error: float


def run_demo(n_rows: int, n_jobs: int | None, keep: Path | None) -> None:
    """Train, evaluate and print; save models and reports if a folder is given."""
    console = Console()
    console.print(
        f"localsvm {localsvm.__version__}, SIMD level {localsvm.simd_level()}. The mean of four models,\n"
        "each of cells of a few thousand rows with a kernel machine, tuned by itself.\n",
        highlight=False,
    )
    outcomes = [_run(data, n_jobs, console) for data in _data_sets(n_rows)]
    console.print(_table(outcomes))
    console.print(
        "Seconds from kernel to selection are summed over threads. Forest cover:\n"
        "Blackard, UCI, CC BY 4.0. Toy mixture: Sec. 4 of the paper; Bayes error known.",
        style="dim",
        highlight=False,
    )
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for outcome in outcomes:
            page = _write(outcome, keep)
            console.print(f"Model and report: {page.with_suffix('.lsvm')}, {page}", highlight=False, soft_wrap=True)


def _write(outcome: Outcome, folder: Path) -> Path:
    """Save the model and its report."""
    from localsvm.report import write_report

    data, estimator = outcome.data, outcome.estimator
    evaluator = Evaluator(estimator)
    evaluator.add(data.X_test, data.y_test)
    file = folder / data.name.partition(",")[0].replace(" ", "-")
    estimator.save(file.with_suffix(".lsvm"))
    return write_report(estimator, file.with_suffix(".html"), evaluator.result(), data.name.capitalize())


def _data_sets(n_rows: int) -> Iterator[DataSet]:
    X, y = load_covtype_sample()
    yield DataSet("forest cover, d=54", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], None)
    X, y = toy_mixture(n_rows + 20000, 4, random_state=0)
    bayes = toy_bayes_error(4)
    yield DataSet("toy mixture, d=4", X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], bayes)


def _run(data: DataSet, n_jobs: int | None, console: Console) -> Outcome:
    console.print(f"Training on {len(data.y):,} rows of {data.name} ...", highlight=False)
    estimator = LocalSVC(n_jobs=n_jobs, verbose=1)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        estimator.fit(data.X, data.y)
    fitted = time.perf_counter()
    predicted = estimator.predict(data.X_test)
    done = time.perf_counter()
    error = float((predicted != data.y_test).mean())
    return Outcome(data, estimator, fitted - begin, done - fitted, error)


def _table(outcomes: list[Outcome]) -> Table:
    table = Table(title="Results", title_justify="left")
    table.add_column("")
    for outcome in outcomes:
        table.add_column(outcome.data.name, justify="right")
    rows = [_lines(outcome) for outcome in outcomes]
    for label in rows[0]:
        table.add_row(label, *(row[label] for row in rows), end_section=label in _SECTION_ENDS)
    return table


def _lines(outcome: Outcome) -> dict[str, str]:
    data, cells, timings = outcome.data, outcome.estimator.cells_, outcome.estimator.timings_
    sizes = np.array([cell["size"] for cell in cells])
    lines = {
        "training rows": f"{len(data.y):,}",
        "test rows": f"{len(data.y_test):,}",
        "models": str(len(outcome.estimator.members_)),
        "cells of the first": str(len(cells)),
        "rows per cell": f"{sizes.min():,} to {sizes.max():,}",
        "selected widths": _span([cell["width"] for cell in cells]),
        "selected lambdas": _span([cell["lam"] for cell in cells]),
        "support vectors": f"{sum(cell['support_vectors'] for cell in cells):,}",
        "error, cross-validated": f"{1 - outcome.estimator.cv_score_:.4f}",
        "test error": f"{outcome.error:.4f}",
        "Bayes error": "unknown" if data.bayes_error is None else f"{data.bayes_error:.4f}",
    }
    for phase in PHASES:
        lines[f"seconds: {phase}"] = f"{timings[phase]:.3f}"
    lines["seconds: fit, wall clock"] = f"{outcome.seconds_fit:.2f}"
    lines["microseconds per prediction"] = f"{1e6 * outcome.seconds_predict / len(data.y_test):.1f}"
    return lines


def _span(values: list[float]) -> str:
    # Cells with a single class have neither width nor lambda.
    chosen = [value for value in values if np.isfinite(value)]
    return f"{min(chosen):.2g} to {max(chosen):.2g}" if chosen else "none"
