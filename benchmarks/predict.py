"""How fast are predictions? Processor time of one thread, against LightGBM's own predict and compiled trees.

python -m benchmarks.predict                       # all tables; models are trained once, under .bench/predict
python -m benchmarks.predict batches --sets letter cod-rna --rows 20000
python -m benchmarks.predict batches --trees 100 --no-compiler

batches   microseconds a row in batches of 100 000: effort="fast" with one member, the default ensemble, LightGBM with
          500 trees of 255 leaves for each class, and the same trees compiled by lleaves
cells     the same rows with few large cells and with many small ones
row       one row: predict of an array and of a frame, predictor(), 100 cells of 2000 rows with 28 features
file      open a model file of thousands of cells and predict a row
server    rows predicted a second by 1, 4 and 16 threads that share a predictor, one row a request
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import localsvm
from benchmarks.command_line import command_parser
from benchmarks.peers_env import BENCH, peer_python
from benchmarks.sets import read
from benchmarks.tables import print_table
from benchmarks.workers import answer
from localsvm import Grid, LocalSVC
from localsvm.data import toy_mixture
from localsvm.partition.tree import Node
from localsvm.partition.voronoi import VoronoiPartition

FOLDER = BENCH / "predict"
WORKER = Path(__file__).with_name("_compiled_worker.py")
BATCH = 100_000
# Rows of covtype and HIGGS are many; the others are tiled to a batch.
SETS = {
    "covtype, 2 classes": "covtype",
    "covtype, 7 classes": "covtype",
    "cod-rna": "cod-rna",
    "HIGGS": "higgs_26k",
    "letter": "letter-recognition",
}
ONE_SOLVE: dict[str, Any] = {
    "members": 1,
    "kernel": "gauss",
    "relevance": None,
    "scaling": "standard",
    "grid": Grid(widths=[2.0], lams=[1e-3]),
    "n_folds": 2,
}


def least_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least processor time of some runs."""
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def least_microseconds(work: Callable[[], object], repeats: int = 20, times: int = 200) -> float:
    """Return the least processor time of a short piece of work."""
    return 1e6 * least_seconds(lambda: [work() for _ in range(times)], repeats) / times


# ----------------------------------------------------------------------------------------------------- batches


def _data(name: str, n_rows: int) -> dict[str, np.ndarray]:
    X, y = read(SETS[name])
    y = (y == 2).astype(int) if name == "covtype, 2 classes" else np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:n_rows], order[n_rows:]
    if len(test) < len(X) // 5:  # of small sets a fifth is left for testing
        train, test = order[len(X) // 5 :], order[: len(X) // 5]
    test = np.resize(test, BATCH)
    X = np.ascontiguousarray(X, dtype=np.float32)
    return {"X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test]}


def _trained(file: Path, make: Callable[[], LocalSVC]) -> Any:
    """Return the estimator in a file, training it if there is none; predictions run in one thread."""
    if not file.exists():
        print(f"Training {file.name} ...", file=sys.stderr, flush=True)
        make().save(file)
    estimator = localsvm.load(file)
    estimator.n_jobs = 1
    return estimator


def _batch(name: str, given: argparse.Namespace) -> list[str]:
    data = _data(name, given.rows)
    file = FOLDER / f"{name.replace(', ', '-').replace(' ', '-')}-{given.rows}"
    row, errors = [name], []
    for way, parameters in (("fast", {"effort": "fast", "members": 1}), ("default", {})):
        model = _trained(
            file.with_suffix(f".{way}.lsvm"), lambda own=parameters: LocalSVC(**own).fit(data["X"], data["y"])
        )
        errors.append((model.predict(data["X_test"]) != data["y_test"]).mean())
        row.append(f"{1e6 * least_seconds(lambda own=model: own.predict(data['X_test']), 3) / BATCH:.2f}")
    np.savez(file.with_suffix(".npz"), **data)
    task = {
        "file": str(file.with_suffix(".npz")),
        "model": str(file.with_suffix(f".{given.trees}.txt")),
        "parameters": {"n_estimators": given.trees, "num_leaves": 255},
        "compile": given.compiler,
    }
    peer = answer([peer_python("lleaves"), WORKER], task)
    compiled = f"{1e6 * peer['compiled'] / BATCH:.2f}" if "compiled" in peer else "-"
    shown = [f"{100 * error:.2f}" for error in (*errors, peer["error"])]
    return [*row, f"{1e6 * peer['own'] / BATCH:.2f}", compiled, f"{1e6 * peer['row']:.0f}", *shown]


def batches(given: argparse.Namespace) -> None:
    columns = ("", "fast", "default", "LightGBM", "compiled", "LightGBM, 1 row", "% fast", "% default", "% LightGBM")
    rows = []
    for name in given.sets:
        rows.append(_batch(name, given))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    print_table(f"Microseconds a row in batches of {BATCH}, one thread, and errors in %", columns, rows)


# ------------------------------------------------------------------------------------------- cells, rows, files


def _synthetic(name: str, n_rows: int, **parameters: Any) -> Any:
    def make() -> LocalSVC:
        X, y = toy_mixture(n_rows, 28, random_state=0)
        return LocalSVC(**{**ONE_SOLVE, **parameters}).fit(X, y)

    return _trained(FOLDER / f"{name}.lsvm", make)


def cells(given: argparse.Namespace) -> None:
    X = toy_mixture(BATCH, 28, random_state=1)[0]
    rows, before = [], None
    for cell_size in (2000, 20):
        model = _synthetic(f"cells-of-{cell_size}-{given.synthetic}", given.synthetic, cell_size=cell_size)
        model.predict(X)  # packs its cells
        seconds = least_seconds(lambda own=model: own.predict(X))
        before = seconds if before is None else before
        rows.append([f"{model.n_cells_}", f"{1e6 * seconds / BATCH:.2f}", f"{seconds / before:.2f}"])
    print_table("The same 100 000 rows in large and small cells", ("cells", "us a row", "ratio"), rows)


def row(given: argparse.Namespace) -> None:
    X = toy_mixture(2000, 28, random_state=1)[0].astype(np.float64)
    columns = [f"x{j}" for j in range(28)]
    rows = []
    for what, names in (("array", None), ("frame", columns)):
        model = _synthetic(f"cells-of-2000-{given.synthetic}", given.synthetic, cell_size=2000)
        model.n_jobs = None
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        given_rows = [X[i : i + 1] if names is None else pd.DataFrame(X[i : i + 1], columns=names) for i in range(200)]
        for method in ("predict", "predict_proba"):
            rows.append([f"{method}, {what}", *_one_row(getattr(model, method), given_rows)])
        if names is None:
            for method in ("predict", "predict_proba"):
                rows.append([f"predictor().{method}", *_one_row(getattr(model.predictor(), method), given_rows)])
    print_table(f"One row, {model.n_cells_} cells, 28 features", ("", "us, other cells", "us, the same cell"), rows)


def _one_row(predict: Callable[[Any], object], rows: list[Any]) -> list[str]:
    """Return microseconds where every row is in another cell, and where memory is warm."""
    for one in rows:
        predict(one)
    others = 1e6 * least_seconds(lambda: [predict(one) for one in rows], 20) / len(rows)
    return [f"{others:.1f}", f"{least_microseconds(lambda: predict(rows[0])):.1f}"]


def file(given: argparse.Namespace) -> None:
    small = _synthetic(f"cells-of-2000-{given.synthetic}", given.synthetic, cell_size=2000)
    path = FOLDER / f"tiled-{given.tiles}.lsvm"
    if not path.exists():
        _tiled(small, given.tiles).save(path)
    x = toy_mixture(1, 28, random_state=1)[0]
    seconds = least_seconds(lambda: localsvm.load(path).predict(x))
    print_table(
        "A model file is opened, and one row predicted",
        ("cells", "rows", "megabytes", "milliseconds"),
        [
            [
                f"{localsvm.load(path).n_cells_}",
                f"{sum(cell['size'] for cell in localsvm.load(path).cells_):,}",
                f"{path.stat().st_size / 1e6:.0f}",
                f"{1e3 * seconds:.1f}",
            ]
        ],
    )


def _tiled(estimator: Any, times: int) -> Any:
    """Return an estimator with the cells of another, again and again, around moved centers."""
    model, rng = estimator.model_, np.random.default_rng(0)
    centers = np.concatenate([model.partition.centers + rng.normal(size=28) for _ in range(times)]).astype(np.float32)
    codes = -1 - np.arange(len(centers))
    groups = np.array_split(np.arange(len(centers)), max(1, len(centers) // 50))
    inner = [Node(centers[group], codes[group]) for group in groups]
    root = Node(np.stack([centers[group[0]] for group in groups]), 1 + np.arange(len(groups)))
    radii = np.tile(model.partition.radii, times)
    many = replace(
        model,
        partition=VoronoiPartition(centers, radii, (root, *inner)),
        cells=list(model.cells) * times,
        calibration=None,
    )
    estimator.members_ = (replace(estimator.members_[0], model=many),)
    estimator.model_ = many
    return estimator


def server(given: argparse.Namespace) -> None:
    model = _synthetic(f"cells-of-2000-{given.synthetic}", given.synthetic, cell_size=2000)
    X = toy_mixture(5000, 28, random_state=1)[0]
    predictor = model.predictor()
    predictor.predict(X)  # packs the cells
    rows = [[f"{n_threads}", f"{_requests(predictor, X, n_threads):,.0f}"] for n_threads in (1, 4, 16)]
    print_table("Requests of one row a second, by threads that share a predictor", ("threads", "requests/s"), rows)


def _requests(predictor: Any, X: np.ndarray, n_threads: int, seconds: float = 3.0) -> float:
    counts, end = [0] * n_threads, time.perf_counter() + seconds

    def serve(thread: int) -> None:
        i = thread
        while time.perf_counter() < end:
            predictor.predict(X[i % len(X) : i % len(X) + 1])
            counts[thread] += 1
            i += n_threads

    threads = [threading.Thread(target=serve, args=(thread,)) for thread in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


TABLES = {"batches": batches, "cells": cells, "row": row, "file": file, "server": server}


def main() -> None:
    parser = command_parser("predict", __doc__)
    add = parser.add_argument
    add("tables", nargs="*", choices=(*TABLES, []), default=list(TABLES), help="which tables (all)")
    add("--sets", nargs="*", choices=SETS, default=list(SETS), help="of the batches (all)")
    add("--rows", type=int, default=20_000, help="to train on, of each set (20000)")
    add("--trees", type=int, default=500, help="of LightGBM, for each class (500)")
    add("--no-compiler", dest="compiler", action="store_false", help="do not compile trees, which takes minutes")
    add("--synthetic", type=int, default=200_000, help="rows of the synthetic models (200000)")
    add("--tiles", type=int, default=50, help="copies of the synthetic model in the file that is opened (50)")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in given.tables or TABLES:
        TABLES[name](given)


if __name__ == "__main__":
    main()
