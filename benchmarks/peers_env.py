"""The environments of the peers: made once, under .bench/, and used in subprocesses only.

liquidSVM, the paper's own software, imports pkg_resources, which setuptools 81 took out, so it lives
with an older one, apart from the project. LightGBM is what many would use instead; `PEERS` has the others.
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
    return _python("lightgbm", [("lightgbm==4.7.0", "scikit-learn", *FRAMES)])


FRAMES = ("pandas", "pyarrow")
PEERS = {
    "scikit-learn": ("scikit-learn==1.9.1",),
    "intelex": ("scikit-learn-intelex==2026.2.0", "scikit-learn"),
    # The wheel named thundersvm loads libraries of CUDA 9 even for the processor; this one does not.
    "thundersvm": ("thundersvm-cpu==0.3.3", "scikit-learn"),
    "xgboost": ("xgboost-cpu==3.2.0", "scikit-learn", *FRAMES),
    "catboost": ("catboost==1.2.10", *FRAMES),
    # LightGBM's trees as machine code.
    "lleaves": ("lightgbm==4.7.0", "lleaves==1.3.0", "llvmlite==0.44.0", "scikit-learn", "pandas"),
    "xrfm": ("xrfm==0.4.5", "scikit-learn", *FRAMES),
}
"""What the environments of the other peers have in them."""


def peer_python(name: str) -> Path:
    """Return the interpreter of a peer; the first call installs it."""
    return lightgbm_python() if name == "lightgbm" else _python(name, [PEERS[name]])


def _python(name: str, installs: list[tuple[str, ...]]) -> Path:
    folder = BENCH / name
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    ready = folder / ".installed"
    if not ready.exists() or ready.read_text() != str(installs):
        print(f"Installing {name} into {folder} ...", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        for arguments in installs:
            subprocess.run([*pip, *arguments], check=True)
        ready.write_text(str(installs))
    return python
