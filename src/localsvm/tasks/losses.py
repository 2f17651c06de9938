"""Losses: the dual for the native solver, and the risk for cross-validation.

Enters: targets and weights of a cell. Leaves: a `BoxDual` where the dual is a box (hinge, pinball), and the values of
the loss (Sec. 2). A squared loss has a ridge instead of a box, and solvers of its own. CONTRIBUTING.md explains how to
add a loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from localsvm.data.types import Float32Array, FloatArray

Factors = tuple[float, float]

TOLERANCE = 1e-3
"""Largest duality gap in risk units at which a solve stops."""


@dataclass(frozen=True)
class BoxDual:
    """Maximise t'beta - beta'K beta/2 over lo <= beta <= hi, boxes given at scale 1/(2 lam W) = 1."""

    target: Float32Array
    lo: Float32Array
    hi: Float32Array


class Loss(Protocol):
    """A loss, as the cell trainer uses it."""

    @property
    def name(self) -> str:
        """Name in messages and files."""
        ...

    def allowed_gap(self, risk: float) -> float:
        """Return the duality gap in risk units at which a solve stops; `risk` is the lowest validation risk so far."""
        ...

    @property
    def width_factors(self) -> Factors:
        """Factors on the ends of the default grid of widths, which is made for the hinge loss."""
        ...

    @property
    def lam_factors(self) -> Factors:
        """Factors on the ends of the default grid of lams."""
        ...

    @property
    def risk_is_value(self) -> bool:
        """Whether selection uses the training loss."""
        ...

    def clip(self, y: FloatArray) -> float:
        """Return the clipping bound: values beyond the largest target only increase the loss (Sec. 2)."""
        ...

    def value(self, y: FloatArray, f: FloatArray, side: FloatArray | None = None) -> FloatArray:
        """Return the training loss of every sample, for a clipped function; `side` is that of the `Problem`."""
        ...

    def risk(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return the loss that selects width and lam, where it is not the training loss."""
        ...


class BoxLoss(Loss, Protocol):
    """A loss whose dual is a box."""

    def dual(self, y: FloatArray, weight: FloatArray, side: FloatArray | None = None) -> BoxDual:
        """Return the box-constrained dual; `side` is that of the `Problem`."""
        ...


class RegressionLoss(Loss, Protocol):
    """A loss on real targets."""

    @property
    def degree(self) -> int:
        """The loss of k times the targets is k**degree times the loss."""
        ...

    def best_constant(self, y: FloatArray, weight: FloatArray) -> float:
        """Return the constant of lowest loss."""
        ...


def _mean(y: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean, clipped to the range of the targets against rounding."""
    return float(np.clip(y @ weight / weight.sum(), y.min(), y.max()))


def _wrong_sign(y: FloatArray, f: FloatArray) -> FloatArray:
    """Return 1 where the sign is wrong, with sign 0 = 1 as in the paper."""
    return np.where(np.where(f >= 0, 1.0, -1.0) != y, 1.0, 0.0)


def _one_sided(y: FloatArray, largest: FloatArray) -> BoxDual:
    """Return the dual of a one-sided loss: beta lies between 0 and `largest`, which may have either sign."""
    end = largest.astype(np.float32)
    zero = np.zeros_like(end)
    return BoxDual(y.astype(np.float32), np.minimum(end, zero), np.maximum(end, zero))


@dataclass(frozen=True)
class Hinge:
    """Hinge loss max(0, 1 - y f) for y = -1, +1; selection by classification error (Sec. 3)."""

    name: str = "hinge"
    tolerance: float = TOLERANCE
    width_factors: Factors = (1.0, 1.0)
    lam_factors: Factors = (1.0, 1.0)
    risk_is_value: ClassVar[bool] = False

    def allowed_gap(self, risk: float) -> float:
        """Return the tolerance."""
        return self.tolerance

    def clip(self, y: FloatArray) -> float:
        """Return 1."""
        return 1.0

    def dual(self, y: FloatArray, weight: FloatArray, side: FloatArray | None = None) -> BoxDual:
        """Return the dual: y beta between 0 and the weight."""
        return _one_sided(y, y * weight)

    def value(self, y: FloatArray, f: FloatArray, side: FloatArray | None = None) -> FloatArray:
        """Return the hinge loss."""
        return np.maximum(0.0, 1.0 - y * f)

    def risk(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return 1 where the sign is wrong."""
        return _wrong_sign(y, f)


@dataclass(frozen=True)
class _OfRealTargets(ABC):
    """Losses on real targets: functions are clipped at the largest target, and the training loss selects."""

    tolerance: float = field(default=TOLERANCE, kw_only=True)
    # Regression needs the value of a function, not only its sign: the extreme widths are never selected.
    width_factors: Factors = field(default=(2.0, 0.5), kw_only=True)
    lam_factors: Factors = field(default=(1.0, 1.0), kw_only=True)
    risk_is_value: ClassVar[bool] = True

    def allowed_gap(self, risk: float) -> float:
        """Return the tolerance."""
        return self.tolerance

    def clip(self, y: FloatArray) -> float:
        """Return the largest target."""
        return float(np.abs(y).max())

    @abstractmethod
    def value(self, y: FloatArray, f: FloatArray, side: FloatArray | None = None) -> FloatArray:
        """Return the loss."""

    def risk(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return the loss."""
        return self.value(y, f)


@dataclass(frozen=True)
class Squares(_OfRealTargets):
    """Squared losses: their dual has a ridge instead of a box, so that small lams cost little."""

    lam_factors: Factors = field(default=(1 / 3, 1.0), kw_only=True)

    def allowed_gap(self, risk: float) -> float:
        """Return a hundredth of the risk, but at most the tolerance: with little noise, squared losses are small."""
        return self.tolerance * min(max(10 * risk, 0.1), 1.0)


@dataclass(frozen=True)
class Squared(Squares):
    """Squared loss (y - f)^2, whose minimizer is the conditional mean."""

    name: str = "squared"
    degree: int = 2

    def best_constant(self, y: FloatArray, weight: FloatArray) -> float:
        """Return the weighted mean."""
        return _mean(y, weight)

    def value(self, y: FloatArray, f: FloatArray, side: FloatArray | None = None) -> FloatArray:
        """Return the squared error."""
        return np.square(y - f)


@dataclass(frozen=True)
class SquaredMargin(Squared):
    """Squared loss on y = -1, +1; selection by classification error."""

    name: str = "squared margin"
    width_factors: Factors = field(default=(1.0, 1.0), kw_only=True)
    lam_factors: Factors = field(default=(1.0, 1.0), kw_only=True)
    risk_is_value: ClassVar[bool] = False

    def risk(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return 1 where the sign is wrong."""
        return _wrong_sign(y, f)


@dataclass(frozen=True)
class Logistic:
    """Logistic loss log(1 + exp(-y f)), whose minimizer is the log-odds; solved by steps of least squares."""

    name: str = "logistic"
    tolerance: float = TOLERANCE
    width_factors: Factors = (2.0, 0.5)
    lam_factors: Factors = (1 / 3, 1.0)
    risk_is_value: ClassVar[bool] = True

    @property
    def squared(self) -> Squared:
        """The squared loss on the same grid, from whose solution the steps begin."""
        return Squared(tolerance=self.tolerance, width_factors=self.width_factors, lam_factors=self.lam_factors)

    def allowed_gap(self, risk: float) -> float:
        """Return the tolerance."""
        return self.tolerance

    def clip(self, y: FloatArray) -> float:
        """Return no bound."""
        return np.inf

    def value(self, y: FloatArray, f: FloatArray, side: FloatArray | None = None) -> FloatArray:
        """Return the logistic loss."""
        return np.logaddexp(0.0, -y * f)

    def risk(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return the logistic loss."""
        return self.value(y, f)


@dataclass(frozen=True)
class Expectile(Squares):
    """Asymmetric squares: tau (y - f)^2 above the function, (1 - tau) (y - f)^2 below it."""

    tau: float
    name: str = "expectile"
    degree: int = 2

    def best_constant(self, y: FloatArray, weight: FloatArray) -> float:
        """Return the weighted expectile, the fixed point of a weighted mean."""
        constant = _mean(y, weight)
        for _ in range(100):
            asymmetric = weight * np.where(y >= constant, self.tau, 1.0 - self.tau)
            last, constant = constant, _mean(y, asymmetric)
            if constant == last:
                break
        return constant

    def value(self, y: FloatArray, f: FloatArray, side: FloatArray | None = None) -> FloatArray:
        """Return the asymmetric squared error."""
        return np.where(y >= f, self.tau, 1.0 - self.tau) * np.square(y - f)


@dataclass(frozen=True)
class Pinball(_OfRealTargets):
    """Pinball loss: tau (y - f) above the function, (1 - tau) (f - y) below it; the minimizer is the tau-quantile."""

    tau: float
    name: str = "pinball"
    degree: int = 1

    def best_constant(self, y: FloatArray, weight: FloatArray) -> float:
        """Return the weighted quantile; between two samples, their mean."""
        order = np.argsort(y, kind="stable")
        below = np.cumsum(weight[order])
        wanted = self.tau * below[-1]
        slack = 1e-12 * below[-1]
        lower = int(np.searchsorted(below, wanted - slack))
        upper = int(np.searchsorted(below, wanted + slack))
        ends = y[order[[lower, min(upper, len(y) - 1)]]]
        return float(ends.mean())

    def dual(self, y: FloatArray, weight: FloatArray, side: FloatArray | None = None) -> BoxDual:
        """Return the dual: beta between (tau - 1) and tau times the weight."""
        return BoxDual(
            y.astype(np.float32),
            ((self.tau - 1.0) * weight).astype(np.float32),
            (self.tau * weight).astype(np.float32),
        )

    def value(self, y: FloatArray, f: FloatArray, side: FloatArray | None = None) -> FloatArray:
        """Return the pinball loss."""
        return np.maximum(self.tau * (y - f), (self.tau - 1.0) * (y - f))


@dataclass(frozen=True)
class Tube(_OfRealTargets):
    """Epsilon-insensitive loss max(0, |y - f| - epsilon), as two one-sided losses whose duals are boxes.

    A sample is two rows of the problem, one for each edge of the tube: on side +1 the target is y - epsilon and f costs
    below it, on side -1 the target is y + epsilon and f costs above it. Each row has twice the cost, so that the mean
    over all rows is that of the loss.
    """

    name: str = "epsilon-insensitive"
    degree: int = 1

    def best_constant(self, y: FloatArray, weight: FloatArray) -> float:
        """Return the weighted median."""
        return Pinball(0.5).best_constant(y, weight)

    def dual(self, y: FloatArray, weight: FloatArray, side: FloatArray | None = None) -> BoxDual:
        """Return the dual: side beta between 0 and twice the weight."""
        assert side is not None, "a tube has one-sided samples"
        return _one_sided(y, 2.0 * side * weight)

    def value(self, y: FloatArray, f: FloatArray, side: FloatArray | None = None) -> FloatArray:
        """Return the cost of each edge of the tube."""
        assert side is not None, "a tube has one-sided samples"
        return 2.0 * np.maximum(0.0, side * (y - f))
