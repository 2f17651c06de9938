"""The environments of the peers: made once, under .bench/, and used in subprocesses only.

liquidSVM, the paper's own software, imports pkg_resources, which setuptools 81 took out, so it lives
with an older one, apart from the project. LightGBM is what many would use instead, xRFM the
most accurate relative.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent / ".bench"


def liquidsvm_python() -> Path:
    """Return the interpreter that can import liquidSVM; the first call builds it."""
    # Its setup.py needs the requirements installed before, and says so nowhere.
    requirements = ("setuptools<81", "wheel", "numpy", "scipy")
    return _python("liquidsvm", [requirements, ("--no-build-isolation", "liquidSVM==1.0.1")])


def lightgbm_python() -> Path:
    """Return the interpreter that can import LightGBM; the first call installs it."""
    return _python("lightgbm", [("lightgbm==4.6.0", "scikit-learn", "numpy")])


def xrfm_python() -> Path:
    """Return the interpreter that can import xRFM; the first call installs it, PyTorch and all."""
    return _python("xrfm", [("xrfm==0.4.5",)])


def _python(name: str, installs: list[tuple[str, ...]]) -> Path:
    folder = BENCH / name
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    ready = folder / ".installed"
    if not ready.exists():
        print(f"Installing {installs[-1][-1]} into {folder} ...", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        for arguments in installs:
            subprocess.run([*pip, *arguments], check=True)
        ready.touch()
    return python
