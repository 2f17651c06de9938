"""Reading files into rows of float32, against the fastest plain way with pyarrow and NumPy in the same run.

The plain ways read the whole file with pyarrow's own function and copy its columns into a matrix. Ours reads batches
and decodes them into the rows of such a matrix ("matrix"), or into one block again and again ("stream"), while the next
batches are read. The ways take turns, the fastest time of each counts, and their matrices are compared.

    python -m benchmarks.reading [--rows 1000000] [--repeats 5] [--folder DIR]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.command_line import command_parser
from benchmarks.generated import higgslike
from benchmarks.tables import print_table
from localsvm.data.files import convert_file, open_file, to_numbers
from localsvm.data.files.table import BATCH_ROWS

GOAL = 0.8

Matrix = NDArray[np.float32]
Way = Callable[[Path], Matrix | None]


def read_table(path: Path) -> Any:
    """Read a file as pyarrow does, to float32 where that is an option."""
    if path.suffix == ".parquet":
        return pq.read_table(path)
    names = path.open().readline().replace('"', "").strip().split(",")
    single = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float32()))
    return arrow_csv.read_csv(path, convert_options=single)


def column_by_column(path: Path) -> Matrix:
    table = read_table(path)
    out = np.empty((table.num_rows, table.num_columns), dtype=np.float32)
    for number, column in enumerate(table.columns):
        out[:, number] = column.to_numpy()
    return out


def transposed(path: Path) -> Matrix:
    columns = [column.to_numpy() for column in read_table(path).columns]
    return np.ascontiguousarray(np.stack(columns).T, dtype=np.float32)


def ours(path: Path) -> Matrix:
    file = open_file(path)
    n_rows = file.n_rows
    if n_rows is None:  # as a caller does who has to know: a first pass over a column would cost more than growing
        blocks = [to_numbers(batch, out=_empty(batch.num_rows, batch.num_columns)) for batch in file.batches()]
        return np.concatenate(blocks)
    out = _empty(n_rows, len(file.schema.names))
    begin = 0
    for batch in file.batches():
        begin += len(to_numbers(batch, out=out[begin:]))
    return out


def ours_as_stream(path: Path) -> None:
    file = open_file(path)
    block = _empty(BATCH_ROWS, len(file.schema.names))
    for batch in file.batches():
        to_numbers(batch, out=block)


def _empty(n_rows: int, n_columns: int) -> Matrix:
    return np.empty((n_rows, n_columns), dtype=np.float32)


WAYS: Mapping[str, Way] = {
    "column by column": column_by_column,
    "transposed": transposed,
    "ours, matrix": ours,
    "ours, stream": ours_as_stream,
}


def measure(path: Path, repeats: int) -> dict[str, float]:
    """Return the fastest seconds of every way."""
    seconds = dict.fromkeys(WAYS, float("inf"))
    for _ in range(repeats):
        found = []
        for name, way in WAYS.items():
            start = time.perf_counter()
            X = way(path)
            seconds[name] = min(seconds[name], time.perf_counter() - start)
            found += [] if X is None else [X]
        if not all(np.array_equal(found[0], other) for other in found[1:]):
            raise SystemExit(f"{path.name}: the ways differ")
    return seconds


def share(speed: float) -> str:
    return f"{speed:.2f}{'*' if speed >= GOAL else ''}"


def main() -> None:
    parser = command_parser("reading", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the files are made; default: a temporary directory")
    arguments = parser.parse_args()
    X, _ = higgslike(arguments.rows, seed=0)
    names = [f"x{number}" for number in range(X.shape[1])]
    table = pa.table([np.ascontiguousarray(column) for column in X.T], names=names)
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for ending in ("parquet", "csv"):
            path = Path(folder, f"table.{ending}")
            convert_file(table, path)
            seconds = measure(path, arguments.repeats)
            plain = min(seconds["column by column"], seconds["transposed"])
            rows += [[ending, name, f"{time:.2f}", share(plain / time)] for name, time in seconds.items()]
    print_table(f"{arguments.rows} x {X.shape[1]} numbers", ["format", "way", "seconds", "speed of plain"], rows)


if __name__ == "__main__":
    main()
