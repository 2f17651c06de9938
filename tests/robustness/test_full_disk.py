"""A disk that is full, as a small tmpfs where root may mount one, and as a limit on the size of files everywhere.

What was there stays as it was, no part of a file is left, and the error is a sentence that names the file.
"""

import os
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from files import ModelFile
from shell import ENVIRONMENT, TERMINAL, Shell, toy_table

resource = pytest.importorskip("resource", reason="the size of files cannot be limited")

OF_CELLS = ("--ignore", "amount", "--ignore", "id", "--cell-size", 100, "--grid", 3, "--scaling", "minmax")
TRAIN = ("-t", "kind", "--members", 1, *OF_CELLS)
DISK_BYTES = 1_000_000
FREE = 20_000
PAGE = 4096  # of which tmpfs uses whole ones


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data, a model and its checkpoint."""
    shell = Shell(tmp_path_factory.mktemp("made"))
    pq.write_table(toy_table(3000), shell.path("train.parquet"))
    shell.run("train", "train.parquet", *TRAIN, "-q", "-o", "model.lsvm", "--checkpoint", "cells")
    return shell


@pytest.fixture
def disk(tmp_path):
    """A directory on a small disk of its own."""
    directory = tmp_path / "disk"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(directory)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system cannot be mounted")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(disk, but_for=()):
    """Leave little free space, and that of some files; return the file that takes the rest."""
    other = disk / "other"
    needed = sum(-(-path.stat().st_size // PAGE) * PAGE for path in but_for)
    other.write_bytes(os.urandom(shutil.disk_usage(disk).free - FREE - needed))
    return other


def files_in(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_saving_to_a_full_disk_keeps_the_old_model(made, disk):
    shutil.copy(made.path("model.lsvm"), disk / "model.lsvm")
    fill(disk)
    before = files_in(disk)
    found = made.refused("train", "train.parquet", *TRAIN, "-q", "-o", disk / "model.lsvm", code=4)
    assert f"cannot write '{disk}/model.lsvm': no space left on device. What is there was not changed" in found
    assert files_in(disk) == before
    made.run("predict", disk / "model.lsvm", "train.parquet")


def test_a_checkpoint_on_a_full_disk_keeps_its_cells_and_training_continues(made, disk, tmp_path):
    other = fill(disk, but_for=made.path("cells").glob("stage-*.rec"))
    output = tmp_path / "model.lsvm"
    output.write_bytes(b"the old model")
    train = ("train", "train.parquet", *TRAIN, "-q", "-o", output, "--checkpoint", disk / "cells")
    found = made.refused(*train, code=4)
    assert f"cannot write '{disk}/cells/cell-" in found and "no space left on device" in found
    assert output.read_bytes() == b"the old model"
    kept = {path for path in files_in(disk) if path.name.startswith("cell-")}
    assert kept and not list(disk.rglob("*.part"))
    other.unlink()
    made.run("resume", disk / "cells", "-q")
    assert ModelFile.read(output).cells == ModelFile.read(made.path("model.lsvm")).cells


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow", "npz", "libsvm"])
def test_a_table_on_a_full_disk_leaves_the_old_file(tmp_path, disk, ending):
    shell = Shell(tmp_path)
    numbers = np.random.default_rng(0).normal(size=(2, 10_000))
    pq.write_table(pa.table({"target": numbers[0], "x": numbers[1]}), shell.path("long.parquet"))
    (disk / f"table.{ending}").write_bytes(b"the old table")
    other = fill(disk)
    found = shell.refused("convert", "long.parquet", disk / f"table.{ending}", "-q", code=4)
    assert f"Error: cannot write '{disk}/table.{ending}': no space left on device. What is there was not" in found
    other.unlink()
    assert {str(path): content for path, content in files_in(disk).items()} == {f"table.{ending}": b"the old table"}


def test_a_report_on_a_full_disk_leaves_the_old_page(made, disk):
    (disk / "report.html").write_text("the old page")
    fill(disk)
    before = files_in(disk)
    found = made.refused("report", "model.lsvm", "-o", disk / "report.html", "-q", code=4)
    assert f"cannot write '{disk}/report.html': no space left on device" in found
    assert files_in(disk) == before


def test_a_report_can_go_to_standard_output(made):
    assert "</html>" in made.process("report", "model.lsvm", "-o", "/dev/stdout", "-q").stdout


def test_rows_that_do_not_fit_on_the_workspace_are_refused(made, disk):
    fill(disk)
    train = ("train", "train.parquet", *TRAIN, "-q", "-o", "new.lsvm", "--max-memory", "100kB", "--workspace", disk)
    assert f"'{disk}' has" in made.refused(*train, code=3)
    assert not made.path("new.lsvm").exists()


def test_standard_input_that_does_not_fit_in_the_temporary_directory_is_refused(made, disk, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(disk))
    text = "x,kind\n" + "1.5,a\n" * 200_000
    found = made.run("train", "-", "-t", "kind", code=4, stdin=text).stderr
    assert f"Error: standard input is copied to '{disk}'" in found and "Set TMPDIR" in found
    assert list(disk.iterdir()) == []


# ------------------------------------------------------------------------------- a limit on the size of files


def limited(shell, n_bytes, *arguments):
    """Run a command whose files may have at most `n_bytes`; return its exit code and what it says."""
    done = subprocess.run(
        shell.command(*arguments),
        cwd=shell.directory,
        env=ENVIRONMENT | TERMINAL,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes)),
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_a_model_above_the_limit_of_a_file_keeps_the_old_one(made, tmp_path):
    output = tmp_path / "model.lsvm"
    output.write_bytes(b"the old model")
    cells = tmp_path / "cells"
    train = ("train", "train.parquet", *TRAIN, "-q", "-o", output, "--checkpoint", cells)
    code, said = limited(made, made.path("model.lsvm").stat().st_size - 1, *train)
    assert code == 4
    assert f"cannot write '{output}': file too large. What is there was not changed" in said
    assert output.read_bytes() == b"the old model"
    assert not list(tmp_path.rglob("*.part"))
    made.run("resume", cells, "-q")
    assert ModelFile.read(output).cells == ModelFile.read(made.path("model.lsvm")).cells


def test_a_table_above_the_limit_of_a_file_leaves_none(made, tmp_path):
    pa_csv.write_csv(toy_table(3000), tmp_path / "table.csv")
    code, said = limited(made, 20_000, "convert", tmp_path / "table.csv", tmp_path / "table.parquet", "-q")
    assert code == 4
    assert f"cannot write '{tmp_path}/table.parquet': file too large" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]
