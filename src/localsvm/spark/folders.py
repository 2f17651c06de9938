"""Directories on any file system that Spark reads, in classic and in Connect mode: their files, and how to delete one.

Spark has no public functions for files. What it offers in both modes are the files of a data frame, and the deletion
that its own writers of models use.
"""

from __future__ import annotations

from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

FILE_PER_TASK = {"mapreduce.fileoutputcommitter.algorithm.version": "2", "maxRecordsPerFile": "0"}
"""Options of a writer: a task writes one file, which has its final name, and all its rows, when the task ends."""


def files_in(path: str, session: SparkSession) -> list[str]:
    """Return all files below a path, or the path if it is a file; names that begin with _ or . are hidden."""
    try:
        found = session.read.format("binaryFile").option("recursiveFileLookup", "true").load(twice(path))
        return sorted({unquote(uri) for uri in found.inputFiles()})
    except AnalysisException as error:
        if not is_missing_path(error):
            raise
        return []


def twice(path: str) -> list[str]:
    """Return a path two times: if a single path does not exist, Spark logs a Java stack trace before it raises."""
    return [path, path]


def is_missing_path(error: AnalysisException) -> bool:
    """Return whether the error says that a path does not exist."""
    return bool(error.getCondition() == "PATH_NOT_FOUND")


def delete_folder(path: str, session: SparkSession) -> None:
    """Delete a directory with everything in it, if it exists."""
    from pyspark.ml.util import ML_CONNECT_HELPER_ID  # here, because tasks on the workers do without pyspark.ml
    from pyspark.ml.wrapper import JavaWrapper

    if is_remote():
        JavaWrapper(java_obj=ML_CONNECT_HELPER_ID)._call_java("handleOverwrite", path, True)
    else:
        delete = JavaWrapper(JavaWrapper._new_java_obj("org.apache.spark.ml.util.FileSystemOverwrite"))
        delete._call_java("handleOverwrite", path, True, session._jsparkSession)
