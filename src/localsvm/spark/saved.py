"""Saved models: directories in which a new version replaces the old one only when it is complete.

Input: a `DistributedModel` and the metadata of Spark (class and parameters). Output: a directory, and the model again.

    directory/metadata                     for the readers of Spark
    directory/version-<id>/cells           a row per cell
    directory/version-<id>/headline        one row: number of the version, metadata, and everything but the cells

A version exists once its headline does, which is a single file and is written last; of several, the one with the
highest number counts. To overwrite a model is to write another version and then to delete those that were there before:
whatever fails, the directory has one of them. Also of several programs that save at the same time, one is not deleted:
who deletes a version has listed it before writing its own, so that two never delete each other's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from posixpath import basename
from uuid import uuid4

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from localsvm.errors import InvalidFile, InvalidParameter
from localsvm.partition.coarse import CoarseCells
from localsvm.spark.distributed import FINISHED, CellFiles, DistributedModel, is_small
from localsvm.spark.folders import FILE_PER_TASK, delete_folder, files_in, is_missing_path, twice
from localsvm.spark.training import arrow_schema, frame_schema, record_of
from localsvm.storage.model_file import headline_values, read_headline
from localsvm.storage.parts import COARSE
from localsvm.storage.record import unpack
from localsvm.storage.schema import Fields, integer, maybe

_HEADLINE = {"number": "long", "version": "string", "metadata": "string", "headline": "binary"}
_OWN_FILE = re.compile(r"/(version-[0-9a-f]{16})/(cells|headline)/[^/]+$")


@dataclass(frozen=True)
class Version:
    """A version of a saved model, without its cells."""

    number: int
    version: str
    """Name of its folder."""
    metadata: str
    headline: bytes


def find_version(path: str, session: SparkSession) -> Version | None:
    """Return the version of the model in a directory; None if there is none."""
    try:
        files = session.read.schema(frame_schema(_HEADLINE)).parquet(*twice(f"{path}/version-*/headline"))
        rows = files.toArrow().to_pylist()
    except AnalysisException as error:
        if not is_missing_path(error):
            raise
        rows = []
    found = [Version(**row) for row in rows]
    if len(found) > 1:  # another program may have deleted the cells of one before its headline was written
        found = [version for version in found if files_in(f"{path}/{version.version}/cells", session)]
    return max(found, key=lambda version: (version.number, version.version), default=None)


# ------------------------------------------------------------------------------------------- save


def save_parameters(path: str, metadata: str, session: SparkSession, *, overwrite: bool) -> None:
    """Write the metadata of something without cells."""
    old = _versions(files_in(path, session)) if overwrite else set()
    _write_metadata(path, metadata, session, overwrite=overwrite)
    _delete(old, path, session)


def save_model(model: DistributedModel, path: str, metadata: str, session: SparkSession, *, overwrite: bool) -> None:
    """Write a model to a directory, which has to be new or empty unless it may be overwritten."""
    files = files_in(path, session)
    if files and not overwrite:
        raise InvalidParameter(
            f"{path!r} has files already (first: {files[0]!r}). Give another path, or replace the model there with "
            "write().overwrite().save(path)."
        )
    cells = _cells_to_write(model, session)
    before = find_version(path, session)
    number = 1 if before is None else before.number + 1
    new = Version(number, f"version-{uuid4().hex[:16]}", metadata, _headline(model))
    _write_version(f"{path}/{new.version}", new, cells, model, session)
    _write_metadata(path, metadata, session, overwrite=overwrite)
    old = _versions(files)
    if model.files is not None and (cells is model.files.copied or basename(model.files.folder) in old):
        model.files = replace(model.files, folder=f"{path}/{new.version}")
        model.frame = _read_cells(model.files.folder, session)
    _delete(old, path, session)


def _write_metadata(path: str, metadata: str, session: SparkSession, *, overwrite: bool) -> None:
    table = session.createDataFrame([(metadata,)], schema="value string")
    table.coalesce(1).write.mode("overwrite" if overwrite else "error").text(f"{path}/metadata")


def _versions(files: list[str]) -> set[str]:
    """Return the names of the versions that have files, complete or not."""
    return {own[1] for file in files if (own := _OWN_FILE.search(file))}


def _delete(versions: set[str], path: str, session: SparkSession) -> None:
    for version in versions:
        delete_folder(f"{path}/{version}", session)


def _cells_to_write(model: DistributedModel, session: SparkSession) -> DataFrame:
    """Return the cells, or their copy if the files that they were read from are gone."""
    cells, files = model.cells, model.files
    if files is not None and files.copied is None and not files_in(files.folder, session):
        raise InvalidFile(f"the cells of the model, {files.folder!r}, are gone. Load the model again.")
    return cells


def _headline(model: DistributedModel) -> bytes:
    values = {
        **headline_values(model.headline),
        "coarse": COARSE.write(model.coarse) if model.coarse.nodes else None,
        "n_bytes": model.n_bytes,
        "tasks": model.tasks,
    }
    return record_of(values)


def _write_version(folder: str, new: Version, cells: DataFrame, model: DistributedModel, session: SparkSession) -> None:
    """Write all cells, and then the headline, which makes them a version."""
    cells.write.options(**FILE_PER_TASK).parquet(f"{folder}/cells")
    model.check_cells(_read_cells(folder, session).select("cell").toArrow().column("cell").to_pylist())
    row = pa.Table.from_pylist([vars(new)], schema=arrow_schema(_HEADLINE))
    session.createDataFrame(row).coalesce(1).write.parquet(f"{folder}/headline")
    if not files_in(f"{folder}/cells", session):
        delete_folder(folder, session)
        raise InvalidFile(f"another program has saved to the directory of {folder!r} at the same time. Save again.")


# ------------------------------------------------------------------------------------------- load


def load_model(saved: Version, path: str, session: SparkSession) -> DistributedModel:
    """Return a model; the driver reads small ones, and the cells of large ones are read when they are needed."""
    fields = Fields(unpack(saved.headline, f"the headline of {path!r}"), repr(path))
    headline = read_headline(fields)
    folder = f"{path}/{saved.version}"
    model = DistributedModel(
        headline=headline,
        coarse=fields.read("coarse", maybe(COARSE), n_features=headline.model.n_features) or CoarseCells(),
        frame=_read_cells(folder, session),
        n_bytes=fields.read("n_bytes", integer()),
        tasks=fields.typed("tasks", list),
    )
    if is_small(model.n_bytes):
        table = model.frame.toArrow()
        model.check_cells(table.column("cell").to_pylist())
        model.frame = session.createDataFrame(table)
    else:
        model.files = CellFiles(folder, _copy(model.frame) if _is_part(path, session) else None)
    return model


def _read_cells(folder: str, session: SparkSession) -> DataFrame:
    return session.read.schema(frame_schema(FINISHED)).parquet(f"{folder}/cells")


def _is_part(path: str, session: SparkSession) -> bool:
    """Return whether a model belongs to a saved pipeline or search, whose writer deletes everything at first."""
    return any(files_in(f"{path}/{above}/metadata", session) for above in ("..", "../.."))


def _copy(cells: DataFrame) -> DataFrame:
    """Copy cells to the disks of two executors each; Spark frees them with the data frame."""
    return cells.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY_2)
