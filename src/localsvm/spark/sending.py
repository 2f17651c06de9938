"""How a model reaches the tasks that predict: once per executor, and it is opened once per Python process.

Input: the bytes of a model file. Output: a `SentModel`, which is part of the function of a task and opens the model.
Small files are sent with the function. Larger ones are a broadcast variable or, in Connect mode, which has none, a file
of the session: a function is sent with every plan, and in Connect mode to every task as well.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from localsvm.model.local_model import LocalModel
from localsvm.storage.model_file import open_model, read_model

SMALL_FILE = 1 << 20
"""Bytes up to which a model file is sent with the function of a task; Spark broadcasts larger functions, too."""

_OPEN_MODELS = 2  # of a Python process, which may work for two stages in turn


@dataclass(frozen=True)
class SentModel:
    """A model as part of the function of a task."""

    digest: str
    file: Any = field(compare=False, repr=False)
    """Its bytes, a broadcast variable of them, or None: a file of the session."""

    def open(self) -> LocalModel:
        """Return the model, in a task."""
        return _open(self)


@lru_cache(maxsize=_OPEN_MODELS)
def _open(sent: SentModel) -> LocalModel:
    if sent.file is None:
        return open_model(SparkFiles.get(_file_name(sent.digest))).model
    file = sent.file if isinstance(sent.file, bytes) else sent.file.value
    return read_model(memoryview(file), "the model").model


class ModelFile:
    """A model file on the driver, which is sent to the executors of a session once."""

    def __init__(self, file: bytes) -> None:
        self._file, self._digest = file, hashlib.blake2b(file, digest_size=16).hexdigest()
        self._sent: WeakKeyDictionary[SparkSession, SentModel] = WeakKeyDictionary()

    def sent_to(self, session: SparkSession) -> SentModel:
        """Return the model for tasks of a session."""
        if session not in self._sent:
            self._sent[session] = SentModel(self._digest, self._send(session))
        return self._sent[session]

    def _send(self, session: SparkSession) -> Any:
        if len(self._file) <= SMALL_FILE:
            return self._file
        if not is_connect(session):
            return session.sparkContext.broadcast(self._file)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, _file_name(self._digest))
            path.write_bytes(self._file)
            session.addArtifacts(str(path), file=True)
        return None


def is_connect(session: SparkSession) -> bool:
    """Return whether a session is a client of a Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _file_name(digest: str) -> str:
    return f"localsvm-{digest}.lsvm"
