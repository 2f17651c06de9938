"""The environment of liquidSVM, the paper's own software: made once, used in subprocesses only.

liquidSVM imports pkg_resources, which setuptools 81 took out, so it lives with an older one, apart
from the project, under .bench/.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent / ".bench"
_REQUIREMENTS = ("setuptools<81", "wheel", "numpy", "scipy")
_PEER = "liquidSVM==1.0.1"


def liquidsvm_python() -> Path:
    """Return the interpreter that can import liquidSVM; the first call builds it."""
    folder = BENCH / "liquidsvm"
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    ready = folder / ".installed"
    if not ready.exists():
        print(f"Installing {_PEER} into {folder} ...", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, *_REQUIREMENTS], check=True)
        # Its setup.py needs what is installed now, and says so nowhere.
        subprocess.run([*pip, "--no-build-isolation", _PEER], check=True)
        ready.touch()
    return python
