"""Data files and a trained model for the tests of commands."""

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from shell import FAST, Shell, toy_table


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


@pytest.fixture(scope="session")
def toy_files(tmp_path_factory):
    """Training and test rows in files of two formats."""
    directory = tmp_path_factory.mktemp("toy")
    for name, n, seed in (("train", 400, 0), ("test", 300, 1)):
        table = toy_table(n, seed)
        pq.write_table(table, directory / f"{name}.parquet")
        pa_csv.write_csv(table, directory / f"{name}.csv")
    return directory


@pytest.fixture(scope="session")
def trained(tmp_path_factory, toy_files):
    """A trained classifier."""
    shell = Shell(tmp_path_factory.mktemp("trained"))
    shell.run("train", toy_files / "train.parquet", "-t", "kind", "--ignore", "amount", *FAST, "-o", "model.lsvm")
    return shell.path("model.lsvm")
