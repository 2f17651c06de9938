"""Small cells to train, access to those of one output, and the comparison of two trained cells."""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np

from localsvm.cell import CellSettings, CellTask, Grid
from localsvm.data import toy_mixture
from localsvm.data.content import canonical_rows
from localsvm.tasks import Binary
from localsvm.tasks.losses import Hinge

SMALL_GRID = Grid(widths=[4.0, 1.0, 0.3], lams=[3e-1, 1e-1, 3e-2])


@dataclass(frozen=True)
class PlainHinge(Hinge):
    """Hinge loss whose solves stop at the plain gap, so that lam ||f - f*||^2 <= gap."""

    def clip(self, y):
        return 1e30

    def value(self, y, f):
        return super().value(y, np.clip(f, -1, 1))


PLAIN = Binary(PlainHinge())


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


def cell_values(cell, points):
    """The values of the only function of a cell."""
    (values,) = cell.functions.values(np.asarray(points, dtype=np.float32)).T
    return values


def coefficients(cell):
    """Those of the only function of a cell; none if it is constant."""
    return _only_sum(cell).coefficients[0] if cell.functions.sums else np.zeros(0, dtype=np.float32)


def support_vectors(cell):
    """The samples that `coefficients` belong to."""
    return _only_sum(cell).support_vectors


def _only_sum(cell):
    (only,) = cell.functions.sums
    assert len(only.coefficients) == 1
    return only


def same_cells(a, b):
    """Compare all but the seconds, to the bit."""
    if is_dataclass(a):
        for field in fields(a):
            if field.name != "seconds":
                same_cells(getattr(a, field.name), getattr(b, field.name))
    elif isinstance(a, tuple):
        for left, right in zip(a, b, strict=True):
            same_cells(left, right)
    else:
        np.testing.assert_array_equal(a, b)


def blobs(n, k, *, d=2, noise=0.6, seed=0):
    """Samples of k classes 0, 1, ... around as many centers; there are some of each class."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(k) / k
    centers = np.column_stack([np.cos(angle), np.sin(angle), np.zeros((k, d - 2))]) * np.sqrt(k)
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    return (centers[y] + noise * rng.normal(size=(n, d))).astype(np.float32), y.astype(np.float64)
