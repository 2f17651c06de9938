"""Processes that disturb each other or are stopped: one of two saved models wins whole, finished cells are kept."""

import json
import os
import signal
import subprocess
import sys
import time
from zlib import crc32

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from files import ModelFile
from shell import ENVIRONMENT, toy_table

import localsvm
from localsvm.storage.model_file import open_model

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are stopped as Unix does it")

SAVE_REPEATEDLY = """
import sys
from pathlib import Path
import localsvm

path, source, ready = map(Path, sys.argv[1:])
model = localsvm.load(source)
ready.touch()
while not all(ready.with_name(name).exists() for name in ("ready-0", "ready-1")):
    pass
for _ in range(40):
    model.save(path)
"""


def test_one_of_two_processes_that_save_to_one_path_wins_whole(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 2))
    sources = []
    for number, cell_size in enumerate((600, 50)):
        sources.append(tmp_path / f"source-{number}.lsvm")
        localsvm.LocalSVR(grid=2, cell_size=cell_size).fit(X, X[:, 0]).save(sources[-1])
    path = tmp_path / "models" / "model.lsvm"
    path.parent.mkdir()
    commands = [
        [sys.executable, "-c", SAVE_REPEATEDLY, str(path), str(source), str(tmp_path / f"ready-{number}")]
        for number, source in enumerate(sources)
    ]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    expected = [ModelFile.read(source).cells for source in sources]
    found = set()
    while running := [process for process in processes if process.poll() is None]:
        if path.exists():
            open_model(path).verify()
            found.add(expected.index(ModelFile.read(path).cells))
        assert running
    assert [process.communicate()[1] for process in processes] == ["", ""]
    assert expected.index(ModelFile.read(path).cells) in (0, 1)
    assert found
    assert [entry.name for entry in path.parent.iterdir()] == ["model.lsvm"]


# ------------------------------------------------------------------------------------------- stopped trainings

TRAIN = ("-t", "kind", "--ignore", "amount", "--ignore", "id", "--cell-size", 200, "--scaling", "minmax", "--jobs", 1)


def kept(directory):
    return len(list(directory.glob("cell-*.rec")))


def stopped(shell, arguments, how, after):
    """Start a training, stop it when so many cells are kept, and return its exit code and what it said."""
    process = subprocess.Popen(
        shell.command(*arguments), cwd=shell.directory, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    while kept(shell.path("cells")) < after and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(how)
    return process.wait(), process.communicate()[1]


def test_a_terminated_training_keeps_its_cells_and_ends_with_the_same_model(shell):
    pq.write_table(toy_table(4000), shell.path("train.parquet"))
    shell.path("model.lsvm").write_bytes(b"the old model")
    train = ("train", "train.parquet", *TRAIN, "--checkpoint", "cells")
    for after in (2, 6):
        code, said = stopped(shell, train, signal.SIGTERM, after)
        assert code == -signal.SIGTERM and "Traceback" not in said
        assert shell.path("model.lsvm").read_bytes() == b"the old model"
    before = {path.name: path.stat().st_mtime_ns for path in shell.path("cells").glob("cell-*.rec")}
    assert len(before) >= 6
    shell.run("resume", "cells", "-q")
    after = {path.name: path.stat().st_mtime_ns for path in shell.path("cells").glob("cell-*.rec")}
    assert before.items() <= after.items()
    shell.run("train", "train.parquet", *TRAIN, "-q", "-o", "whole.lsvm")
    assert ModelFile.read(shell.path("model.lsvm")).cells == ModelFile.read(shell.path("whole.lsvm")).cells
    assert sorted(path.name for path in shell.directory.iterdir()) == [
        "cells",
        "model.lsvm",
        "train.parquet",
        "whole.lsvm",
    ]


def test_a_training_from_standard_input_is_resumed_with_the_same_input(shell):
    pa_csv.write_csv(toy_table(300), shell.path("train.csv"))
    text = shell.path("train.csv").read_text()
    train = ("train", "-", *TRAIN, "--grid", 2, "-q", "--checkpoint", "cells")
    shell.run(*train, stdin=text)
    expected = ModelFile.read(shell.path("model.lsvm")).cells
    shell.path("model.lsvm").unlink()
    next(shell.path("cells").glob("cell-*.rec")).unlink()
    shell.run("resume", "cells", "-q", stdin=text)
    assert ModelFile.read(shell.path("model.lsvm")).cells == expected


# ------------------------------------------------------------------------------------ checkpoints of other fits


@pytest.fixture
def begun(shell):
    """A finished training with its checkpoint, and the arguments of it."""
    pa_csv.write_csv(toy_table(300), shell.path("train.csv"))
    arguments = ("train", "train.csv", *TRAIN, "--grid", 2, "-q", "--checkpoint", "cells")
    shell.run(*arguments)
    return arguments


def test_a_checkpoint_of_another_version_is_refused_with_both_versions(shell, begun):
    path = shell.path("cells/manifest.json")
    content = json.loads(path.read_text())
    content["settings"]["localsvm"] = "0.0.1"
    parts = {name: content[name] for name in ("settings", "data", "info")}
    path.write_text(json.dumps({**content, "checksum": crc32(json.dumps(parts, sort_keys=True).encode())}))
    for command in (begun, ("resume", "cells", "-q")):
        found = shell.refused(*command, code=2)
        assert f"localsvm was '0.0.1', is '{localsvm.__version__}'" in found


def rewrite(shell, change):
    """Change the table of the training."""
    table = pa_csv.read_csv(shell.path("train.csv"))
    pa_csv.write_csv(change(table), shell.path("train.csv"))


OTHER_COLUMNS = {
    "one less": (lambda table: table.drop_columns(["x1"]), "it has the column 'x1' that the data lacks."),
    "one more": (lambda table: table.append_column("size", table["x0"]), "it lacks the column 'size' of the data."),
    "renamed": (
        lambda table: table.rename_columns(["id", "x0", "x1", "size", "colour", "kind", "amount"]),
        "it has the column 'x2' that the data lacks and it lacks the column 'size' of the data.",
    ),
    "another order": (
        lambda table: table.select(["id", "x1", "x0", "x2", "colour", "kind", "amount"]),
        "its columns have another order.",
    ),
}


@pytest.mark.parametrize("name", OTHER_COLUMNS)
def test_a_checkpoint_of_other_columns_is_refused_with_the_columns(shell, begun, name):
    change, words = OTHER_COLUMNS[name]
    rewrite(shell, change)
    for command in (begun, ("resume", "cells", "-q")):
        assert words in shell.refused(*command, code=2)


def test_a_checkpoint_of_other_options_for_columns_is_refused(shell, begun):
    assert "it has the column 'x2' that the data lacks" in shell.refused(*begun, "--ignore", "x2", code=2)
