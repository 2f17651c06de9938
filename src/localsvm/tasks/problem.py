"""A scalar problem, and the interface of a learning task that is reduced to scalar problems.

Enters: the targets and weights of a cell's samples. Leaves: `Problem`s, each an instance of the objective of Sec. 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from localsvm.data.types import FloatArray, IndexArray
from localsvm.tasks.losses import Loss


@dataclass(frozen=True)
class Problem:
    """One scalar problem on samples of a cell; its function is offset + scale * (the kernel sum that is trained)."""

    output: int
    loss: Loss
    y: FloatArray
    weight: FloatArray
    rows: IndexArray | None = None
    """The samples that take part, ascending; None is all."""
    offset: float = 0.0
    scale: float = 1.0
    side: FloatArray | None = None
    """One-sided samples (`Tube`): +1 where f costs only below the target, -1 only above. None: the loss decides."""

    @property
    def clip(self) -> float:
        """Where the function is clipped."""
        return self.loss.clip(self.y)

    @property
    def risk_unit(self) -> float:
        """A risk of one, in units of the targets as given."""
        return float(self.scale ** getattr(self.loss, "degree", 0))


class Reduction(Protocol):
    """A learning task, as the stages of a fit use it."""

    @property
    def loss(self) -> Loss:
        """The loss of its problems; with several losses, all of one kind, the first."""
        ...

    @property
    def n_outputs(self) -> int:
        """Number of functions of a cell."""
        ...

    @property
    def n_scores(self) -> int:
        """Number of columns of `scores`."""
        ...

    @property
    def columns_per_row(self) -> int:
        """The largest number of problems that a sample takes part in."""
        ...

    @property
    def has_parts(self) -> bool:
        """Whether a problem may be on some of the samples only."""
        ...

    @property
    def is_classification(self) -> bool:
        """Whether targets are classes."""
        ...

    @property
    def one_width(self) -> bool:
        """Whether all problems of a cell share their width."""
        ...

    @property
    def repeats(self) -> int:
        """How often each sample of a cell is repeated, in adjacent rows, before `problems` is called."""
        ...

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return the problems of a cell; none where all targets are equal."""
        ...

    def constants(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the best constant of every output."""
        ...

    def bounds(self, y: FloatArray) -> FloatArray:
        """Return the least and the largest value of every output (n_outputs, 2)."""
        ...

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the scores (n, n_scores) of outputs (n, n_outputs)."""
        ...

    def score_gradients(self, values: FloatArray, gradients: FloatArray) -> FloatArray:
        """Return the derivatives (n, n_scores, d) of the scores, from those of the outputs (n, n_outputs, d)."""
        ...

    def risk(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the loss of every sample, given its scores."""
        ...


def unbounded(n_outputs: int) -> FloatArray:
    """Return infinite bounds."""
    return np.tile([-np.inf, np.inf], (n_outputs, 1))
