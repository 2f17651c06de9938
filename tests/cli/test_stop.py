"""Interrupted or killed training: finished cells are saved, and resuming gives the same model."""

import os
import signal
import subprocess
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from files import ModelFile
from shell import ENVIRONMENT, toy_table

import localsvm

pytestmark = pytest.mark.skipif(os.name != "posix", reason="uses Unix signals")

OPTIONS = ("-t", "kind", "--ignore", "amount", "--ignore", "id", "--cell-size", 200, "--scaling", "minmax", "--jobs", 1)


@pytest.fixture
def slow(shell):
    """Arguments of a training with many cells."""
    pq.write_table(toy_table(4000), shell.path("train.parquet"))
    return ("train", "train.parquet", *OPTIONS, "--checkpoint", "cells")


def kept(shell):
    return len(list(shell.path("cells").glob("cell-*.rec"))) if shell.path("cells").exists() else 0


def start(shell, arguments):
    """Start a command that reacts to SIGINT, even if the test runner ignores it."""
    return subprocess.Popen(
        shell.command(*arguments),
        cwd=shell.directory,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def stop(shell, arguments, how, after=3):
    """Start a training, and send a signal once so many cells are saved."""
    process = start(shell, arguments)
    while kept(shell) < after and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(how)
    output, errors = process.communicate()
    return process.returncode, output, errors


def test_ctrl_c_saves_finished_cells_and_says_how_to_resume(shell, slow):
    code, output, errors = stop(shell, slow, signal.SIGINT)
    assert (code, output) == (130, "")
    assert "Traceback" not in errors
    assert "Continue with: localsvm resume cells" in errors
    assert not shell.path("model.lsvm").exists()
    before = kept(shell)
    found = shell.json("resume", "cells")
    assert found["cells"] > before >= 3
    assert shell.path("model.lsvm").exists()


def test_without_a_checkpoint_ctrl_c_says_that_nothing_was_saved(shell):
    process = start(shell, ("train", "-", "-t", "y"))
    process.stdin.write("x,y\n" + "1.5,2.5\n" * 200_000)  # more than a pipe holds: once written, the process is reading
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors == "Interrupted; nothing was saved. Use --checkpoint DIR to save finished cells.\n"


def test_resuming_a_killed_training_gives_the_same_model(shell, slow):
    shell.run(*slow[:-1], "whole", "-o", "whole.lsvm")
    for count in (2, 5, 9):
        code, _, _ = stop(shell, slow, signal.SIGKILL, after=count)
        assert code == -signal.SIGKILL
    shell.run("resume", "cells")
    whole, resumed = (ModelFile.read(shell.path(name)) for name in ("whole.lsvm", "model.lsvm"))
    assert resumed.cells == whole.cells
    frame = toy_table(200, seed=5).select(["x0", "x1", "x2", "colour"])
    ours, theirs = (localsvm.load(shell.path(name)).predict_proba(frame) for name in ("model.lsvm", "whole.lsvm"))
    np.testing.assert_array_equal(ours, theirs)


def test_a_checkpoint_of_other_data_is_refused_with_the_difference(shell, slow):
    stop(shell, slow, signal.SIGKILL)
    pq.write_table(toy_table(3999), shell.path("train.parquet"))
    found = shell.refused("resume", "cells", code=2)
    assert "3999" in found and "4000" in found
    pq.write_table(toy_table(4000), shell.path("train.parquet"))
    found = shell.refused(*slow, "--grid", 5, code=2)
    assert "grid" in found
    shell.run("resume", "cells")


def test_a_directory_that_is_not_a_checkpoint_is_refused(shell):
    shell.path("photos").mkdir()
    shell.path("photos/cat.jpg").write_bytes(b"meow")
    code = shell.run("resume", "photos", code=3).returncode
    assert code == 3
    assert [p.name for p in shell.path("photos").iterdir()] == ["cat.jpg"]
