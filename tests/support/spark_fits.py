"""Rows in files, and a small fit to them."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from localsvm.data import toy_mixture
from localsvm.spark import LocalSVMClassifier

FEATURES = ["x0", "x1", "x2", "x3"]
SETTINGS = {"cell_size": 150, "coarse_size": 300, "grid": 5, "scaling": "minmax", "random_state": 0}


def write_toy(folder, n, seed=0, n_files=3):
    """Write rows of two classes to files: `id`, features `x0` to `x3`, and `label`; return the path of the folder."""
    X, y = toy_mixture(n, 4, random_state=seed)
    folder.mkdir()
    columns = {"id": range(n), **{f"x{j}": X[:, j].astype(float) for j in range(4)}, "label": y.astype(float)}
    table, ends = pa.table(columns), np.linspace(0, n, n_files + 1).astype(int).tolist()
    for begin, end in itertools.pairwise(ends):
        pq.write_table(table.slice(begin, end - begin), folder / f"{begin}.parquet")
    return str(folder)


def fit(session, path, **settings):
    """Fit a model to files of `write_toy`."""
    classifier = LocalSVMClassifier(featuresCol=FEATURES, **{**SETTINGS, **settings})
    return classifier.fit(session.read.parquet(path))
