"""The command line on files: training beyond the memory, forecasts, streaming predictions.

    python -m benchmarks.files out-of-core --rows 10000000 --max-memory 1GB
    python -m benchmarks.files forecast --sets covtype cod-rna higgslike
    python -m benchmarks.files predict --rows 1000000

`out-of-core` writes a parquet file of HIGGS-like rows, trains on it with `localsvm train --max-memory`, and prints
seconds and the peak of the process's memory; with --compare it trains in memory, too, and compares the models.
`forecast` prints what `localsvm train --dry-run` says against what training then takes. `predict` prints the rows per
second from parquet to parquet, reading and writing included, against `predict` on an array in memory, in one process.
Real sets are read from the folder $LOCALSVM_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import localsvm
from benchmarks.command_line import command_parser
from benchmarks.csv_store import machine
from benchmarks.generated import covlike, draw, fill_higgs, higgslike, toy4
from benchmarks.sets import read
from benchmarks.tables import print_table
from localsvm.data.files import Schema, open_file, open_writer
from localsvm.evaluation.streaming import predict_batches

GENERATED = {"toy4": toy4, "higgslike": higgslike, "covlike": covlike}
GENERATED_ROWS = 200_000
REAL = ("skin", "cod-rna", "covtype", "ijcnn1")
CHUNK = 1 << 20


def main() -> None:
    parser = command_parser("files", __doc__)
    parser.add_argument("part", choices=("out-of-core", "forecast", "predict"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--max-memory", default="1GB")
    parser.add_argument("--compare", action="store_true", help="train in memory, too, and compare the models")
    parser.add_argument("--sets", nargs="+", default=[*REAL, *GENERATED], choices=(*REAL, *GENERATED))
    parser.add_argument("--folder", type=Path, help="for the files; a temporary one by default")
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        {"out-of-core": _out_of_core, "forecast": _forecast, "predict": _predict}[given.part](given, Path(folder))


def _command(*arguments: object) -> dict[str, Any]:
    """Run a command; return its JSON with the seconds and the peak memory of the process."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "localsvm", *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, _peak(process.pid))
        time.sleep(0.05)
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"localsvm {arguments[0]} ended with {process.returncode}; its message is above.")
    return {**json.loads(output), "wall": time.perf_counter() - begin, "peak": peak}


def _peak(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return 1024 * int(status.partition("VmHWM:")[2].split()[0]) if "VmHWM:" in status else 0


def _table(X: NDArray[Any], y: NDArray[Any]) -> pa.Table:
    return pa.table({**{f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])}, "target": y})


def _write_higgs(path: Path, n_rows: int) -> None:
    """Write rows a million at a time: more than the memory holds, if need be."""
    writer = None
    for number, begin in enumerate(range(0, n_rows, CHUNK)):
        X, y, _ = draw(fill_higgs, 28, min(CHUNK, n_rows - begin), number)
        table = _table(X, y)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _out_of_core(given: argparse.Namespace, folder: Path) -> None:
    data = folder / "rows.parquet"
    _write_higgs(data, given.rows)
    in_memory, in_file = 4 * 28 * given.rows / 1e9, data.stat().st_size / 1e9
    print(f"{given.rows:,} rows of 28 float32 columns: {in_memory:.3g} GB, in parquet {in_file:.3g} GB")
    header = ("", "seconds", "cells", "peak GB", "model GB", "CV risk")
    lines = []
    options = {f"--max-memory {given.max_memory}": ("--max-memory", given.max_memory)}
    if given.compare:
        options["in memory"] = ()
    for name, extra in options.items():
        model = folder / f"{len(lines)}.lsvm"
        found = _command("train", data, "--target", "target", "-o", model, "--scaling", "minmax", *extra)
        sizes = (found["peak"] / 1e9, model.stat().st_size / 1e9)
        line = [name, f"{found['wall']:.1f}", str(found["cells"]), *(f"{size:.3f}" for size in sizes)]
        lines.append([*line, f"{found['cv_risk']:.5f}"])
    print_table("Training on a file", header, lines)
    if given.compare:
        same = _cells(folder / "0.lsvm") == _cells(folder / "1.lsvm")
        print("The cells of both models are the same, byte for byte." if same else "THE MODELS DIFFER.")


def _cells(path: Path) -> bytes:
    """Return the bytes of a model file before the record of the whole, which has the settings."""
    content = path.read_bytes()
    return content[: int.from_bytes(content[-36:-28], "little")]


def _forecast(given: argparse.Namespace, folder: Path) -> None:
    lines = []
    for name in given.sets:
        X, y = GENERATED[name](GENERATED_ROWS, 0) if name in GENERATED else read(name)
        data = folder / f"{name}.parquet"
        pq.write_table(_table(X, y), data)
        arguments = ("train", data, "--target", "target", "--task", "classify", "-o", folder / "model.lsvm")
        said, done = _command(*arguments, "--dry-run"), _command(*arguments)
        numbers = (said["seconds"], done["seconds"], said["memory"] / 1e9, done["peak"] / 1e9, said["pilot seconds"])
        seconds, memory = numbers[0] / numbers[1], numbers[2] / numbers[3]
        line = [name, f"{len(y):,}", f"{numbers[0]:.1f}", f"{numbers[1]:.1f}", f"{seconds:.2f}"]
        lines.append([*line, f"{numbers[2]:.2f}", f"{numbers[3]:.2f}", f"{memory:.2f}", f"{numbers[4]:.1f}"])
    header = ("", "rows", "forecast, s", "training, s", "ratio", "forecast, GB", "peak, GB", "ratio", "dry run, s")
    print_table("What --dry-run says, and what comes", header, lines)


def _predict(given: argparse.Namespace, folder: Path) -> None:
    X, y = higgslike(given.rows + 50_000, 0)
    clf = localsvm.LocalSVC(scaling="minmax", objective="accuracy", members=1).fit(X[given.rows :], y[given.rows :])
    data, X = folder / "rows.parquet", X[: given.rows]
    pq.write_table(_table(X, y[: given.rows]).drop_columns(["target"]), data)
    clf.save(folder / "model.lsvm")
    stored = localsvm.load(folder / "model.lsvm")
    seconds: dict[str, list[float]] = {"array in memory": [], "parquet to parquet": []}
    for _ in range(9):
        begin = time.perf_counter()
        expected = stored.predict(X)
        seconds["array in memory"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        _stream(stored, data, folder / "out.parquet")
        seconds["parquet to parquet"].append(time.perf_counter() - begin)
    assert (pq.read_table(folder / "out.parquet")["prediction"].to_numpy() == expected).all()
    best = {name: min(times) for name, times in seconds.items()}
    lines = [[name, f"{time:.2f}", f"{given.rows / time:,.0f}"] for name, time in best.items()]
    print_table("Predictions, the best of nine", ("", "seconds", "rows per second"), lines)
    print(f"streaming against memory: {best['array in memory'] / best['parquet to parquet']:.2f}")


def _stream(estimator: Any, data: Path, output: Path) -> None:
    batches = predict_batches(estimator, open_file(data))
    first = next(batches)
    with open_writer(output, Schema.of(first.schema, str(output))) as writer:
        writer.write(first)
        for batch in batches:
            writer.write(batch)


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    main()
