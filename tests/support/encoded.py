"""Small tables of numbers and categories, and what becomes of them."""

import numpy as np

from localsvm.data.encoding import learn_encoding
from localsvm.data.table import Table

VIEWS = [("plain", True), ("log", False), ("rank", True)]


def mixed(seed=0, n=200, n_targets=1):
    """Numbers with heavy tails, a spike and gaps; categories with 2 to 90 levels, one nested, one with gaps."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 40, n)
    X = np.column_stack(
        [
            np.where(rng.random(n) < 0.05, np.nan, rng.lognormal(size=n)),
            np.where(rng.random(n) < 0.4, 0.0, rng.normal(size=n)),
            rng.integers(0, 2, n),
            np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 4, n)),
            town,
            town // 8,
            rng.integers(0, 90, n),
        ]
    )
    names = {j: tuple(f"level {k:02}" for k in range(count)) for j, count in ((2, 2), (3, 4), (4, 40), (5, 5), (6, 90))}
    effect = rng.normal(size=(40, n_targets))[town] + 2 * (X[:, [3]] == 1)
    return Table(X, names), effect + rng.normal(size=(n, n_targets))


def encoded(table, targets, weight=None, view=("plain", True), **options):
    """Return the view, the training rows, and the same rows as new ones."""
    weight = np.ones(len(table)) if weight is None else weight
    learned = learn_encoding(table, targets, weight, **options)
    columns = learned.encoding.view(*view)
    return columns, learned.encode_training(table, columns)[:], learned.encoding.encode(table, columns)[:]
