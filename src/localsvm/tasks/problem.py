"""A scalar problem, and what fitting asks of a learning task that is reduced to some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localsvm.tasks.losses import Loss

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """One scalar problem on samples of a cell; its function is offset + scale * (the kernel sum that is trained)."""

    output: int
    loss: Loss
    y: FloatArray
    weight: FloatArray
    rows: NDArray[np.intp] | None = None
    """The samples that take part, ascending; None is all."""
    offset: float = 0.0
    scale: float = 1.0

    @property
    def clip(self) -> float:
        """Where the function is clipped."""
        return self.loss.clip(self.y)

    @property
    def risk_unit(self) -> float:
        """What a risk of one is in units of the targets as given."""
        return float(self.scale ** getattr(self.loss, "degree", 0))


class Reduction(Protocol):
    """What fitting asks of a learning task."""

    @property
    def loss(self) -> Loss:
        """The loss of its problems; of several, which are of one kind, the first."""
        ...

    @property
    def n_outputs(self) -> int:
        """Functions of a cell."""
        ...

    @property
    def n_scores(self) -> int:
        """Columns that `scores` returns."""
        ...

    @property
    def columns_per_row(self) -> int:
        """Problems that a sample takes part in, at most."""
        ...

    @property
    def has_parts(self) -> bool:
        """Whether there are problems on some of the samples only."""
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
    def copies(self) -> int:
        """How often each sample of a cell is repeated before `problems` sees it."""
        ...

    def problems(self, y: FloatArray, weight: FloatArray) -> list[Problem]:
        """Return the problems of a cell; none where all targets agree."""
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
        """Return the loss of every sample that its scores make."""
        ...


def unbounded(n_outputs: int) -> FloatArray:
    """Return bounds that bound nothing."""
    return np.tile([-np.inf, np.inf], (n_outputs, 1))
