"""Estimators and models in directories: parameters as JSON, as `pyspark.ml` has them, and the tables of a model.

Enters: an estimator or a model. Leaves: a directory of any file system of Spark, and back. All is written and read as
frames, so it works in Connect mode and for models of any size.
"""

from __future__ import annotations

from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter

from localsvm.errors import InvalidFile
from localsvm.spark.distributed import DistributedModel


class ParamsWriter(MLWriter):  # type: ignore[misc]
    """Writes an estimator, or a model with its tables."""

    def __init__(self, instance: Any, distributed: DistributedModel | None = None) -> None:
        super().__init__()
        self._instance, self._distributed = instance, distributed

    def save(self, path: str) -> None:
        """Write to a directory; one that is there is refused, unless `overwrite` was called."""
        mode = "overwrite" if self.shouldOverwrite else "error"
        session = self.sparkSession
        metadata = DefaultParamsWriter._get_metadata_to_save(self._instance, session)
        table = session.createDataFrame([(metadata,)], schema="value string")
        table.coalesce(1).write.mode(mode).text(f"{path}/metadata")
        if self._distributed is not None:
            self._distributed.save(path, mode, session)


class ParamsReader(MLReader):  # type: ignore[misc]
    """Reads an estimator."""

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> Any:
        """Read what `ParamsWriter` wrote."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{self._kind.__module__}.{self._kind.__name__}"
        if metadata["class"] != name:
            raise InvalidFile(f"{path!r} has a {metadata['class']}, not a {name}.")
        instance = self._kind()
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance


class Storable(MLReadable, MLWritable):  # type: ignore[misc]
    """What is saved when its parameters are."""

    def write(self) -> ParamsWriter:
        """Return the writer of this instance."""
        return ParamsWriter(self)

    @classmethod
    def read(cls) -> ParamsReader:
        """Return the reader of such instances."""
        return ParamsReader(cls)


class ModelReader(ParamsReader):
    """Reads a model; its cells stay in their files until they are asked for."""

    def load(self, path: str) -> Any:
        """Read what `ParamsWriter` wrote."""
        model = super().load(path)
        model._distributed = DistributedModel.load(path, self.sparkSession)
        return model
