"""The sample of a fit, and what is chosen on it: scaling, feature weights and kernel.

Enters: rows that were drawn by content, and a `MetricPlan`. Leaves: a `Sample`, the scaling and the `Metric`. Fits
in memory, out of core and on Spark draw the same rows, so that they choose the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.settings import CellSettings
from localsvm.data.content import distinct_rows
from localsvm.data.rows import mean_ball
from localsvm.data.scaling import Scaling, fit_scaling, fit_to_ends
from localsvm.data.source import RowSource, column_ends
from localsvm.data.stages import NOT_KEPT, Stages
from localsvm.data.ties import Ties
from localsvm.data.types import FloatArray
from localsvm.errors import InvalidData
from localsvm.metric.choose_scaling import MIN_ROWS, Sample, choose_scaling
from localsvm.metric.relevance import Metric, MetricChoices, learn_metric
from localsvm.partition.base import ThreadMap
from localsvm.partition.build import PartitionPlan
from localsvm.partition.coarse import CoarseCells

# Rows from which standard and quantile scaling are fitted, and the metric is learned; fewer where they are wide.
_SAMPLE_ROWS = (200, 100_000)
_CHECKED_ROWS = 10_000  # where nothing is learned from them
_SAMPLE_VALUES = 1 << 24
_RANGE_ROWS = 10_000  # from which the inner range of a column is estimated
_SQUEEZED = 0.02  # inner range of a column, relative to its whole range, at which min-max scaling loses it

# Below this radius squares of distances and of the smallest width leave single precision.
_SMALLEST_RADIUS = 1e-15


@dataclass(frozen=True)
class MetricPlan:
    """What is given of the metric, and what the sample has to decide."""

    scaling: str | None = "minmax"
    """A method, "auto" or None."""
    relevance: tuple[float, ...] | str | None = None
    """Weights of the columns; "auto" is learned, None is ones."""
    kernels: tuple[str, ...] = ("gauss",)
    """Kernels to choose from."""
    n_scaled: int | None = None
    """Columns that are scaled; those after them are on their scale already. None is all."""

    @property
    def learns_from_sample(self) -> bool:
        """Whether the sample decides anything: the extremes of the columns are enough for min-max scaling."""
        return self.scaling not in ("minmax", None) or self.relevance == "auto" or len(self.kernels) > 1

    def sample_size(self, n_features: int) -> int:
        """Return how many distinct rows of this width are drawn."""
        n_rows = sample_rows(n_features)
        return n_rows if self.learns_from_sample else min(n_rows, _CHECKED_ROWS)


@dataclass(frozen=True)
class FitContext:
    """The fit that the sample stands for: its cells, its number of rows and its memory."""

    cell: CellSettings
    partition: PartitionPlan
    seed: int
    n_rows: int
    max_bytes: int | None = None

    def size(self, sample: Sample, plan: MetricPlan) -> tuple[int, int]:
        """Return the rows of the fit and of its cells; duplicates count once where the sample is all rows."""
        # A weight of 2 is a row given twice.
        is_all = self.n_rows <= plan.sample_size(sample.X.shape[1])
        n_rows = len(sample.y) if is_all else self.n_rows
        return n_rows, self.partition.largest_cell(n_rows) or n_rows


def sample_rows(n_features: int) -> int:
    """Return how many distinct rows of this width are drawn to learn from."""
    return int(np.clip(_SAMPLE_VALUES // n_features, *_SAMPLE_ROWS))


def merge_sample(
    X: RowSource,
    y: FloatArray,
    weight: FloatArray,
    seed: int,
    factors: Callable[[FloatArray], FloatArray],
    n_scaled: int | None = None,
    ties: Ties | None = None,
) -> Sample:
    """Merge duplicates in the sample and sort it canonically, so that rounding does not depend on the input order.

    Duplicates of a sampled row are always sampled with it. `factors` returns the class weight of every target.
    """
    rows, y, weight, ties = distinct_rows(X, y, weight, seed, ties)
    return Sample(rows, y, weight * factors(y), n_scaled, ties)


def fit_sample_scaling(
    sample: Sample,
    ends: RowSource,
    plan: MetricPlan,
    fit: FitContext,
    thread_map: ThreadMap,
    stages: Stages = NOT_KEPT,
) -> Scaling:
    """Fit the scaling: min-max and none to all rows, whose extremes `ends` has, the others to the sample."""
    method = plan.scaling
    if method == "auto":
        n_rows, cell_size = fit.size(sample, plan)

        def choose() -> str:
            return choose_scaling(
                sample, fit.cell, fit.seed, n_rows, cell_size, max_bytes=fit.max_bytes, thread_map=thread_map
            )

        method = str(stages.result("scaling", choose, lambda kept: kept in sample.methods))
        if method in ("minmax", sample.methods[0]):
            ends = np.stack(column_ends(ends))
            method = "quantile" if _hides_outliers(sample, ends, n_rows) else method
    if method in ("minmax", None):
        scaling: Scaling = fit_to_ends(method, ends, sample.n_scaled)
    else:
        scaling = fit_scaling(method, sample.X, sample.weight, sample.n_scaled)
    _check_spread(sample, scaling)
    return scaling


def squeezed_columns(X: NDArray[np.floating], low: FloatArray, high: FloatArray) -> NDArray[np.intp]:
    """Return the columns in which 99 % of the values lie within a fiftieth of the range from low to high.

    An affine scaling to that range makes these values almost equal. Columns of few distinct values do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.metric.sample import squeezed_columns
    >>> X = np.linspace([0.0, 0.0], [1.0, 1.0], 100)
    >>> squeezed_columns(X, low=np.zeros(2), high=np.array([1.0, 1e6]))
    array([1])
    """
    inner_low, inner_high = np.quantile(X[:_RANGE_ROWS], [0.005, 0.995], axis=0, method="nearest")
    inner, whole = inner_high / 2 - inner_low / 2, high / 2 - low / 2  # halves, whose difference cannot overflow
    return np.flatnonzero((inner > 0) & (whole * _SQUEEZED > inner))


def _hides_outliers(sample: Sample, ends: NDArray[np.floating], n_rows: int) -> bool:
    """Return whether outliers squeeze a column, and the trials of scalings could not see it.

    Trials are run on fits of enough rows, and on the range of the sample; they decide for themselves if they saw it.
    """
    X = sample.X[:, : sample.n_scaled]
    low, high = ends[:, : sample.n_scaled].astype(np.float64)
    squeezed = squeezed_columns(X, low, high)
    if min(n_rows, len(sample.y)) >= MIN_ROWS:
        seen = X[:, squeezed].max(axis=0) / 2 - X[:, squeezed].min(axis=0) / 2
        squeezed = squeezed[seen < (high / 2 - low / 2)[squeezed] / 2]
    return len(squeezed) > 0


def learn_sample_metric(
    sample: Sample,
    scaling: Scaling,
    plan: MetricPlan,
    fit: FitContext,
    thread_map: ThreadMap,
    stages: Stages = NOT_KEPT,
) -> Metric:
    """Learn weights and kernel on scaled rows of the sample, where they are not given."""
    kind, given = fit.partition.kind, plan.relevance
    n_rows, cell_size = fit.size(sample, plan)
    choices = MetricChoices(
        kernels=plan.kernels,
        # A partition of the user's own lies in the space of the scaled rows: that stays what it is. Coarse cells lie in
        # the space of the model that they were found for, and the same rows lead to it again.
        learns_weights=given == "auto" and isinstance(kind, str | CoarseCells),
        n_rows=n_rows,
        cell_size=cell_size,
        is_local=kind not in ("chunks", "none"),
        max_bytes=fit.max_bytes,
    )
    weights = np.ones(sample.X.shape[1]) if given is None or isinstance(given, str) else np.array(given)
    return learn_metric(sample, scaling, weights, fit.cell.reduction, choices, thread_map, stages)


def _check_spread(sample: Sample, scaling: Scaling) -> None:
    """Refuse rows that differ as given but are equal in single precision, once scaled."""
    X = sample.X
    scaled = scaling.apply(X)
    # Some row is at least half of the longest side away from the mean, so the sides are nearly always enough.
    half_a_side = float((scaled.max(axis=0) - scaled.min(axis=0)).max()) / 2
    if half_a_side >= _SMALLEST_RADIUS or mean_ball(scaled)[1] >= _SMALLEST_RADIUS:
        return
    spread = float((X.max(axis=0) / 2 - X.min(axis=0) / 2).max()) * 2
    if spread > 0:
        raise InvalidData(
            f"the features differ by {spread:.3g} at most, too little for single precision. "
            "Multiply them by a large number, or pass scaling='quantile'."
        )
