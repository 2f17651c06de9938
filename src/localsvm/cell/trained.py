"""What training leaves of a cell: its functions as kernel sums, and the record of their selection.

Enters: points. Leaves: the values of the cell's functions at them, and their derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm._native import evaluate, gradients, mean_squared_gradients
from localsvm.cell.path import SKIPPED, STATUS

PHASES = ("kernel", "solver", "validation", "selection")


@dataclass(frozen=True)
class KernelSum:
    """sum_s coefficients[o, s] k(x, support_vectors[s]) for some of the outputs of a cell."""

    outputs: NDArray[np.intp]
    width: float
    support_vectors: NDArray[np.float32]
    coefficients: NDArray[np.float32]

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.support_vectors)


@dataclass(frozen=True)
class CellFunctions:
    """The functions of a cell: constants plus kernel sums, cut at bounds."""

    kernel: str
    constants: NDArray[np.float64]
    bounds: NDArray[np.float64]
    """Least and largest value (n_outputs, 2)."""
    sums: tuple[KernelSum, ...] = ()

    def values(self, points: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the outputs (n_points, n_outputs) at scaled points."""
        out = np.full((len(points), len(self.constants)), self.constants)
        for part in self.sums:
            out[:, part.outputs] += evaluate(points, part.support_vectors, part.coefficients, self.kernel, part.width)
        return np.clip(out, *self.bounds.T, out=out)

    def gradients(self, points: NDArray[np.float32], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives (n_points, n_outputs, n_features) of the values by the scaled features.

        They are 0 where a value is cut at a bound. The tip that a Laplace kernel has at its support vector counts as
        flat.
        """
        out = np.zeros((len(points), len(self.constants), points.shape[1]))
        for part in self.sums:
            out[:, part.outputs] += gradients(points, part.support_vectors, part.coefficients, self.kernel, part.width)
        low, high = self.bounds.T
        out[(values <= low) | (values >= high)] = 0.0
        return out

    def mean_squared_slopes(self, points: NDArray[np.float32], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted means of the squared derivatives (n_outputs, n_features), bounds left aside.

        Every output is one kernel sum, as that of a problem on all samples is.
        """
        out = np.zeros((len(self.constants), points.shape[1]))
        for part in self.sums:
            out[part.outputs] = mean_squared_gradients(
                points, weight, part.support_vectors, part.coefficients, self.kernel, part.width
            )
        return out


@dataclass(frozen=True)
class Certificates:
    """How every solve ended, by width, lam and fold; `status` indexes `STATUS`, skipped points have gap NaN.

    The gap is that of the clipped risk (Sec. 3): it bounds how far the clipped function is from the optimum, and may
    be negative, when clipping alone makes a function better than the best unclipped one. Where a cell has several
    problems, gap and status are the worst of them, steps their sum.
    """

    gap: NDArray[np.float64]
    status: NDArray[np.int8]
    steps: NDArray[np.int64]
    n_unconverged: int = 0
    """Number of solves that could not be certified, the last with refit="retrain" included."""
    refit_gap: float = np.nan
    """Gap of the last solve with refit="retrain"."""
    refit_status: int = SKIPPED


def count_unconverged(status: NDArray[np.int8]) -> int:
    """Return how many solves could not be certified."""
    return int(((status == STATUS.index("max_steps")) | (status == STATUS.index("precision"))).sum())


@dataclass(frozen=True)
class OutOfFold:
    """The samples of a cell with their out-of-fold scores: by the folds' solutions that were not trained on them.

    NaN where all of them were. Where all samples of a cell agree, the constant is their score.
    """

    scores: NDArray[np.float32]
    """By sample."""
    y: NDArray[np.float64]
    weight: NDArray[np.float64]

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.y)


@dataclass(frozen=True)
class TrainedCell:
    """The functions of a cell and the record of their selection."""

    number: int
    functions: CellFunctions
    width: NDArray[np.float64]
    """Chosen by cross-validation, by problem, as the next one."""
    lam: NDArray[np.float64]
    radius: float
    n_samples: int
    total_weight: float
    risk: float
    """Cross-validated risk of all outputs together."""
    risk_error: float
    """Its standard error."""
    widths: NDArray[np.float64]
    lams: NDArray[np.float64]
    """The grid; of the first problem, where problems have several sizes."""
    risks: NDArray[np.float64]
    """Combined validation risk by width and lam, the mean over problems."""
    certificates: Certificates
    out_of_fold: OutOfFold | None
    seconds: dict[str, float]

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return sum(part.n_support for part in self.functions.sums)

    @property
    def edge(self) -> str | None:
        """Name the end of the grid that was chosen, if it is better than the inside by more than noise.

        Noise is one standard error of the validation risk. A grid of one or two values has no inside.
        """
        for name, values, chosen, axis in (("width", self.widths, self.width, 0), ("lam", self.lams, self.lam, 1)):
            if len(values) > 2 and chosen[0] in (values[0], values[-1]) and (chosen == chosen[0]).all():
                inside = float(np.delete(self.risks, [0, -1], axis=axis).min())
                if inside > float(self.risks.min()) + self.risk_error:
                    return f"{'largest' if chosen[0] == values[0] else 'smallest'} {name}"
        return None
