"""Tables at the limits: exactly as many columns as can be read, and more rows than are in memory at once."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shell import ENVIRONMENT

from localsvm import InvalidData, LocalSVC
from localsvm.data.files import open_file
from localsvm.data.files.loading import MemoryBudget, Roles, load
from localsvm.data.files.table import MAX_COLUMNS


@pytest.fixture(scope="module")
def wide():
    """A few rows of the largest number of columns; only three of them are not constant."""
    X = np.zeros((6, MAX_COLUMNS))
    X[:, [0, 500, MAX_COLUMNS - 1]] = np.random.default_rng(0).normal(size=(6, 3)).round(3)
    return X


def write_libsvm(path, X, first=1):
    lines = [
        f"{number % 2} " + " ".join(f"{j + first}:{row[j]}" for j in np.flatnonzero(row))
        for number, row in enumerate(X)
    ]
    path.write_text("\n".join(lines) + "\n")


def test_a_model_of_exactly_100_000_columns(wide):
    y = np.arange(6) % 2
    clf = LocalSVC(grid=2, scaling="minmax", n_folds=2).fit(wide, y)
    assert clf.n_features_in_ == MAX_COLUMNS == 100_000
    assert clf.predict(wide).shape == (6,)


@pytest.mark.parametrize("first", [0, 1])
def test_a_libsvm_file_of_exactly_100_000_indices(tmp_path, wide, first):
    write_libsvm(tmp_path / "wide.libsvm", wide, first)
    loaded = load(open_file(tmp_path / "wide.libsvm"), Roles("target"), MemoryBudget(1 << 30, str(tmp_path)))
    np.testing.assert_array_equal(loaded.table.X, wide)
    write_libsvm(tmp_path / "wider.libsvm", np.hstack([wide, wide[:, -1:], wide[:, -1:]]))
    with pytest.raises(InvalidData, match="has the index 100002; 100000 is the largest"):
        open_file(tmp_path / "wider.libsvm")


def test_a_csv_file_of_exactly_100_000_columns(tmp_path, wide):
    path = tmp_path / "wide.csv"
    header = ",".join(f"x{j}" for j in range(MAX_COLUMNS))
    path.write_text("\n".join([header, *(",".join(f"{value:g}" for value in row) for row in wide[:2])]))
    (batch,) = open_file(path).batches()
    np.testing.assert_array_equal(np.array([column.to_numpy() for column in batch.columns]).T, wide[:2])
    path.write_text(f"{header},one more\n" + "0," * MAX_COLUMNS + "0\n")
    with pytest.raises(InvalidData, match="has 100001 columns; at most 100000 can be read"):
        open_file(path)


def test_wide_rows_are_loaded_in_small_batches(tmp_path):
    X = np.zeros((3000, 2000), dtype=np.float32)
    np.save(tmp_path / "wide.npy", X)
    counts = []
    budget = MemoryBudget(1 << 20, str(tmp_path))
    loaded = load(open_file(tmp_path / "wide.npy"), Roles("1"), budget, lambda count, total: counts.append(count))
    assert loaded.table.X.shape == (3000, 1999)
    assert max(np.diff([0, *counts])) * 2000 <= 1 << 21


# Not resource.getrusage: the memory of the process that starts another one counts there, too.
MEASURED = """
import runpy, sys

try:
    runpy.run_module("localsvm", run_name="__main__")
finally:
    with open("/proc/self/status") as file:
        print(next(line for line in file if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the memory of a process cannot be measured")
def test_the_memory_of_a_prediction_does_not_depend_on_the_number_of_rows(shell):
    X = np.random.default_rng(0).normal(size=(1 << 16, 10))
    table = pa.table({f"x{j}": X[:, j] for j in range(10)})
    LocalSVC(grid=2, cell_size=500, scaling="minmax", max_memory="500MB").fit(
        table.slice(0, 2000).to_pandas(), X[:2000, 0] > 0
    ).save(shell.path("model.lsvm"))
    peaks = []
    for count in (8, 32):  # 0.5 and 2 million rows: 40 and 160 MB
        with pq.ParquetWriter(shell.path("rows.parquet"), table.schema) as writer:
            for _ in range(count):
                writer.write_table(table)
        peaks.append(peak_memory(shell, "predict", "model.lsvm", "rows.parquet", "-o", "out.parquet", "-q", "--json"))
        assert pq.ParquetFile(shell.path("out.parquet")).metadata.num_rows == count << 16
    assert peaks[1] - peaks[0] < 100e6


def peak_memory(shell, *arguments):
    """Run a command and return the largest number of bytes that it had in memory."""
    command = [sys.executable, "-c", MEASURED, *map(str, arguments)]
    done = subprocess.run(command, cwd=shell.directory, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    return 1024 * int(done.stderr.split()[-2])
