"""Training rows: columns of a data frame -> arrays in a task -> blocks that travel between tasks.

Input: a data frame and the names of its columns. Output: a frame of three columns that Arrow transfers, its batches as
`TrainingRows`, and these as `Block`s. The rows of a batch that belong to the same coarse cell are one row of bytes, so
that a shuffle moves thousands of blocks instead of millions of vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)

from localsvm.data.content import mixed
from localsvm.data.scaling import Scaling
from localsvm.data.ties import Ties
from localsvm.errors import InvalidData, InvalidParameter
from localsvm.partition.base import Members
from localsvm.spark.content import rows_changed
from localsvm.storage.kept_cells import row_marks

FEATURES, TARGET, WEIGHT, TIE = "features", "target", "weight", "tie"

FeatureColumns = str | list[str]
"""A column of vectors or of arrays of numbers, or several numeric columns."""

BLOCK_SCHEMA = "part int, X binary, y binary, weight binary, hashes binary, counts binary, ties binary"


# ------------------------------------------------------------------- columns of a frame, on the driver


@dataclass(frozen=True)
class TieColumn:
    """The column of groups or of times, which decide the folds."""

    name: str
    ordered: bool
    """Whether it has times."""


def training_frame(
    frame: DataFrame, features: FeatureColumns, label: str, weight: str | None, tie: TieColumn | None = None
) -> DataFrame:
    """Return features, target and weight as numbers; raise for missing or non-numeric columns before any job runs."""
    columns = Columns(frame)
    ties = [] if tie is None else [columns.ties(tie).alias(TIE)]
    weights = F.lit(1.0) if weight is None else columns.number(weight, "weightCol")
    return frame.select(
        columns.features(features).alias(FEATURES),
        columns.number(label, "labelCol").alias(TARGET),
        weights.alias(WEIGHT),
        *ties,
    )


class Columns:
    """Columns of a frame by name, whose case matters only if spark.sql.caseSensitive says so."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    @cached_property
    def _case_sensitive(self) -> bool:
        # Once for all columns: in Connect mode every question is a round trip to the server.
        return bool(self._frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true")

    def find(self, name: str) -> str | None:
        """Return the name as the frame spells it, or None."""
        names = self._frame.columns
        if name in names:
            return name
        return None if self._case_sensitive else next((own for own in names if own.lower() == name.lower()), None)

    def features(self, features: FeatureColumns) -> Column:
        """Return the features of every row as an array of numbers; null where a vector is null."""
        # Imported here: pyspark.ml takes as long as all the rest that a task on a worker imports.
        from pyspark.ml.functions import vector_to_array
        from pyspark.ml.linalg import VectorUDT

        if not isinstance(features, str):
            if not features:
                raise InvalidParameter("featuresCol=[] names no columns.")
            return F.array(*(self.number(name, "featuresCol") for name in features))
        found, kind = self._column(features, "featuresCol")
        if isinstance(kind, VectorUDT):
            return F.when(found.isNotNull(), vector_to_array(found))
        if isinstance(kind, ArrayType) and _is_number(kind.elementType):
            # Floats are not cast: tasks convert them to double faster than Spark does.
            return found if isinstance(kind.elementType, FloatType | DoubleType) else found.cast("array<double>")
        if _is_number(kind):
            return F.array(found.cast("double"))
        if type(kind).__module__.startswith("pyspark.mllib"):
            raise InvalidData(
                f"column {features!r} has vectors of the old package pyspark.mllib: convert them with "
                "MLUtils.convertVectorColumnsToML."
            )
        raise InvalidData(
            f"column {features!r} has type {kind.simpleString()}: give a column of vectors (see VectorAssembler) or of "
            "arrays of numbers, or a list of numeric columns."
        )

    def number(self, name: str, parameter: str) -> Column:
        """Return a numeric or boolean column as double."""
        found, kind = self._column(name, parameter)
        if not _is_number(kind):
            raise InvalidData(
                f"column {name!r} has type {kind.simpleString()}, but {parameter} needs numbers. Convert text with "
                "StringIndexer."
            )
        return found.cast("double")

    def ties(self, tie: TieColumn) -> Column:
        """Return groups as hashes, and times as numbers in their order."""
        found, kind = self._column(tie.name, "timeCol" if tie.ordered else "groupsCol")
        if not tie.ordered:
            if isinstance(kind, FloatType | DoubleType):  # 0.0 is -0.0, and NaN is missing
                found = F.when(~F.isnan(found), found.cast("double") + F.lit(0.0))
            return F.when(found.isNotNull(), F.xxhash64(found))
        if isinstance(kind, DateType):
            return F.unix_date(found).cast("long")
        if isinstance(kind, TimestampType):
            return F.unix_micros(found)
        if isinstance(kind, TimestampNTZType):
            minutes = F.unix_date(found.cast("date")).cast("long") * 1440 + F.hour(found) * 60 + F.minute(found)
            return minutes * 60_000_000 + (F.extract(F.lit("SECOND"), found) * 1_000_000).cast("long")
        if isinstance(kind, IntegralType):
            return found.cast("long")
        if isinstance(kind, NumericType):
            return found.cast("double")
        raise InvalidData(
            f"column {tie.name!r} has type {kind.simpleString()}, but timeCol needs numbers, dates or timestamps."
        )

    def _column(self, name: str, parameter: str) -> tuple[Column, DataType]:
        found = self.find(name)
        if found is None:
            names = ", ".join(map(repr, self._frame.columns))
            raise InvalidParameter(f"{parameter}={name!r}, but the columns are {names}.")
        return F.col(quoted(found)), self._frame.schema[found].dataType


def quoted(name: str) -> str:
    """Return the name of a column with backticks, so that a dot in it does not select a field."""
    return "`" + name.replace("`", "``") + "`"


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, NumericType | BooleanType)


# --------------------------------------------------------------------------------- arrays, in a task


@dataclass(frozen=True)
class TrainingRows:
    """Some rows of positive weight."""

    X: NDArray[np.floating]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    tie: NDArray[np.int64] | None = None
    """Groups or times, if there are any."""

    def __getitem__(self, rows: Any) -> TrainingRows:
        """Return the selected rows."""
        tie = None if self.tie is None else self.tie[rows]
        return TrainingRows(self.X[rows], self.y[rows], self.weight[rows], tie)


def matrix_of(column: pa.ListArray, n_features: int) -> NDArray[np.float64]:
    """Return a column of lists without nulls as a matrix."""
    return np.asarray(floats(column.flatten()).reshape(len(column), n_features))


def floats(values: pa.Array) -> NDArray[np.float64]:
    """Return numbers as float64; null becomes NaN."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def tie_numbers(column: pa.Array) -> NDArray[np.int64]:
    """Return ties as integers: numbers that are not keep their order."""
    if not pa.types.is_floating(column.type):
        return np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    bits = (floats(column) + 0.0).view(np.int64)  # -0.0 is 0.0
    return np.asarray(np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits))


@dataclass(frozen=True)
class Layout:
    """Number of features, for classification the labels in ascending order, and the groups or times."""

    n_features: int
    classes: tuple[float, ...] | None = None
    tie: TieColumn | None = None

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TrainingRows]:
        """Yield the rows of positive weight, batch by batch; a `Survey` has checked them before."""
        for batch in batches:
            X = matrix_of(batch.column(FEATURES), self.n_features)
            tie = None if self.tie is None else tie_numbers(batch.column(TIE))
            rows = TrainingRows(X, self._targets(floats(batch.column(TARGET))), floats(batch.column(WEIGHT)), tie)
            yield rows if rows.weight.all() else rows[rows.weight > 0]

    def _targets(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Encode two classes as -1 and 1, more as 0, 1, 2, ...; regression targets are unchanged."""
        if self.classes is None:
            return y
        labels = np.asarray(self.classes)
        index = np.minimum(np.searchsorted(labels, y), len(labels) - 1)
        new = np.flatnonzero(labels[index] != y)
        if len(new):
            raise rows_changed(f"label {y[new[0]]:g} is new")
        return np.where(index == 1, 1.0, -1.0) if len(labels) == 2 else index.astype(np.float64)

    def checksums(self, rows: TrainingRows, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the checksums of rows, whose targets are encoded; they are those that a `Survey` adds up."""
        y = rows.y if self.classes is None else np.asarray(self.classes)[np.maximum(rows.y, 0).astype(np.intp)]
        return tied_marks(row_marks(hashes, y, rows.weight), rows.tie)

    def ties(self, rows: TrainingRows) -> Ties | None:
        """Return the groups or times of rows."""
        return None if self.tie is None or rows.tie is None else Ties(rows.tie, self.tie.ordered)


def tied_marks(marks: NDArray[np.uint64], tie: NDArray[np.int64] | None) -> NDArray[np.uint64]:
    """Return the checksums of rows with their groups or times."""
    return marks if tie is None else mixed(marks + mixed(tie.view(np.uint64)))


@dataclass(frozen=True)
class Rows:
    """All rows of a fit: a frame of `training_frame`, and how to read it."""

    frame: DataFrame
    layout: Layout
    n_rows: int
    """Number of rows of positive weight."""
    checksum: int
    """Sum of their checksums."""
    seed: int


# -------------------------------------------------------------------------------- blocks, between tasks


@dataclass(frozen=True)
class Block:
    """Distinct or repeated rows, with the hashes of their unscaled features and the multiplicity of each."""

    rows: TrainingRows
    hashes: NDArray[np.uint64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of rows, multiplicities not counted."""
        return len(self.hashes)

    def __getitem__(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Block:
        """Return the selected rows."""
        return Block(self.rows[rows], self.hashes[rows], self.counts[rows])

    def smallest(self, count: int) -> Block:
        """Return the rows with the `count` smallest distinct hashes, duplicates included."""
        distinct = np.unique(self.hashes)
        return self if len(distinct) <= count else self[self.hashes <= distinct[count - 1]]

    def scaled(self, scaling: Scaling) -> Block:
        """Return the block with scaled features."""
        return Block(replace(self.rows, X=scaling.apply(self.rows.X)), self.hashes, self.counts)

    def merged(self) -> Block:
        """Return the block with duplicate rows merged and counted."""
        ties = [] if self.rows.tie is None else [self.rows.tie]
        keys = np.rec.fromarrays([self.hashes, self.rows.y, self.rows.weight, *ties])
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        counts = np.bincount(inverse.ravel(), weights=self.counts, minlength=len(first)).astype(np.int64)
        return Block(self.rows[first], self.hashes[first], counts)


def write_blocks(block: Block, parts: NDArray[np.integer], n_parts: int) -> Iterator[pa.RecordBatch]:
    """Yield one batch with a row of bytes for every part that has rows."""
    groups = Members.of_labels(parts, n_parts)
    found = np.flatnonzero(groups.sizes).tolist()
    if not found:
        return
    blocks = [block[groups.rows(part)] for part in found]
    arrays = {
        "X": [np.ascontiguousarray(own.rows.X) for own in blocks],
        "y": [own.rows.y for own in blocks],
        "weight": [own.rows.weight for own in blocks],
        "hashes": [own.hashes for own in blocks],
        "counts": [own.counts for own in blocks],
        "ties": [np.zeros(0, np.int64) if own.rows.tie is None else own.rows.tie for own in blocks],
    }
    columns = {name: pa.array([part.tobytes() for part in values], pa.binary()) for name, values in arrays.items()}
    yield pa.RecordBatch.from_pydict({"part": pa.array(found, pa.int32()), **columns})


def read_blocks(batches: Iterable[pa.RecordBatch], n_features: int, dtype: type[np.floating]) -> dict[int, Block]:
    """Return the rows of every part; `dtype` is that of the features when they were written."""
    pieces: dict[int, list[Block]] = {}
    for batch in batches:
        for values in batch.to_pylist():
            pieces.setdefault(values["part"], []).append(_read_block(values, n_features, dtype))
    return {part: join_blocks(found) for part, found in pieces.items()}


def _read_block(values: dict[str, bytes], n_features: int, dtype: type[np.floating]) -> Block:
    def array(name: str, dtype: type[np.generic]) -> NDArray[Any]:
        return np.frombuffer(values[name], dtype)

    tie = array("ties", np.int64) if values["ties"] else None
    X, y, weight = array("X", dtype).reshape(-1, n_features), array("y", np.float64), array("weight", np.float64)
    rows = TrainingRows(X, y, weight, tie)
    return Block(rows, array("hashes", np.uint64), array("counts", np.int64))


def join_blocks(blocks: Sequence[Block]) -> Block:
    """Return one block of the rows of all blocks."""
    ties = [block.rows.tie for block in blocks if block.rows.tie is not None]
    rows = TrainingRows(
        np.concatenate([block.rows.X for block in blocks]),
        np.concatenate([block.rows.y for block in blocks]),
        np.concatenate([block.rows.weight for block in blocks]),
        np.concatenate(ties) if ties else None,
    )
    hashes, counts = [block.hashes for block in blocks], [block.counts for block in blocks]
    return Block(rows, np.concatenate(hashes), np.concatenate(counts))
