"""The command as a user runs it, in a directory of its own; and small files for it."""

import json
import os
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from localsvm.cli.app import app
from localsvm.data import toy_mixture

FAST = ("--cell-size", 100, "--grid", 3, "--ignore", "id")
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
ENVIRONMENT = {**os.environ, **TERMINAL}


@dataclass(frozen=True)
class Done:
    """What a command has left."""

    returncode: int
    stdout: str
    stderr: str


class Shell:
    """A directory, and the command run in it: in this process, or in one of its own where that is the claim."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def command(self, *arguments):
        return [sys.executable, "-m", "localsvm", *map(str, arguments)]

    def run(self, *arguments, code=0, stdin=None):
        with chdir(self.directory):
            done = CliRunner(env=TERMINAL).invoke(app, [*map(str, arguments)], input=stdin, prog_name="localsvm")
        return _checked(Done(done.exit_code, done.stdout, done.stderr), code, done.exception)

    def process(self, *arguments, code=0, stdin=None):
        done = subprocess.run(
            self.command(*arguments), cwd=self.directory, env=ENVIRONMENT, capture_output=True, text=True, input=stdin
        )
        return _checked(Done(done.returncode, done.stdout, done.stderr), code)

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json").stdout)

    def refused(self, *arguments, code):
        """Run a command that cannot work; return the one line that says why."""
        done = self.run(*arguments, code=code)
        assert done.stdout == ""
        return done.stderr

    def path(self, name):
        return self.directory / name

    def table(self, name):
        return pq.read_table(self.directory / name)


def _checked(done, code, exception=None):
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}{done.stdout}"
    assert exception is None or isinstance(exception, SystemExit), repr(exception)
    assert "Traceback" not in done.stderr + done.stdout
    return done


def toy_table(n, seed=0):
    """Two classes with text labels, a category that says something, and an amount."""
    X, y = toy_mixture(n, 3, random_state=seed)
    rng = np.random.default_rng(seed)
    colour = np.where(rng.random(n) < 0.7, np.where(y > 0, "red", "blue"), "green")
    columns = {f"x{j}": X[:, j] for j in range(3)}
    return pa.table(
        {"id": np.arange(n), **columns, "colour": colour, "kind": np.where(y > 0, "yes", "no"), "amount": X.sum(axis=1)}
    )
