"""The checkpoint of a fit: trained coarse cells as files, with which an interrupted fit continues.

Input: a directory, the rows of a fit and the coarse cells. Output: the data frame of trained cells; only those that the
directory does not have are trained.

    directory/fit-<identity>/run-<id>/part-*.parquet     a file per task, with all cells of its coarse cell

The identity is a digest of everything that determines the cells: rows, settings, scaling, coarse cells. A file has its
name when its task has ended, so that a driver that is killed loses only the tasks that were running. Each run writes to
a folder of its own and nothing is ever replaced or deleted, so that fits at the same time do not affect each other.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from functools import reduce
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from localsvm.errors import InvalidFile, InvalidParameter
from localsvm.spark.folders import FILE_PER_TASK, files_in
from localsvm.spark.rows import Rows
from localsvm.spark.training import COLUMNS, Training, frame_schema, record_of, trained_cells
from localsvm.storage.manifest import as_read
from localsvm.storage.parts import COARSE, PARTITION, SCALING

_OWN_FILE = re.compile(r"/fit-[0-9a-f]{16}/(run-[0-9a-f]{32})/[^/]+\.parquet")


def refuse_foreign(path: str, session: SparkSession) -> None:
    """Raise if a directory has files of something else than checkpoints."""
    others = [file for file in files_in(path, session) if not _OWN_FILE.search(file)]
    if others:
        raise InvalidParameter(
            f"checkpoint={path!r} has files of something else (first: {others[0]!r}): give an empty or a new directory."
        )


def train_missing(path: str, rows: Rows, training: Training) -> DataFrame:
    """Train the coarse cells that no earlier run of this fit has trained; return the cells of all."""
    session = rows.frame.sparkSession
    folder = f"{path}/fit-{_identity(rows, training)}"
    found = _trained_before(folder, training, session)
    frames = [_read(f"{folder}/{run}", session).where(F.col("coarse").isin(own)) for run, own in found.items()]
    missing = training.without(coarse for own in found.values() for coarse in own)
    if missing.n_tasks:
        run = f"{folder}/run-{uuid4().hex}"
        trained_cells(rows, missing).write.options(**FILE_PER_TASK).parquet(run)
        frames.append(_read(run, session))
    return reduce(DataFrame.unionByName, frames)


def _read(run: str, session: SparkSession) -> DataFrame:
    """Return the cells of a run; a damaged file has none."""
    return session.read.schema(frame_schema(COLUMNS)).option("ignoreCorruptFiles", "true").parquet(run)


# ----------------------------------------------------------------------------------- earlier runs


def _trained_before(folder: str, training: Training, session: SparkSession) -> dict[str, list[int]]:
    """Return the coarse cells to take from each run; two runs at the same time may have trained the same ones."""
    runs = sorted({own[1] for file in files_in(folder, session) if (own := _OWN_FILE.search(file))})
    taken: set[int] = set()
    found = {}
    for run in runs:
        found[run] = sorted(_complete(f"{folder}/{run}", training, session) - taken)
        taken.update(found[run])
    return {run: own for run, own in found.items() if own}


def _complete(run: str, training: Training, session: SparkSession) -> set[int]:
    """Return the coarse cells of a run that have all their cells."""
    # The lengths make Spark read the records, too, so that damaged ones are found here.
    table = _read(run, session).select("coarse", "place", "tree", F.length("record").alias("bytes")).toArrow()
    cells: dict[int, dict[int, Any]] = {}
    for row in table.to_pylist():
        cells.setdefault(row["coarse"], {})[row["place"]] = row["tree"]
    return {coarse for coarse, trees in cells.items() if _is_complete(trees, training.layout.n_features)}


def _is_complete(trees: dict[int, Any], n_features: int) -> bool:
    """Return whether there are as many cells as the tree of the coarse cell has; the first cell has the tree."""
    tree = trees.get(0)
    if tree is None:
        return trees.keys() == {0}
    with suppress(InvalidFile):
        PARTITION.unpack(tree, "a tree of the checkpoint", n_cells=len(trees), n_features=n_features)
        return trees.keys() == set(range(len(trees)))
    return False


# --------------------------------------------------------------------------------------- identity


def _identity(rows: Rows, training: Training) -> str:
    """Return a digest of everything that determines the cells."""
    sized = training.sized
    values = {
        "settings": as_read(training.settings.identity()),
        "rows": f"{rows.checksum:016x}",
        "kernel": training.cell.kernel,
        "cell_size": training.limit.size,
        "scaling": SCALING.write(training.scaling),
        "coarse": COARSE.write(sized.coarse) if sized.coarse.nodes else None,
        "sizes": sized.sizes,
        "radii": sized.radii,
    }
    return hashlib.sha256(record_of(values)).hexdigest()[:16]
