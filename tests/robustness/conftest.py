"""A directory to run commands in, and small files of one table."""

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from shell import Shell, toy_table


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


@pytest.fixture(scope="session")
def toy_files(tmp_path_factory):
    """One table in several formats; the LIBSVM file has its numbers only."""
    directory = tmp_path_factory.mktemp("toy")
    table = toy_table(300).select(["x0", "x1", "x2", "colour", "kind"])
    pq.write_table(table, directory / "toy.parquet")
    pa_csv.write_csv(table, directory / "toy.csv")
    rows = zip(*(table[name].to_pylist() for name in ("kind", "x0", "x1", "x2")), strict=True)
    lines = [f"{int(kind == 'yes')} 1:{a} 2:{b} 3:{c}\n" for kind, a, b, c in rows]
    (directory / "toy.libsvm").write_text("".join(lines))
    return directory
