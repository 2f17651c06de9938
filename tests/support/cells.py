"""Small cells to train, and how two trained ones are compared."""

from dataclasses import dataclass, fields, replace

import numpy as np

from localsvm.cell import CellSettings, CellTask, Grid
from localsvm.data import toy_mixture
from localsvm.data.content import canonical_rows
from localsvm.losses import Hinge

SMALL_GRID = Grid(widths=[4.0, 1.0, 0.3], lams=[3e-1, 1e-1, 3e-2])


@dataclass(frozen=True)
class PlainHinge(Hinge):
    """Hinge loss whose solves stop at the plain gap, so that lam ||f - f*||^2 <= gap."""

    def dual(self, y, weight):
        return replace(super().dual(y, weight), clip=1e30)


def task_of(X, y, weight=None, *, radius=2.0, seed=0):
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    X, y = np.asarray(X, dtype=np.float32), np.asarray(y, dtype=np.float64)
    return CellTask(canonical_rows(X, y, weight, seed), radius=radius)


def toy_task(n=70, d=2, seed=0, weight=None):
    X, y = toy_mixture(n, d, random_state=seed)
    return task_of(X, y, weight)


def settings_for(kernel="gauss", **options):
    defaults = {"grid": SMALL_GRID, "n_folds": 3, "kernel": kernel}
    return CellSettings(**{**defaults, **options})


def same_cells(a, b):
    for field in fields(a):
        if field.name == "seconds":
            continue
        left, right = getattr(a, field.name), getattr(b, field.name)
        if field.name == "certificates":
            for part in fields(left):
                np.testing.assert_array_equal(getattr(left, part.name), getattr(right, part.name))
        else:
            np.testing.assert_array_equal(left, right)
