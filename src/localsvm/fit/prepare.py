"""Before cells are trained: sample -> scaling -> metric -> partition -> tasks, and a plan of the memory.

Enters: validated rows, their hashes and `FitSettings`. Leaves: `Prepared`, all that training needs. Rows stay where the
caller has them; each stage reads, scales and converts the blocks it needs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.grid import cell_radius
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.data.arranged import ArrangedRows
from localsvm.data.content import Keys, Samples, canonical_rows
from localsvm.data.rows import ModelRows, ScaledRows, smallest_hashes
from localsvm.data.scaling import Scaling
from localsvm.data.source import RowSource, RowSubset
from localsvm.data.stages import NOT_KEPT, Stages
from localsvm.data.ties import Ties
from localsvm.data.types import FloatArray
from localsvm.fit.memory import MemoryLimit, MemoryPlan, plan_memory
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import OnProgress, tell_stage
from localsvm.metric.sample import FitContext, fit_sample_scaling, learn_sample_metric, merge_sample
from localsvm.partition.base import Members, Partition, hash_blocks
from localsvm.partition.build import build_partition
from localsvm.storage.kept_partition import kept_partition

_SAMPLE_COPIES = 5  # that exist for a moment, in double precision: drawn, ordered, scaled


@dataclass(frozen=True)
class TargetRows:
    """Rows with targets and weights."""

    X: RowSource
    y: FloatArray
    weight: FloatArray
    key: Keys | None = None
    """By which rows are found again in the out-of-fold scores of other members, if there are any."""
    ties: Ties | None = None
    """Groups or times, which decide the folds."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    def some(self, numbers: NDArray[np.intp]) -> TargetRows:
        """Return the rows of these numbers."""
        key = None if self.key is None else self.key[numbers]
        ties = None if self.ties is None else self.ties[numbers]
        return TargetRows(RowSubset(self.X, numbers), self.y[numbers], self.weight[numbers], key, ties)

    def present(self) -> TargetRows:
        """Return the rows of positive weight: those of weight zero are as if absent."""
        return self if self.weight.all() else self.some(np.flatnonzero(self.weight))

    def hashes(self, seed: int, n_threads: int = 1) -> NDArray[np.uint64]:
        """Return the content hashes of all rows."""
        with ThreadPoolExecutor(n_threads) as pool:
            return hash_blocks(self.X.__getitem__, self.X.shape, seed, pool.map)


@dataclass(frozen=True)
class Prepared:
    """Cells that are ready to be trained."""

    cell: CellSettings
    """Settings of the cells, with the kernel of the metric."""
    scaling: Scaling
    """Into the metric of the model."""
    relevance: FloatArray
    """The weights of the columns that are part of it."""
    partition: Partition
    members: Members
    tasks: CellTasks
    plan: MemoryPlan
    n_rows: int
    n_features: int
    seconds: dict[str, float]
    """Of each phase so far."""

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows by cell."""
        return self.members.sizes


def check_memory(shape: tuple[int, ...], settings: FitSettings, limit: MemoryLimit) -> None:
    """Refuse a fit that exceeds the memory before work starts, if the sizes of its cells are known that early."""
    n_rows, n_features = shape
    largest = settings.partition.largest_cell(n_rows)
    if largest is not None:
        _plan(np.full(-(-n_rows // largest), largest), n_features, settings, limit)
    sampled = min(n_rows, settings.metric.sample_size(n_features))
    limit.check(_SAMPLE_COPIES * 8 * sampled * n_features, f"a sample of {sampled} rows of {n_features} features")


def prepare(
    data: TargetRows,
    hashes: NDArray[np.uint64],
    settings: FitSettings,
    limit: MemoryLimit,
    on_progress: OnProgress | None = None,
    stages: Stages = NOT_KEPT,
) -> Prepared:
    """Choose the metric of rows of positive weight, and partition them into cells."""
    begin = time.perf_counter()
    X, partition_plan = data.X, settings.partition.sized(len(data))
    context = FitContext(settings.cell, partition_plan, settings.seed, len(data), limit.n_bytes)
    with ThreadPoolExecutor(settings.n_threads) as pool:
        drawn = data.some(smallest_hashes(hashes, settings.metric.sample_size(X.shape[1])))
        sample = merge_sample(
            drawn.X,
            drawn.y,
            drawn.weight,
            settings.seed,
            settings.factors,
            settings.metric.n_scaled,
            drawn.ties,
        )
        scaling = fit_sample_scaling(sample, X, settings.metric, context, pool.map, stages)
        scaled = time.perf_counter()
        tell_stage(on_progress, "relevance")
        metric = learn_sample_metric(sample, scaling, settings.metric, context, pool.map, stages)
        scaling = scaling.weighted(metric.weights)
        learned = time.perf_counter()
        tell_stage(on_progress, "partition")
        del drawn, sample
        scaled_rows = ScaledRows(X, scaling)
        rows: ModelRows = scaled_rows if settings.workspace is None else ArrangedRows(scaled_rows, settings.workspace)
        build = partial(build_partition, partition_plan, rows, hashes, settings.seed, pool.map)
        # A partition that was given is there already.
        is_kept = stages is not NOT_KEPT and isinstance(partition_plan.kind, str)
        partition, members = kept_partition(stages, scaling, hashes, build) if is_kept else build()
    if len(members.order) == len(rows):  # each row is in one cell
        rows.arrange(members.order)
    return Prepared(
        cell=replace(settings.cell, kernel=metric.kernel),
        scaling=scaling,
        relevance=metric.weights,
        partition=partition,
        members=members,
        tasks=CellTasks(rows, data, members, settings),
        plan=_plan(members.sizes, rows.n_features, settings, limit),
        n_rows=len(rows),
        n_features=rows.n_features,
        seconds={
            "scaling": scaled - begin,
            "relevance": learned - scaled,
            "partition": time.perf_counter() - learned,
        },
    )


def _plan(sizes: NDArray[np.intp], n_features: int, settings: FitSettings, limit: MemoryLimit) -> MemoryPlan:
    in_memory = settings.workspace is None
    return plan_memory(sizes, n_features, settings.cell, settings.n_threads, limit, holds_model=in_memory)


class CellTasks(Sequence[CellTask]):
    """The samples of every cell, gathered, scaled and merged when they are asked for."""

    def __init__(
        self,
        rows: ModelRows,
        data: TargetRows,
        members: Members,
        settings: FitSettings,
    ) -> None:
        self._rows, self._y, self._weight, self._key, self._ties = rows, data.y, data.weight, data.key, data.ties
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
        key = None if self._key is None else self._key[members]
        ties = None if self._ties is None else self._ties[members]
        rows = canonical_rows(
            self._rows.take(members), self._y[members], self._weight[members], self._settings.seed, key, ties
        )
        rows = replace(rows, weight=rows.weight * self._settings.factors(rows.y))
        return CellTask(rows, radius=cell_radius(rows), number=number)

    def agrees(self, number: int) -> bool:
        """Return whether all targets of a cell are equal, so that there is nothing to train."""
        y = self._y[self._members.rows(number)]
        return len(y) == 0 or bool((y == y[0]).all())

    def _empty_cell(self, number: int) -> CellTask:
        # Only a user's own partition has cells without rows; they predict the best constants of all rows.
        none = np.zeros((0, self._rows.n_features), dtype=np.float32)
        rows = Samples(none, self._y[:0], self._weight[:0], np.zeros(0, dtype=np.int64))
        return CellTask(rows, radius=0.0, number=number, fallback=self._best_constants)

    @cached_property
    def _best_constants(self) -> FloatArray:
        # Sorted by target, so that rounding does not depend on the order of the rows.
        order = np.lexsort((self._weight, *self._y.reshape(len(self._y), -1).T))
        y, weight = self._y[order], self._weight[order]
        return self._settings.cell.reduction.constants(y, weight * self._settings.factors(y))
