"""The first pass over the rows: their number, invalid values, the range of every column, and the classes.

Input: the frame of a fit. Output: a `Survey` of all rows, merged from those of the partitions, or an error that names
the column and counts the rows. Sums are exact, so that their rounding does not depend on the order of the rows.
"""

from __future__ import annotations

import math
import os
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from localsvm.data.content import content_hash
from localsvm.data.types import BoolArray, FloatArray
from localsvm.errors import InvalidData
from localsvm.spark.rows import (
    FEATURES,
    TARGET,
    TIE,
    WEIGHT,
    FeatureColumns,
    TieColumn,
    TrainingRows,
    floats,
    tie_numbers,
    tied_marks,
)
from localsvm.storage.kept_cells import row_marks
from localsvm.storage.record import pack, unpack

MOST_CLASSES = 1000

BYTES_OF_TASK = 16 << 20
"""Size of partitions up to which several of them are read by one task."""

_SCHEMA = "survey binary"


@dataclass(frozen=True)
class Mass:
    """Total weight of a class, in twice the precision of a double, and the largest weight of a row."""

    total: tuple[float, ...] = ()
    largest: float = 0.0

    @classmethod
    def of(cls, weight: FloatArray) -> Mass:
        """Return the mass of rows with these weights."""
        return cls(_exact_sum(weight.tolist()), float(weight.max()))

    def __add__(self, other: Mass) -> Mass:
        """Return the mass of both parts together."""
        return Mass(_exact_sum((*self.total, *other.total)), max(self.largest, other.largest))


def _exact_sum(terms: Sequence[float]) -> tuple[float, float]:
    """Return a sum and its rounding error."""
    total = math.fsum(terms)
    return total, math.fsum((*terms, -total))


@dataclass(frozen=True)
class Survey:
    """Counts, invalid values, ranges and classes of some rows."""

    n_rows: int = 0
    n_present: int = 0
    """Rows of positive weight; the others are ignored."""
    no_features: int = 0
    """Rows whose features are null."""
    bad_targets: int = 0
    bad_weights: int = 0
    no_ties: int = 0
    """Rows without group or time."""
    sizes: dict[int, int] = field(default_factory=dict)
    """Number of rows by number of features."""
    bad_values: dict[int, int] = field(default_factory=dict)
    """Number of values that are null, NaN or infinite, by feature."""
    low: FloatArray | None = None
    high: FloatArray | None = None
    """Minimum and maximum of every feature."""
    target_ends: tuple[float, float] = (math.inf, -math.inf)
    largest_weight: float = 0.0
    tie_ends: tuple[int, int] = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)
    """Smallest and largest number of a group or time."""
    classes: dict[float, Mass] = field(default_factory=dict)
    """Mass by label, for classifications; at most `MOST_CLASSES` + 1 labels."""
    checksum: int = 0
    """Sum of the checksums of rows of positive weight, modulo 2^64."""
    workers: dict[str, int] = field(default_factory=dict)
    """Number of partitions by the Python process that has read them."""

    def __add__(self, other: Survey) -> Survey:
        """Return the survey of both parts together."""
        labels = sorted({*self.classes, *other.classes})[: MOST_CLASSES + 1]
        none = Mass()
        return Survey(
            n_rows=self.n_rows + other.n_rows,
            n_present=self.n_present + other.n_present,
            no_features=self.no_features + other.no_features,
            bad_targets=self.bad_targets + other.bad_targets,
            bad_weights=self.bad_weights + other.bad_weights,
            no_ties=self.no_ties + other.no_ties,
            sizes=dict(Counter(self.sizes) + Counter(other.sizes)),
            bad_values=dict(Counter(self.bad_values) + Counter(other.bad_values)),
            low=_of_both(np.minimum, self.low, other.low),
            high=_of_both(np.maximum, self.high, other.high),
            target_ends=(
                min(self.target_ends[0], other.target_ends[0]),
                max(self.target_ends[1], other.target_ends[1]),
            ),
            largest_weight=max(self.largest_weight, other.largest_weight),
            tie_ends=(min(self.tie_ends[0], other.tie_ends[0]), max(self.tie_ends[1], other.tie_ends[1])),
            classes={label: self.classes.get(label, none) + other.classes.get(label, none) for label in labels},
            checksum=(self.checksum + other.checksum) % 2**64,
            workers=dict(Counter(self.workers) + Counter(other.workers)),
        )

    @property
    def n_features(self) -> int:
        """Number of features of every row."""
        (size,) = self.sizes
        return size

    @property
    def ends(self) -> FloatArray:
        """Two rows: minima and maxima of all features."""
        assert self.low is not None and self.high is not None
        return np.stack([self.low, self.high])

    @property
    def n_tasks(self) -> int:
        """Number of tasks for another pass: enough for all processes, and not so many that starting them takes longest.

        A task in Python takes some 50 milliseconds to start, as long as it takes to read megabytes.
        """
        n_bytes = self.n_rows * 8 * (self.n_features + 2)
        return min(max(2 * len(self.workers), -(-n_bytes // BYTES_OF_TASK)), sum(self.workers.values()))


def _of_both(choose: np.ufunc, one: FloatArray | None, other: FloatArray | None) -> FloatArray | None:
    if one is None or other is None:
        return other if one is None else one
    return np.asarray(choose(one, other)) if len(one) == len(other) else one


@dataclass(frozen=True)
class SurveyPlan:
    """What a survey does beside counting."""

    classes: bool
    """Whether targets are labels."""
    seed: int
    """Of the hashes of rows."""
    tie: TieColumn | None = None
    """Of groups or times."""


def survey_rows(frame: DataFrame, features: FeatureColumns, label: str, weight: str | None, plan: SurveyPlan) -> Survey:
    """Survey a frame of `training_frame`; raise `InvalidData` if its rows cannot be used."""
    parts = frame.mapInArrow(partial(_survey_partition, plan), _SCHEMA).toArrow().column("survey").to_pylist()
    survey = sum((_read(part) for part in parts), Survey())
    _check(survey, features, label, weight)
    if plan.tie is not None:
        _check_ties(survey, plan.tie)
    return survey


def _survey_partition(plan: SurveyPlan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    own = Survey(workers={f"{socket.gethostname()} {os.getpid()}": 1})
    survey = sum((_survey_batch(batch, plan) for batch in batches), own)
    yield pa.RecordBatch.from_pydict({"survey": pa.array([b"".join(pack(asdict(survey)))], pa.binary())})


def _survey_batch(batch: pa.RecordBatch, plan: SurveyPlan) -> Survey:
    features, y, weight = batch.column(FEATURES), floats(batch.column(TARGET)), floats(batch.column(WEIGHT))
    lengths = features.drop_null().value_lengths().to_numpy(zero_copy_only=False)
    sizes, rows_of_size = np.unique(lengths, return_counts=True)
    survey = Survey(
        n_rows=len(y),
        n_present=int((weight > 0).sum()),
        no_features=features.null_count,
        sizes=dict(zip(sizes.tolist(), rows_of_size.tolist(), strict=True)),
        bad_targets=int((~np.isfinite(y)).sum()),
        bad_weights=int((~(np.isfinite(weight) & (weight >= 0))).sum()),
        no_ties=0 if plan.tie is None else int((_has_no_tie(batch.column(TIE)) & (weight > 0)).sum()),
    )
    if survey.no_features or len(sizes) != 1:
        return survey
    X = floats(features.flatten()).reshape(len(y), int(sizes[0]))
    bad = (~np.isfinite(X)).sum(axis=0)
    survey = replace(survey, bad_values={int(j): int(bad[j]) for j in np.flatnonzero(bad)})
    present = weight > 0
    if survey.bad_values or survey.bad_targets or survey.bad_weights or not present.any():
        return survey
    tie = None if plan.tie is None else tie_numbers(batch.column(TIE))
    return _with_content(survey, TrainingRows(X, y, weight, tie)[present], plan)


def _has_no_tie(column: pa.Array) -> BoolArray:
    missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    return np.asarray(missing | np.isinf(floats(column)) if pa.types.is_floating(column.type) else missing)


def _with_content(survey: Survey, rows: TrainingRows, plan: SurveyPlan) -> Survey:
    survey = replace(
        survey,
        low=rows.X.min(axis=0),
        high=rows.X.max(axis=0),
        target_ends=(float(rows.y.min()), float(rows.y.max())),
        largest_weight=float(rows.weight.max()),
        checksum=int(tied_marks(row_marks(content_hash(rows.X, plan.seed), rows.y, rows.weight), rows.tie).sum()),
    )
    if rows.tie is not None:
        survey = replace(survey, tie_ends=(int(rows.tie.min()), int(rows.tie.max())))
    if not plan.classes:
        return survey
    labels, index = np.unique(rows.y + 0.0, return_inverse=True)  # -0.0 is 0.0
    few = enumerate(labels[: MOST_CLASSES + 1].tolist())
    return replace(survey, classes={label: Mass.of(rows.weight[index == place]) for place, label in few})


def _read(record: bytes) -> Survey:
    values = unpack(record, "the survey of a partition")
    return Survey(**{**values, "classes": {label: Mass(**mass) for label, mass in values["classes"].items()}})


def _check(survey: Survey, features: FeatureColumns, label: str, weight: str | None) -> None:
    """Raise for the first problem, most general first."""
    n = survey.n_rows
    if n == 0:
        raise InvalidData("the data frame has 0 rows.")
    if survey.no_features:
        raise InvalidData(f"column {features!r} is null in {survey.no_features} of {n} rows. Drop these rows.")
    if len(survey.sizes) > 1:
        found = ", ".join(f"{size} in {count} rows" for size, count in sorted(survey.sizes.items()))
        raise InvalidData(f"column {features!r} has different numbers of features: {found}. All rows need the same.")
    if survey.n_features == 0:
        raise InvalidData(f"column {features!r} has vectors of size 0 in {n} rows. At least one feature is needed.")
    if survey.bad_values:
        raise InvalidData(_bad_values(survey, features))
    if survey.bad_targets:
        raise InvalidData(
            f"column {label!r} is null, NaN or infinite in {survey.bad_targets} of {n} rows. Drop these rows."
        )
    if survey.bad_weights:
        raise InvalidData(
            f"column {weight!r} is null, NaN, infinite or negative in {survey.bad_weights} of {n} rows. Weights must "
            "be zero or positive; weight 0 ignores a row."
        )
    if survey.n_present == 0:
        raise InvalidData(f"column {weight!r} is 0 in all {n} rows. At least one weight must be positive.")


def _check_ties(survey: Survey, tie: TieColumn) -> None:
    if survey.no_ties:
        raise InvalidData(
            f"column {tie.name!r} is null, NaN or infinite in {survey.no_ties} of {survey.n_rows} rows, but every row "
            "needs its group or time. Drop these rows."
        )
    if survey.tie_ends[0] == survey.tie_ends[1]:
        what = "time" if tie.ordered else "group"
        raise InvalidData(
            f"column {tie.name!r} has a single {what}: at least two are needed, one to train and one to validate. Set "
            f"no {'timeCol' if tie.ordered else 'groupsCol'} to validate on other rows of it."
        )


def _bad_values(survey: Survey, features: FeatureColumns) -> str:
    place, count = max(survey.bad_values.items(), key=lambda item: (item[1], -item[0]))
    column = f"element {place} of column {features!r}" if isinstance(features, str) else f"column {features[place]!r}"
    more = len(survey.bad_values) - 1
    others = f" (and {more} more such feature{'s' if more > 1 else ''})" if more else ""
    return (
        f"{column} is null, NaN or infinite in {count} of {survey.n_rows} rows{others}. Drop these rows, or "
        "impute them with Imputer."
    )
