"""Cells to measure on: 2000 training rows and disjoint test rows, min-max scaled.

Sets are read from the folder named by $LOCALSVM_DATA, as NAME/NAME.npz with arrays X and y. Rows
are made distinct first, so that no test row has been trained on. A cell is a random sample, or with
"NAME, local" a neighbourhood: the rows nearest to a random row, half of them for testing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.packaged_sets import PACKAGED, read_packaged
from localsvm.data import load_covtype_sample, toy_mixture

CELL_SIZE = 2000
BUNDLED = "covtype_sample"
POSITIVE = {"covtype": 2, "cod-rna": 1, "higgs_26k": 1, "susy_10k": 1, "ijcnn1": 1, "skin": 1, BUNDLED: 1}
_POOL = 100_000


@dataclass(frozen=True)
class Sample:
    """Training and test rows of one cell, scaled by the training rows; labels are -1 and 1."""

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.float64]


def data_folder() -> Path:
    folder = os.environ.get("LOCALSVM_DATA")
    if not folder:
        raise SystemExit(
            "LOCALSVM_DATA is not set: point it to the folder of the data sets, which has for "
            "example higgs_26k/higgs_26k.npz with arrays X and y."
        )
    if not Path(folder).is_dir():
        raise SystemExit(f"LOCALSVM_DATA={folder}: there is no such folder.")
    return Path(folder)


def read(name: str) -> tuple[NDArray[np.float32], NDArray[np.generic]]:
    """Return all rows of a real set and their labels, as they are stored: in the folder, or in a package."""
    if name == BUNDLED:
        return load_covtype_sample()
    if name in PACKAGED:
        return read_packaged(name)
    file = data_folder() / name / f"{name}.npz"
    if not file.is_file():
        raise SystemExit(f"{file} is missing: LOCALSVM_DATA has no data set {name!r}.")
    with np.load(file) as arrays:
        return arrays["X"], arrays["y"]


@cache
def pool(name: str) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return up to 100 000 random distinct rows of a set, and their labels."""
    if name == "toy":
        X, y = toy_mixture(_POOL, 4, random_state=0)
        return X, y.astype(np.float64)
    X, y = read(name)
    rows = np.random.default_rng(0).permutation(len(X))[:_POOL]
    X, first = np.unique(X[rows], axis=0, return_index=True)
    return X, np.where(y[rows[first]] == POSITIVE[name], 1.0, -1.0)


def cells(name: str, numbers: Iterable[int], n_test: int, n_train: int = CELL_SIZE) -> Iterator[Sample]:
    """Yield the cells of a set that have these numbers: the same ones in every run."""
    base, _, local = name.partition(", ")
    yield from cells_of(*pool(base), numbers, n_test, n_train, neighbours=bool(local))


def cells_of(
    X: NDArray[np.float32],
    y: NDArray[np.float64],
    numbers: Iterable[int],
    n_test: int,
    n_train: int = CELL_SIZE,
    *,
    neighbours: bool = False,
) -> Iterator[Sample]:
    """Yield cells of these rows: random samples, or neighbourhoods."""
    for number in numbers:
        random = np.random.default_rng(number)
        rows = _neighbourhood(X, y, 2 * n_train, random) if neighbours else random.permutation(len(X))
        train, test = rows[:n_train], rows[n_train : n_train + n_test]
        scale = _min_max(X[train])
        yield Sample(scale(X[train]), y[train], scale(X[test]), y[test])


def _min_max(X: NDArray[np.float32]) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    span[span == 0] = 1
    return lambda rows: ((rows - low) / span).astype(np.float32)


def _neighbourhood(
    X: NDArray[np.float32], y: NDArray[np.float64], size: int, random: np.random.Generator
) -> NDArray[np.intp]:
    """Return the rows nearest to a random row, at least 5 % of each class, in random order."""
    scaled = _min_max(X)(X)
    while True:
        distance = np.square(scaled - scaled[random.integers(len(X))]).sum(axis=1)
        rows = np.argpartition(distance, size)[:size]
        if 0.05 < (y[rows] > 0).mean() < 0.95:
            return np.asarray(random.permutation(rows))
