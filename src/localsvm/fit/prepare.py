"""Before cells are trained: sample -> scale -> relevance -> partition -> tasks, and a plan of the memory.

Enters: validated rows and `FitSettings`. Leaves: `Prepared`: everything that training needs. Rows stay where the caller
has them; each stage reads, scales and converts the blocks it needs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.grid import cell_radius
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.data.arranged import ArrangedRows
from localsvm.data.content import Samples, canonical_rows, distinct_rows
from localsvm.data.rows import ModelRows, ScaledRows, mean_ball, smallest_hashes
from localsvm.data.scaling import Scaling, fit_scaling, fit_to_ends
from localsvm.data.source import RowSource, RowSubset
from localsvm.decision.decide import DecisionPlan
from localsvm.errors import InvalidData
from localsvm.fit.training import MemoryLimit, MemoryPlan, plan_memory
from localsvm.metric.choose_scaling import Sample, choose_scaling
from localsvm.metric.relevance import Metric, MetricPlan, learn_metric
from localsvm.partition.base import Members, Partition, ThreadMap, hash_blocks
from localsvm.partition.build import PartitionPlan, build_partition
from localsvm.partition.coarse import CoarseCells
from localsvm.storage.checkpoint import Checkpoint, OpenCheckpoint
from localsvm.storage.kept_cells import KeptCells
from localsvm.storage.parts import reduction_values
from localsvm.storage.version import __version__

# Rows from which standard and quantile scaling are fitted, and the pilot is drawn; fewer where they are wide.
_SAMPLE_ROWS = (200, 100_000)
_CHECKED_ROWS = 10_000  # where nothing is learned from them
_SAMPLE_VALUES = 1 << 24
_SAMPLE_COPIES = 5  # that exist for a moment, in double precision: drawn, ordered, scaled

# Below this radius squares of distances and of the smallest width leave single precision.
_SMALLEST_RADIUS = 1e-15


@dataclass(frozen=True)
class FitSettings:
    """How to fit: the settings of a cell, and those around it."""

    cell: CellSettings
    scaling: str | None
    seed: int
    n_threads: int
    partition: PartitionPlan = field(default_factory=PartitionPlan)
    class_factor: tuple[float, ...] = ()
    """Factors on the weights of samples by class, in the order of the targets that stand for them; none are ones.

    They are applied when equal samples have been merged: three times a weight w is 3 w exactly, but
    w f + w f + w f need not be 3 w f.
    """
    decision: DecisionPlan = field(default_factory=DecisionPlan)
    n_scaled: int | None = None
    """Columns that are scaled; those after them are on their scale already. None is all."""
    kernels: tuple[str, ...] = ()
    """Kernels of which the pilot chooses one; without any, that of the cell stays."""
    relevance: tuple[float, ...] | str | None = None
    """Weights of the columns; "auto" is learned, None is ones."""
    max_memory: int | None = None
    """Bytes that training may take; None is what the machine has."""
    checkpoint: Checkpoint | None = None
    """Where finished cells are kept."""
    workspace: str | None = None
    """Directory in which rows are arranged by cell, on disk; None: they are read from where they are."""

    def identity(self) -> dict[str, Any]:
        """Return what decides the model, by names that a user knows; threads, memory and places on disk do not."""
        cell, partition, decision = self.cell, self.partition, self.decision
        return {
            "localsvm": __version__,
            **reduction_values(cell.reduction),
            "class_weight": self.class_factor or None,
            "objective": decision.objective,
            "false_alarm": decision.false_alarm,
            "partition": partition.kind if isinstance(partition.kind, str) else type(partition.kind).__name__,
            "cell_size": partition.cell_size or "auto",
            "cell_radius": partition.cell_radius,
            "n_folds": cell.n_folds,
            "grid": asdict(cell.grid),
            "kernel": "auto" if self.kernels else cell.kernel,
            "relevance": self.relevance,
            "search": cell.search,
            "refit": cell.refit,
            "scaling": self.scaling,
            "random_state": self.seed,
        }

    @property
    def learns_from_sample(self) -> bool:
        """Whether a sample of the rows decides anything: their ends alone are enough for min-max scaling."""
        return self.scaling not in ("minmax", None) or self.relevance == "auto" or len(self.kernels) > 1

    def class_factors(self, n_classes: int) -> NDArray[np.float64]:
        """Return the factor of every class."""
        return np.asarray(self.class_factor) if self.class_factor else np.ones(n_classes)

    def factors(self, y: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the factor of every target: of two classes these are -1 and 1, of more 0, 1, 2, ..."""
        if not self.class_factor:
            return np.ones(len(y))
        of_class: NDArray[np.intp] = np.maximum(y, 0).astype(np.intp)
        return np.asarray(self.class_factor)[of_class]


@dataclass(frozen=True)
class Prepared:
    """Cells that are ready to be trained."""

    cell: CellSettings
    """Settings of the cells, with the kernel that was chosen."""
    scaling: Scaling
    """Into the metric of the model."""
    relevance: NDArray[np.float64]
    """The weights of the columns that are part of it."""
    partition: Partition
    tasks: CellTasks
    sizes: NDArray[np.intp]
    """Rows by cell."""
    plan: MemoryPlan
    keeper: KeptCells | None
    """Where finished cells are kept, and those of an earlier fit are."""
    n_rows: int
    n_features: int
    seconds: dict[str, float]
    """Of each phase so far."""


def available_threads() -> int:
    """Return the number of cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def present_rows(
    X: RowSource, y: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[RowSource, NDArray[np.float64], NDArray[np.float64]]:
    """Leave out rows of weight zero: they are as if absent."""
    if weight.all():
        return X, y, weight
    present = np.flatnonzero(weight)
    return RowSubset(X, present), y[present], weight[present]


def prepare(
    X: RowSource,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    settings: FitSettings,
    checkpoint: OpenCheckpoint | None = None,
) -> Prepared:
    """Scale rows of positive weight, and cut them into cells."""
    begin = time.perf_counter()
    settings = replace(settings, partition=settings.partition.sized(len(X)))
    limit = MemoryLimit.of(settings.max_memory)
    _check_memory(X, settings, limit)
    with ThreadPoolExecutor(settings.n_threads) as pool:
        hashes = hash_blocks(X.__getitem__, X.shape, settings.seed, pool.map)
        if checkpoint is not None:
            checkpoint.check_data(hashes, y, weight)
        drawn = smallest_hashes(hashes, _rows_drawn(X.shape[1], settings))
        sample = merge_sample(RowSubset(X, drawn), y[drawn], weight[drawn], settings)
        scaling = fit_sample_scaling(sample, X, len(X), settings, limit, pool.map)
        scaled = time.perf_counter()
        metric = learn_sample_metric(sample, scaling, len(X), settings, limit, pool.map)
        scaling = scaling.weighted(metric.weights)
        learned = time.perf_counter()
        rows = _model_rows(X, scaling, settings)
        partition, members = build_partition(settings.partition, rows, hashes, settings.seed, pool.map)
    del hashes, sample
    if len(members.order) == len(rows):  # each in one cell
        rows.arrange(members.order)
    return Prepared(
        cell=replace(settings.cell, kernel=metric.kernel),
        scaling=scaling,
        relevance=metric.weights,
        partition=partition,
        tasks=CellTasks(rows, y, weight, members, settings),
        sizes=members.sizes,
        plan=_plan(members.sizes, rows.n_features, settings, limit),
        keeper=None if checkpoint is None else checkpoint.cells(members, scaling, settings.cell.reduction),
        n_rows=len(rows),
        n_features=rows.n_features,
        seconds={
            "scaling": scaled - begin,
            "relevance": learned - scaled,
            "partition": time.perf_counter() - learned,
        },
    )


def _model_rows(X: RowSource, scaling: Scaling, settings: FitSettings) -> ModelRows:
    rows = ScaledRows(X, scaling)
    return rows if settings.workspace is None else ArrangedRows(rows, settings.workspace)


def merge_sample(X: RowSource, y: NDArray[np.float64], weight: NDArray[np.float64], settings: FitSettings) -> Sample:
    """Merge and order drawn rows, so that sums over them round alike for any order of the input.

    Copies of a row are drawn with it, however many they are.
    """
    rows, y, weight = distinct_rows(X, y, weight, settings.seed)
    return Sample(rows, y, weight * settings.factors(y), settings.n_scaled)


def sample_rows(n_features: int) -> int:
    """Return how many distinct rows of this width are drawn to learn from."""
    return int(np.clip(_SAMPLE_VALUES // n_features, *_SAMPLE_ROWS))


def _rows_drawn(n_features: int, settings: FitSettings) -> int:
    n_rows = sample_rows(n_features)
    return n_rows if settings.learns_from_sample else min(n_rows, _CHECKED_ROWS)


def _check_memory(X: RowSource, settings: FitSettings, limit: MemoryLimit) -> None:
    """Refuse a fit that the memory cannot hold before work starts, where the sizes of cells are known that early."""
    n_rows, n_features = X.shape
    largest = settings.partition.largest_cell(n_rows)
    if largest is not None:
        _plan(np.full(-(-n_rows // largest), largest), n_features, settings, limit)
    sampled = min(n_rows, _rows_drawn(n_features, settings))
    limit.check(_SAMPLE_COPIES * 8 * sampled * n_features, f"a sample of {sampled} rows of {n_features} features")


def _plan(sizes: NDArray[np.intp], n_features: int, settings: FitSettings, limit: MemoryLimit) -> MemoryPlan:
    in_memory = settings.workspace is None
    return plan_memory(sizes, n_features, settings.cell, settings.n_threads, limit, holds_model=in_memory)


def fit_sample_scaling(
    sample: Sample,
    ends: RowSource,
    n_rows: int,
    settings: FitSettings,
    limit: MemoryLimit,
    thread_map: ThreadMap,
) -> Scaling:
    """Fit the scaling: min-max and none to all `n_rows` rows, whose extremes `ends` has, the others to the sample."""
    method = settings.scaling
    if method == "auto":
        known, size = _pilot_size(sample, n_rows, settings)
        method = choose_scaling(
            sample, settings.cell, settings.seed, known, size, max_bytes=limit.n_bytes, thread_map=thread_map
        )
    if method in ("minmax", None):
        scaling: Scaling = fit_to_ends(method, ends, sample.n_scaled)
    else:
        scaling = fit_scaling(method, sample.X, sample.weight, sample.n_scaled)
    _check_spread(sample, scaling)
    return scaling


def learn_sample_metric(
    sample: Sample, scaling: Scaling, n_rows: int, settings: FitSettings, limit: MemoryLimit, thread_map: ThreadMap
) -> Metric:
    """Learn weights and kernel on scaled rows of the sample, where they are not given."""
    kind, given = settings.partition.kind, settings.relevance
    n_features = sample.X.shape[1]
    n_rows, size = _pilot_size(sample, n_rows, settings)
    plan = MetricPlan(
        kernels=settings.kernels or (settings.cell.kernel,),
        # A partition of the user's own lies in the space of the scaled rows: that stays what it is. Coarse cells lie in
        # the space of the model that they were found for, and the same rows lead to it again.
        learns_weights=given == "auto" and isinstance(kind, str | CoarseCells),
        n_rows=n_rows,
        cell_size=size,
        is_local=kind not in ("chunks", "none"),
        max_bytes=limit.n_bytes,
    )
    weights = np.ones(n_features) if given is None or isinstance(given, str) else np.array(given)
    return learn_metric(sample, scaling, weights, settings.cell.reduction, plan, thread_map)


def _pilot_size(sample: Sample, n_rows: int, settings: FitSettings) -> tuple[int, int]:
    """Return the rows of a fit and of its cells; copies count once, as far as that is known."""
    # A weight of 2 is a row given twice.
    n_rows = len(sample.y) if n_rows <= _rows_drawn(sample.X.shape[1], settings) else n_rows
    return n_rows, settings.partition.largest_cell(n_rows) or n_rows


class CellTasks(Sequence[CellTask]):
    """The samples of every cell, gathered, scaled and merged when they are asked for."""

    def __init__(
        self,
        rows: ModelRows,
        y: NDArray[np.float64],
        weight: NDArray[np.float64],
        members: Members,
        settings: FitSettings,
    ) -> None:
        self._rows, self._y, self._weight = rows, y, weight
        self._members, self._settings = members, settings

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self._members)

    @overload
    def __getitem__(self, number: int) -> CellTask: ...
    @overload
    def __getitem__(self, number: slice) -> list[CellTask]: ...
    def __getitem__(self, number: int | slice) -> CellTask | list[CellTask]:
        """Return the task of one cell."""
        if isinstance(number, slice):
            return [self[j] for j in range(*number.indices(len(self)))]
        members = self._members.rows(number)
        if len(members) == 0:
            return self._empty_cell(number)
        rows = canonical_rows(self._rows.take(members), self._y[members], self._weight[members], self._settings.seed)
        rows = replace(rows, weight=rows.weight * self._settings.factors(rows.y))
        return CellTask(rows, radius=cell_radius(rows), number=number)

    def agrees(self, number: int) -> bool:
        """Return whether all targets of a cell are the same, so that there is nothing to train."""
        y = self._y[self._members.rows(number)]
        return len(y) == 0 or bool((y == y[0]).all())

    def _empty_cell(self, number: int) -> CellTask:
        # Only a user's own partition has cells without rows; they predict what is best for all rows.
        none = np.zeros((0, self._rows.n_features), dtype=np.float32)
        rows = Samples(none, self._y[:0], self._weight[:0], np.zeros(0, dtype=np.int64))
        return CellTask(rows, radius=0.0, number=number, fallback=self._best_constants)

    @cached_property
    def _best_constants(self) -> NDArray[np.float64]:
        # In the order of the targets: sums round alike for any order of the rows.
        order = np.lexsort((self._weight, *self._y.reshape(len(self._y), -1).T))
        y, weight = self._y[order], self._weight[order]
        return self._settings.cell.reduction.constants(y, weight * self._settings.factors(y))


def _check_spread(sample: Sample, scaling: Scaling) -> None:
    """Refuse rows that differ as given but are alike in single precision, once scaled."""
    X = sample.X
    scaled = scaling.apply(X)
    # Some row is at least half of the longest side away from the mean: a look at the sides is nearly always enough.
    half_a_side = float((scaled.max(axis=0) - scaled.min(axis=0)).max()) / 2
    if half_a_side >= _SMALLEST_RADIUS or mean_ball(scaled)[1] >= _SMALLEST_RADIUS:
        return
    spread = float((X.max(axis=0) / 2 - X.min(axis=0) / 2).max()) * 2
    if spread > 0:
        raise InvalidData(
            f"the features differ by {spread:.3g} at most, too little for single precision. "
            "Multiply them by a large number, or pass scaling='quantile'."
        )
