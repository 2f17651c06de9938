"""Training and test rows of the tasks: a random split of a set, another one for every split number.

Features are unscaled. Targets are standardised by the training rows, so that the losses of different sets
can be compared; the generated letters have new rows in every split.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generated import letterlike
from benchmarks.sets import POSITIVE, read

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Problem:
    """So many training and test rows of a set, and what is to be learnt from them."""

    name: str
    task: str
    """A key of `losses.TASKS`."""
    n_train: int
    n_test: int
    split: int = 0

    def __str__(self) -> str:
        return f"{self.name} {self.n_train}, split {self.split}"

    def at_most(self, n_train: int | None) -> Problem:
        """Return the problem with at most so many training rows, and test rows in proportion."""
        if n_train is None or n_train >= self.n_train:
            return self
        return replace(self, n_train=n_train, n_test=max(1, self.n_test * n_train // self.n_train))


PEERS = {
    "letter": Problem("letter", "classes", 16_000, 4_000),
    "covtype7": Problem("covtype7", "classes", 100_000, 25_000),
    "kin40k": Problem("kin40k", "mean", 32_000, 8_000),
    "protein": Problem("protein", "mean", 36_584, 9_146),
    "bike": Problem("bike", "quantiles", 13_903, 3_476),
}
FULL_COVTYPE = Problem("covtype7", "classes", 464_429, 116_583)
PROBABILITIES = {name: Problem(name, "probabilities", 8_000, 20_000) for name in ("covtype", "ijcnn1")}
IMBALANCE = Problem("ijcnn1", "rates", 39_992, 9_998)
_FILES = {"covtype7": "covtype", "kin40k": "reg_kin40k", "protein": "reg_protein", "bike": "bike_sharing_hour"}


def rows(problem: Problem) -> Arrays:
    """Return X, y, X_test and y_test."""
    n, m = problem.n_train, problem.n_test
    if problem.name == "letter":
        X, y = letterlike(n + m, problem.split)
    else:
        X, y = _shuffled(problem)
    if problem.task in ("mean", "quantiles"):
        y = (y - y[:n].mean()) / y[:n].std()
    return {"X": X[:n], "y": y[:n], "X_test": X[n : n + m], "y_test": y[n : n + m]}


def _shuffled(problem: Problem) -> tuple[NDArray[np.float32], NDArray[Any]]:
    X, y = read(_FILES.get(problem.name, problem.name))
    chosen = np.random.default_rng(problem.split).permutation(len(X))[: problem.n_train + problem.n_test]
    X, y = X[chosen], y[chosen]
    if problem.name in POSITIVE:
        return X, np.where(y == POSITIVE[problem.name], 1, -1)
    return X, y.astype(np.float64)
