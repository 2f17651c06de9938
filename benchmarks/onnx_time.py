"""Microseconds per row of an exported model in onnxruntime and of the estimator itself, by cells and rows of a batch.

A model has so many cells of 2000 support vectors and 28 features, as HIGGS has: clusters of 2000 rows, each of which
is a cell of least squares. Processor time of one thread; the least of several repeats.

    python -m benchmarks.onnx_time [--cells 1 20 200] [--rows 1 16 256 10000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import onnxruntime

from localsvm import Grid, LocalSVR

CELL_SIZE, N_FEATURES, REPEATS = 2000, 28, 7
ONE_POINT = Grid(widths=(1.0,), lams=(1e-3,))


def clusters(n_cells: int, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows around so many centers, in turn, and targets that are half noise."""
    centers = np.random.default_rng(0).uniform(-10, 10, size=(n_cells, N_FEATURES))
    rng = np.random.default_rng(seed)
    X = centers[np.arange(n_rows) % n_cells] + 0.5 * rng.normal(size=(n_rows, N_FEATURES))
    return X.astype(np.float32), np.sin(X[:, 0]) + rng.normal(size=n_rows)


def microseconds(work: Callable[[], object], n_rows: int) -> float:
    """Return the least processor time of a call, per row."""
    calls = max(1, 2000 // n_rows)
    work()
    found = []
    for _ in range(REPEATS):
        begin = time.process_time()
        for _ in range(calls):
            work()
        found.append((time.process_time() - begin) / calls)
    return min(found) / n_rows * 1e6


def measure(n_cells: int, batches: list[int]) -> None:
    """Print a line for every size of batch."""
    X, y = clusters(n_cells, n_cells * CELL_SIZE, seed=1)
    settings = {"kernel": "gauss", "scaling": "standard", "relevance": None, "refit": "retrain"}
    model = LocalSVR(members=1, cell_size=CELL_SIZE, grid=ONE_POINT, n_folds=2, **settings).fit(X, y)
    model.n_jobs = 1
    exported = model.to_onnx().SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(exported, options, providers=["CPUExecutionProvider"])
    seconds = time.perf_counter() - begin
    per_cell = np.mean([cell["support_vectors"] for cell in model.cells_])
    size = f"{len(exported) / 1e6:.1f} MB, opens in {seconds:.2f} s"
    print(f"\n{model.n_cells_} cells of {per_cell:.0f} support vectors: {size}")
    print(f"{'rows':>8}{'onnxruntime':>14}{'localsvm':>12}   microseconds per row")
    for count in batches:
        rows = clusters(n_cells, count, seed=2)[0]
        in_runtime = microseconds(lambda rows=rows: session.run(None, {"X": rows}), count)
        print(f"{count:8,}{in_runtime:14.2f}{microseconds(lambda rows=rows: model.predict(rows), count):12.2f}")


def main() -> None:
    """Measure models of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[1, 20, 200])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 256, 10_000])
    arguments = parser.parse_args()
    for n_cells in arguments.cells:
        measure(n_cells, arguments.rows)


if __name__ == "__main__":
    main()
