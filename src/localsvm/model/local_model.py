"""The fitted model: scaling, partition, and one trained function per cell.

Enters: a scaling, a partition and trained cells. Leaves: a `LocalModel`, plain arrays that pickle and compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from localsvm.cell.trained import TrainedCell
from localsvm.data.scaling import Scaling
from localsvm.decision.calibration import Calibration
from localsvm.model.packed import PackedCells
from localsvm.partition.base import Partition, averages
from localsvm.tasks import Reduction


@dataclass(frozen=True)
class LocalModel:
    """Everything prediction needs."""

    n_features: int
    scaling: Scaling
    partition: Partition
    reduction: Reduction
    cells: Sequence[TrainedCell]
    """In the order of the partition; those of a stored model are read when they are asked for."""
    calibration: Calibration | None = None
    """Of classification: probabilities from scores, by cell; of one cell where all cells are averaged."""

    @cached_property
    def packed(self) -> PackedCells:
        """The cells as the core evaluates them."""
        return PackedCells(self.cells, self.n_features, self.reduction.n_outputs)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without what is packed."""
        return {name: value for name, value in self.__dict__.items() if name != "packed"}

    @property
    def averages(self) -> bool:
        """Whether several cells predict a row, and the mean of their scores counts."""
        return averages(self.partition)
