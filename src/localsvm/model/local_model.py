"""The fitted model: scaling, partition, and one trained function per cell.

Enters: a scaling, a partition and trained cells. Leaves: a `LocalModel`, plain arrays that pickle and compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localsvm.cell.trained import TrainedCell
from localsvm.data.scaling import Scaling
from localsvm.decision.calibration import Calibration
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

    @property
    def averages(self) -> bool:
        """Whether several cells predict a row, and the mean of their scores counts."""
        return averages(self.partition)
