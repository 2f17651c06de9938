"""Losses: the box of the dual, the clipping bound, and the risk that cross-validation compares.

Enters: targets and weights of a cell. Leaves: a `DualProblem`, what the native solver needs to know (Sec. 2).
A loss whose dual is a box needs nothing else; see CONTRIBUTING for how to add one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class DualProblem:
    """Maximise t'beta - beta'K beta/2 over lo <= beta <= hi, boxes given at scale 1/(2 lam W) = 1."""

    target: NDArray[np.float32]
    lo: NDArray[np.float32]
    hi: NDArray[np.float32]
    clip: float


class Loss(Protocol):
    """What the cell trainer asks of a loss."""

    @property
    def name(self) -> str:
        """Name in messages and files."""
        ...

    def dual(self, y: FloatArray, weight: FloatArray) -> DualProblem:
        """Return the box-constrained dual."""
        ...

    def value(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return the clipped training loss of every sample."""
        ...

    def risk(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return the loss that selects width and lam."""
        ...


@dataclass(frozen=True)
class Hinge:
    """Hinge loss max(0, 1 - y f) for y = -1, +1; selection by classification error (Sec. 3)."""

    name: str = "hinge"

    def dual(self, y: FloatArray, weight: FloatArray) -> DualProblem:
        """Return the dual: y beta between 0 and the weight."""
        signed = (y * weight).astype(np.float32)
        zero = np.zeros_like(signed)
        return DualProblem(y.astype(np.float32), np.minimum(signed, zero), np.maximum(signed, zero), 1.0)

    def value(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return the hinge loss of the clipped decision values."""
        return np.maximum(0.0, 1.0 - y * np.clip(f, -1.0, 1.0))

    def risk(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return 1 where the sign is wrong, with sign 0 = 1 as in the paper."""
        return np.asarray(np.where(f >= 0, 1.0, -1.0) != y, dtype=np.float64)
