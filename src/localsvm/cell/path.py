"""Lambda paths of one width (Alg. 1, lines 6-10): all folds, risks from the shared kernel matrix.

Enters: a native cell whose width is set. Leaves: coefficients, validation risks and certificates by fold and lam.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm._native import CancelToken, Cell
from localsvm.cell.folds import FoldedRows
from localsvm.losses import Loss

STATUS = ("converged", "max_steps", "precision", "cancelled", "skipped")
"""How a solve can end: at the tolerance, out of steps, at the end of single precision, stopped from outside; or not
even begin, when racing left it out."""

TOLERANCE = 1e-3
"""Clipped duality gap in risk units at which a solve stops."""

Map = Callable[[Callable[[int], "FoldPath"], Iterable[int]], Iterable["FoldPath"]]


@dataclass(frozen=True)
class FoldPath:
    """One fold left out: a row per lam."""

    beta: NDArray[np.float32]
    risk: NDArray[np.float64]
    loss: NDArray[np.float64]
    gap: NDArray[np.float64]
    status: NDArray[np.int8]
    steps: NDArray[np.int64]
    seconds_solver: float = 0.0
    seconds_validation: float = 0.0


class Cancelled(Exception):
    """Raised inside a worker when the fit was stopped from outside."""


def max_steps(n_samples: int) -> int:
    """Return the number of steps after which a solve gives up: far more than any was seen to need."""
    return max(1_000_000, 2_000 * n_samples)


def solve_fold(
    cell: Cell,
    rows: FoldedRows,
    loss: Loss,
    fold: int,
    lams: NDArray[np.float64],
    token: CancelToken | None,
) -> FoldPath:
    """Solve the path without `fold` (-1: on all rows) and validate it on `fold`."""
    validation = rows.fold(fold) if fold >= 0 else slice(0, 0)
    total_weight = rows.weight.sum() - rows.weight[validation].sum()
    begin = time.perf_counter()
    beta, values, gap, status, steps = cell.solve_path(
        0, fold, list(lams), float(total_weight), TOLERANCE, max_steps(len(rows.y)), token
    )
    if (status == STATUS.index("cancelled")).any():
        raise Cancelled
    solved = time.perf_counter()
    y, weight = rows.y[validation], rows.weight[validation]
    share = weight / weight.sum() if fold >= 0 else weight
    f = values.astype(np.float64)
    return FoldPath(
        beta=beta,
        risk=loss.risk(y, f) @ share,
        loss=loss.value(y, f) @ share,
        gap=gap,
        status=status,
        steps=steps,
        seconds_solver=solved - begin,
        seconds_validation=time.perf_counter() - solved,
    )
