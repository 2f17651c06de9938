"""Files that change while they are read: an error that says so, never a crash or rows of two versions."""

import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from localsvm import InvalidData
from localsvm.data.files import convert_file, open_file

FORMATS = ("csv", "csv.gz", "libsvm", "parquet", "arrow", "arrows", "npz", "npy")
N = 60_000


def write(path, seed):
    """Write the table of a seed; that of another one has another length."""
    values = np.random.default_rng(seed).normal(size=(N + 5000 * seed, 2))
    if path.suffix == ".npy":
        np.save(path, values)
    else:
        convert_file(pa.table({"target": values[:, 0], "x": values[:, 1]}), path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("files")
    for ending in FORMATS:
        write(directory / f"table.{ending}", 0)
        write(directory / f"other.{ending}", 1)
    return directory


def append(path, other):
    with open(path, "ab") as file:
        file.write(other.read_bytes()[-1000:])


CHANGES = {
    "truncated": lambda path, other: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path, other: os.truncate(path, 0),
    "appended": append,
    "replaced": lambda path, other: os.replace(other, path),
    "rewritten": lambda path, other: shutil.copyfile(other, path),
    "deleted": lambda path, other: path.unlink(),
}

# In a process of its own: the system kills a reader that has mapped the file.
READ = """
import sys
from localsvm.data.files import open_file

try:
    for number, batch in enumerate(open_file(sys.argv[1]).batches(rows=500)):
        if number == 0:
            print("begun", flush=True)
            sys.stdin.readline()
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("ending", ["npy", "arrow", "arrows"])
def test_a_shortened_file_does_not_end_the_process(tmp_path, files, ending):
    path = shutil.copy(files / f"table.{ending}", tmp_path)
    command = [sys.executable, "-c", READ, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        os.truncate(path, os.path.getsize(path) // 2)
        output, _ = process.communicate("\n")
    assert output.startswith(f"{path} was changed while it was read")
    assert process.returncode == 0


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", ["opened", "begun"])
def test_every_change_is_noticed_in_every_format(tmp_path, files, ending, change, moment):
    path, other = tmp_path / f"table.{ending}", tmp_path / f"other.{ending}"
    shutil.copy(files / path.name, path)
    shutil.copy(files / other.name, other)
    file = open_file(path)
    if moment == "opened":
        CHANGES[change](path, other)
    batches = file.batches(rows=500)
    with pytest.raises(InvalidData, match=f"^{path} was changed while it was read. Read it again") as error:
        for number, _ in enumerate(batches):
            if moment == "begun" and number == 0:
                CHANGES[change](path, other)
    assert error.value.__suppress_context__


def test_a_file_that_stays_is_read_any_number_of_times(files):
    for ending in FORMATS:
        file = open_file(files / f"table.{ending}")
        assert [sum(batch.num_rows for batch in file.batches()) for _ in range(2)] == [N, N]


@pytest.mark.parametrize("change", ["truncated", "replaced", "deleted"])
def test_a_part_of_a_directory_that_changes_is_noticed(tmp_path, files, change):
    folder, other = tmp_path / "table", tmp_path / "other.parquet"
    folder.mkdir()
    for name in ("1.parquet", "2.parquet"):
        shutil.copy(files / "table.parquet", folder / name)
    shutil.copy(files / "other.parquet", other)
    batches = open_file(folder).batches(rows=500)
    next(batches)
    CHANGES[change](folder / "2.parquet", other)
    with pytest.raises(InvalidData, match=f"^{folder} was changed while it was read"):
        list(batches)


def test_a_new_part_of_a_directory_is_noticed(tmp_path, files):
    folder = tmp_path / "table"
    folder.mkdir()
    shutil.copy(files / "table.parquet", folder / "1.parquet")
    batches = open_file(folder).batches(rows=500)
    next(batches)
    shutil.copy(files / "table.parquet", folder / "2.parquet")
    with pytest.raises(InvalidData, match="was changed while it was read"):
        list(batches)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i2", "|b1", "<U3", "<M8[D]"])
def test_npy_files_of_any_type_and_order_are_read_in_any_batches(tmp_path, order, dtype):
    X = np.asarray(np.arange(70).reshape(10, 7).astype(dtype), order=order)
    np.save(tmp_path / "table.npy", X)
    file = open_file(tmp_path / "table.npy")
    for rows in (1, 3, 100):
        found = pa.Table.from_batches(list(file.batches(["7", "2"], rows=rows)))
        for name in ("7", "2"):
            assert found[name].to_pylist() == X[:, int(name) - 1].tolist()


@pytest.mark.parametrize("shape", [(0, 10**9), (3, -1), (-1, 2), (10**6, 10**6)])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_headers_of_impossible_arrays_are_refused(tmp_path, ending, shape):
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    path = tmp_path / f"table.{ending}"
    if ending == "npy":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", content)
    with pytest.raises(InvalidData, match=f"^{path} cannot be read: "):
        list(open_file(path).batches())


def test_large_arrow_batches_are_read(tmp_path):
    values = np.arange(9_000_000, dtype=np.float64)
    with pa.ipc.new_file(tmp_path / "table.arrow", pa.schema([("x", pa.float64())])) as writer:
        writer.write_batch(pa.record_batch({"x": values}))
    total = sum(batch.column("x").to_numpy().sum() for batch in open_file(tmp_path / "table.arrow").batches())
    assert total == values.sum()
