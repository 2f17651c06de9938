"""A small fit on Spark and all that comes out of it, as plain values that can be compared between processes."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from localsvm.data import toy_mixture
from localsvm.spark import LocalSVMClassificationModel, LocalSVMClassifier

SETTINGS = {"cell_size": 150, "coarse_size": 300, "grid": 5, "scaling": "minmax", "random_state": 0}


def write_toy(folder, n, seed=0, n_files=3):
    """Write rows of two classes to files: `id`, features `x0` to `x3`, and `label`; return the folder's name."""
    X, y = toy_mixture(n, 4, random_state=seed)
    folder.mkdir()
    columns = {"id": range(n), **{f"x{j}": X[:, j].astype(float) for j in range(4)}, "label": y.astype(float)}
    table, ends = pa.table(columns), np.linspace(0, n, n_files + 1).astype(int).tolist()
    for begin, end in itertools.pairwise(ends):
        pq.write_table(table.slice(begin, end - begin), folder / f"{begin}.parquet")
    return str(folder)


def fit(session, path, **settings):
    """Fit a model to files of `write_toy`."""
    classifier = LocalSVMClassifier(featuresCol=["x0", "x1", "x2", "x3"], **{**SETTINGS, **settings})
    return classifier.fit(session.read.parquet(path))


def fit_cells(session, path):
    """Return the cells of a fit, and how many tasks trained them."""
    model = fit(session, path)
    return {"cells": cells_of(model), "n_tasks": len(model.task_report)}


def fit_and_tell(session, path, save_to=None):
    """Return the cells and the predictions of a fit, saved if a place is given."""
    model = fit(session, path)
    if save_to is not None:
        model.write().overwrite().save(save_to)
    return told(session, model, path)


def load_and_tell(session, saved, path):
    """Return the cells and the predictions of a saved model."""
    return told(session, LocalSVMClassificationModel.load(saved), path)


def told(session, model, path):
    """Return the cells by number, and the predictions of all rows by number, in both ways."""
    rows = session.read.parquet(path)
    ways = {by: _predictions(model.setParams(transform_by=by), rows) for by in ("broadcast", "shuffle")}
    return {"cells": cells_of(model), **ways}


def cells_of(model):
    """Return the bytes of all cells and trees by the number of the cell."""
    rows = model.cells.select("cell", "record", "tree").collect()
    return {row["cell"]: (bytes(row["record"]), row["tree"] and bytes(row["tree"])) for row in rows}


def _predictions(model, rows):
    vectors = ("rawPrediction", "probability")
    found = model.transform(rows).select("id", "prediction", *vectors).collect()
    return {row["id"]: (row["prediction"], *(row[name].toArray().tolist() for name in vectors)) for row in found}
