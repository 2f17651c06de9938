"""The settings of a fit, resolved once: parameters, the learning task and the columns of the data make them complete.

Enters: `FitParameters`, which are checked before the data are read; a `LearningTask`, which the targets decide; and
the columns of the features. Leaves: `FitSettings`, in which nothing is replaced afterwards.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.grid import KERNELS, Grid
from localsvm.cell.settings import CellSettings
from localsvm.data.encoding import View
from localsvm.data.ties import Ties
from localsvm.data.types import FloatArray
from localsvm.decision.decide import DecisionPlan
from localsvm.metric.sample import MetricPlan
from localsvm.partition.build import PartitionPlan
from localsvm.storage.checkpoint import Checkpoint
from localsvm.storage.parts import reduction_values
from localsvm.storage.version import __version__
from localsvm.tasks import Reduction


@dataclass(frozen=True)
class FitParameters:
    """What a user chooses, checked; the data are not known yet."""

    partition: PartitionPlan
    kernel: str
    """A name, or "auto"."""
    n_folds: int
    refit: str
    search: str
    scaling: str | None
    seed: int
    n_threads: int
    max_memory: int | None
    """Bytes that training may take; None is what the machine has."""
    checkpoint: Checkpoint | None
    """Where finished cells are kept."""


@dataclass(frozen=True)
class LearningTask:
    """What is learned from the targets."""

    reduction: Reduction
    decision: DecisionPlan = field(default_factory=DecisionPlan)
    class_factor: tuple[float, ...] = ()
    classes: NDArray[Any] | None = None
    """Labels of the classes; None for regression."""
    shown: NDArray[np.intp] = field(default_factory=lambda: np.array(0))
    """The scores that are predictions of a regression, in this order; an array without dimensions is one score."""

    def factors(self, y: NDArray[np.floating]) -> FloatArray:
        """Return the class weight of every target."""
        return _factors(self.class_factor, y)


@dataclass(frozen=True)
class FitSettings:
    """How to fit: the settings of a cell, and those around it."""

    cell: CellSettings
    """With the first of the kernels to choose from; the metric chooses one."""
    seed: int
    n_threads: int
    metric: MetricPlan = field(default_factory=MetricPlan)
    partition: PartitionPlan = field(default_factory=PartitionPlan)
    class_factor: tuple[float, ...] = ()
    """Factors on the weights of samples by class, in the order of the targets that stand for them; none are ones.

    They are applied when equal samples have been merged: three times a weight w is 3 w exactly, but
    w f + w f + w f need not be 3 w f.
    """
    decision: DecisionPlan = field(default_factory=DecisionPlan)
    max_memory: int | None = None
    checkpoint: Checkpoint | None = None
    workspace: str | None = None
    """Directory in which rows are arranged by cell, on disk; None: they are read from where they are."""

    def scaled_by(self, scaling: str | None) -> FitSettings:
        """Return the settings with a scaling."""
        return replace(self, metric=replace(self.metric, scaling=scaling))

    def identity(self, ties: Ties | None = None) -> dict[str, Any]:
        """Return what decides the model, by names that a user knows; threads, memory and places on disk do not."""
        cell, metric, partition, decision = self.cell, self.metric, self.partition, self.decision
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
            "folds": None if ties is None else "by time" if ties.ordered else "by groups",
            "grid": asdict(cell.grid),
            "kernel": "auto" if len(metric.kernels) > 1 else cell.kernel,
            "relevance": metric.relevance,
            "search": cell.search,
            "refit": cell.refit,
            "scaling": metric.scaling,
            "random_state": self.seed,
        }

    def factors(self, y: NDArray[np.floating]) -> FloatArray:
        """Return the class weight of every target."""
        return _factors(self.class_factor, y)


def _factors(class_factor: tuple[float, ...], y: NDArray[np.floating]) -> FloatArray:
    """Return the factor of every target: two classes are -1 and 1, more are 0, 1, 2, ..."""
    if not class_factor:
        return np.ones(len(y))
    of_class: NDArray[np.intp] = np.maximum(y, 0).astype(np.intp)
    return np.asarray(class_factor)[of_class]


def resolve(
    parameters: FitParameters,
    task: LearningTask,
    relevance: FloatArray | str | None,
    columns: View | None = None,
    workspace: str | None = None,
    grid: Grid | None = None,
) -> FitSettings:
    """Return the settings of a fit; `relevance` has a weight for every feature, `columns` says what becomes of them."""
    kernels = KERNELS if parameters.kernel == "auto" else (parameters.kernel,)
    if isinstance(relevance, np.ndarray):
        by_column = relevance if columns is None else relevance[columns.origins]
        weights: tuple[float, ...] | str | None = tuple(by_column.tolist())
    else:
        weights = relevance
    return FitSettings(
        cell=CellSettings(
            reduction=task.reduction,
            kernel=kernels[0],
            grid=grid or Grid(),
            n_folds=parameters.n_folds,
            refit=parameters.refit,
            search=parameters.search,
            own_lams=task.decision.is_plain,
        ),
        seed=parameters.seed,
        n_threads=parameters.n_threads,
        metric=MetricPlan(parameters.scaling, weights, kernels, None if columns is None else columns.n_numbers),
        partition=parameters.partition,
        class_factor=task.class_factor,
        decision=task.decision,
        max_memory=parameters.max_memory,
        checkpoint=parameters.checkpoint,
        workspace=workspace,
    )
