"""What a user sees in a terminal: the display is drawn and deleted, messages stay."""

import os
import re
import signal
import time

import pyarrow.parquet as pq
import pytest
from shell import ENVIRONMENT, toy_table

pty = pytest.importorskip("pty")

ROW = re.compile(r"\x1b\[(\d*)([A-Z])|\x1b\[\?\d+[hl]|(\r)|(\n)|([^\x1b\r\n])")


def screen(output):
    """Return the lines that a terminal shows after this output: what is moved over and deleted is gone."""
    lines, row, column = [""], 0, 0
    output = re.sub(r"\x1b\[[\d;]*m", "", output)
    for number, move, back, down, character in ROW.findall(output):
        if character:
            lines[row] = lines[row][:column].ljust(column) + character + lines[row][column + 1 :]
            column += 1
        elif back:
            column = 0
        elif down:
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif move == "A":
            row = max(0, row - int(number or 1))
        elif move == "K":
            lines[row] = "" if number == "2" else lines[row][:column]
    return [line.rstrip() for line in lines if line.strip()]


def run_in_terminal(shell, arguments, stop_when):
    """Run a command in a pseudo-terminal, press Ctrl-C once `stop_when` says so, and return code and screen."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(shell.directory)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.execve(shell.command()[0], shell.command(*arguments), {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "120"})
    output, pressed = b"", False
    os.set_blocking(terminal, False)
    while True:
        try:
            read = os.read(terminal, 1 << 16)
        except BlockingIOError:
            read = None
            time.sleep(0.01)
        except OSError:  # the other end is closed
            break
        if read == b"":
            break
        output += read or b""
        if not pressed and stop_when(output.decode(errors="replace")):
            os.write(terminal, b"\x03")
            pressed = True
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), output.decode(errors="replace")


@pytest.fixture
def slow(shell):
    pq.write_table(toy_table(4000), shell.path("train.parquet"))
    small = ("--cell-size", 200, "--scaling", "minmax", "--jobs", 1)
    return ("train", "train.parquet", "-t", "kind", "--ignore", "amount", *small, "--checkpoint", "cells")


def test_ctrl_c_leaves_its_message_on_the_screen(shell, slow):
    def two_cells_are_kept(_):
        return len(list(shell.path("cells").glob("cell-*.rec"))) >= 2 if shell.path("cells").exists() else False

    code, output = run_in_terminal(shell, slow, two_cells_are_kept)
    assert code == 130
    last = screen(output)[-1]
    said = re.fullmatch(
        r"Interrupted\. (\d+)( of \d+)? cells are kept in cells\. Continue with: localsvm resume cells", last
    )
    assert int(said[1]) >= 2


def test_the_stages_of_a_training_are_named_while_they_last(shell, slow):
    code, output = run_in_terminal(shell, slow[:-2], lambda _: False)
    assert code == 0
    for stage in ("reading rows", "weighting the features", "partitioning", "training cells", "writing the model"):
        assert stage in output
    assert not any("training cells  " in line for line in screen(output))
