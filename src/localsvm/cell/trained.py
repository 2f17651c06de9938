"""The result of training a cell: its functions as kernel sums, and the record of their selection.

Enters: points. Leaves: the values of the cell's functions at them, and their derivatives. A cell without samples, or
whose targets are all equal, has constant functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm._native import PackedCell, gradients, mean_squared_gradients
from localsvm.cell.path import SKIPPED, STATUS
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.data.content import Keys
from localsvm.data.types import Float32Array, FloatArray, IndexArray
from localsvm.tasks import unbounded

PHASES = ("kernel", "solver", "validation", "selection")


@dataclass(frozen=True)
class KernelSum:
    """sum_s coefficients[o, s] k(x, support_vectors[s]) for some of the outputs of a cell."""

    outputs: IndexArray
    width: float
    support_vectors: Float32Array
    coefficients: Float32Array

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.support_vectors)


@dataclass(frozen=True)
class CellFunctions:
    """The functions of a cell: constants plus kernel sums, clipped at bounds."""

    kernel: str
    constants: FloatArray
    bounds: FloatArray
    """Smallest and largest value (n_outputs, 2)."""
    sums: tuple[KernelSum, ...] = ()

    def values(self, points: Float32Array) -> FloatArray:
        """Return the outputs (n_points, n_outputs) at scaled points."""
        return self.packed(points.shape[1]).values(np.ascontiguousarray(points))

    def packed(self, n_features: int) -> PackedCell:
        """Return the functions as the core evaluates them."""
        packed = PackedCell(n_features, self.constants, self.bounds)
        for part in self.sums:
            packed.add_sum(part.support_vectors, part.coefficients, part.outputs.tolist(), self.kernel, part.width)
        return packed

    def gradients(self, points: Float32Array, values: FloatArray) -> FloatArray:
        """Return the derivatives (n_points, n_outputs, n_features) of the values by the scaled features.

        They are 0 where a value is clipped, and so is the derivative of a Laplace kernel at its support vector.
        """
        out = np.zeros((len(points), len(self.constants), points.shape[1]))
        for part in self.sums:
            out[:, part.outputs] += gradients(points, part.support_vectors, part.coefficients, self.kernel, part.width)
        low, high = self.bounds.T
        out[(values <= low) | (values >= high)] = 0.0
        return out

    def mean_squared_slopes(self, points: Float32Array, weight: FloatArray) -> FloatArray:
        """Return the weighted means of the squared derivatives (n_outputs, n_features), without clipping.

        Every output must be a single kernel sum, as it is where all problems are on all samples.
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

    The gap is that of the clipped risk (Sec. 3): it bounds the distance of the clipped function from the optimum, and
    may be negative, because a clipped function can be better than the best unclipped one. Where a cell has several
    problems, gap and status are the worst of them, steps their sum.
    """

    gap: FloatArray
    status: NDArray[np.int8]
    steps: NDArray[np.int64]
    n_unconverged: int = 0
    """Number of solves that could not be certified, those on all samples included."""
    refit_gap: float = np.nan
    """Largest gap of the solves on all samples, if there were any."""
    refit_status: int = SKIPPED


def count_unconverged(status: NDArray[np.int8]) -> int:
    """Return how many solves could not be certified."""
    return int(((status == STATUS.index("max_steps")) | (status == STATUS.index("precision"))).sum())


@dataclass(frozen=True)
class OutOfFold:
    """The samples of a cell with their out-of-fold scores; NaN where no fold validates a sample.

    In a cell of constant functions the constants are the scores.
    """

    scores: Float32Array
    y: FloatArray
    weight: FloatArray
    key: Keys | None = None
    """See `Samples`."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.y)


@dataclass(frozen=True)
class TrainedCell:
    """The functions of a cell and the record of their selection."""

    number: int
    functions: CellFunctions
    width: FloatArray
    """Selected by cross-validation, by problem, as the next one."""
    lam: FloatArray
    radius: float
    n_samples: int
    total_weight: float
    risk: float
    """Cross-validated risk of all outputs together."""
    risk_error: float
    """Its standard error."""
    widths: FloatArray
    lams: FloatArray
    """The grid; that of the first problem where problems have different sizes."""
    risks: FloatArray
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
        """The end of the grid that was chosen, if its risk is lower than inside by more than one standard error.

        A grid of one or two values has no inside.
        """
        for name, values, chosen, axis in (("width", self.widths, self.width, 0), ("lam", self.lams, self.lam, 1)):
            if len(values) > 2 and chosen[0] in (values[0], values[-1]) and (chosen == chosen[0]).all():
                inside = float(np.delete(self.risks, [0, -1], axis=axis).min())
                if inside > float(self.risks.min()) + self.risk_error:
                    return f"{'largest' if chosen[0] == values[0] else 'smallest'} {name}"
        return None


def constant_cell(task: CellTask, settings: CellSettings) -> TrainedCell:
    """Return the cell of a task without samples, or whose targets are all equal: its functions are constants.

    Constants of rows that are all tied have nothing to be validated on.
    """
    rows, reduction = task.rows, settings.reduction
    is_validated = rows.ties is None or len(np.unique(rows.ties.number)) != 1
    if len(rows.y):
        constants = reduction.constants(rows.y, rows.weight)
    else:
        constants = task.fallback if task.fallback is not None else np.ones(reduction.n_outputs)
    scores = np.tile(reduction.scores(constants[None, :]), (len(rows.y), 1)).astype(np.float32)
    if not is_validated:
        scores[:] = np.nan
    none = np.zeros((0, 0, 0))
    return TrainedCell(
        number=task.number,
        functions=CellFunctions(settings.kernel, constants, unbounded(reduction.n_outputs)),
        width=np.zeros(0),
        lam=np.zeros(0),
        radius=task.radius,
        n_samples=len(rows.y),
        total_weight=float(rows.weight.sum()),
        risk=0.0 if is_validated else np.nan,
        risk_error=0.0,
        widths=np.zeros(0),
        lams=np.zeros(0),
        risks=np.zeros((0, 0)),
        certificates=Certificates(none, none.astype(np.int8), none.astype(np.int64)),
        out_of_fold=OutOfFold(scores, rows.y, rows.weight, rows.key),
        seconds=dict.fromkeys(PHASES, 0.0),
    )
