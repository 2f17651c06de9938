"""What is not needed is not loaded: the start of Python code and of commands, and completion at every TAB."""

import subprocess
import sys

import pytest
from shell import ENVIRONMENT

import localsvm

HEAVY = ("sklearn", "scipy.special", "scipy.sparse", "pyarrow", "pandas", "matplotlib")
COMPLETION = {"_LOCALSVM_COMPLETE": "complete_bash", "COMP_WORDS": "localsvm tr", "COMP_CWORD": "1"}


def loaded(code, **environment):
    """Return which heavy packages a program loads, and what it prints."""
    after = f"import atexit, sys; atexit.register(lambda: print([m for m in {HEAVY} if m in sys.modules]))\n"
    command = [sys.executable, "-c", after + code]
    done = subprocess.run(command, env=ENVIRONMENT | environment, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize(
    ("arguments", "shown", "environment"),
    [(["--version"], "localsvm", {}), (["train", "--help"], "--target", {}), ([], "train", COMPLETION)],
    ids=["version", "help", "completion"],
)
def test_commands_start_without_heavy_packages(arguments, shown, environment):
    code = f"import sys; sys.argv = ['localsvm', *{arguments}]\nfrom localsvm.cli import main; main()"
    output = loaded(code, **environment)
    assert shown in output
    assert output.endswith("[]\n")


def test_the_package_starts_without_heavy_packages():
    assert loaded("import localsvm") == "[]\n"


def test_the_package_lists_its_public_names_only():
    assert dir(localsvm) == sorted(localsvm.__all__)
    assert all(getattr(localsvm, name) is not None for name in dir(localsvm))
