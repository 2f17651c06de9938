"""The schema of a trained cell: the only way in which files hold one.

Enters: a `TrainedCell`. Leaves: a dict that `pack` takes; and back, checked. Seconds and out-of-fold scores are stored
apart: the first differ between two fits of one model, and the second are not needed once the model is complete.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from localsvm.cell.grid import KERNELS
from localsvm.cell.path import STATUS
from localsvm.cell.trained import PHASES, CellFunctions, Certificates, KernelSum, OutOfFold, TrainedCell
from localsvm.storage.schema import (
    ANY,
    FINITE,
    NOT_NEGATIVE,
    ORDERED,
    POSITIVE,
    RISK,
    WIDTH,
    Range,
    Schema,
    added,
    array,
    integer,
    maybe,
    real,
    schema,
    several,
    table,
    text,
)

_SOLVES = ("n_widths", "n_lams", "n_folds")
_STATUS = Range(0, len(STATUS) - 1, "numbers of statuses")

_SUM = schema(
    KernelSum,
    {
        "outputs": array(np.int64, "n_sum_outputs", within=NOT_NEGATIVE, below="n_outputs"),
        "width": real(WIDTH),
        "support_vectors": array(np.float32, "n_support", "n_features", within=FINITE),
        "coefficients": array(np.float32, "n_sum_outputs", "n_support", within=FINITE),
    },
)

_FUNCTIONS = schema(
    CellFunctions,
    {
        "kernel": text(*KERNELS),
        "constants": array(np.float64, "n_outputs", within=FINITE),
        "bounds": array(np.float64, "n_outputs", 2, within=ORDERED),
        "sums": several(_SUM),
    },
    check=lambda values, _: (
        "a lower bound is above its upper one" if (values["bounds"][:, 0] > values["bounds"][:, 1]).any() else None
    ),
)

_CERTIFICATES = schema(
    Certificates,
    {
        "gap": array(np.float64, *_SOLVES),
        "status": array(np.int8, *_SOLVES, within=_STATUS),
        "steps": array(np.int64, *_SOLVES, within=NOT_NEGATIVE),
        "n_unconverged": integer(),
        "refit_gap": real(ANY),
        "refit_status": integer(most=_STATUS.high),
    },
)

CELL: Schema[TrainedCell] = schema(
    partial(TrainedCell, out_of_fold=None, seconds={}),
    {
        "number": integer(),
        "functions": _FUNCTIONS,
        "width": array(np.float64, "n_problems", within=WIDTH),
        "lam": array(np.float64, "n_problems", within=POSITIVE),
        "radius": real(NOT_NEGATIVE),
        "n_samples": integer(),
        "total_weight": real(NOT_NEGATIVE),
        "risk": real(RISK),
        "risk_error": real(RISK),
        "widths": array(np.float64, "n_widths", within=POSITIVE),
        "lams": array(np.float64, "n_lams", within=POSITIVE),
        "risks": array(np.float64, "n_widths", "n_lams", within=RISK),
        "certificates": _CERTIFICATES,
    },
)
"""Axes that the caller knows: n_features, n_outputs."""

OUT_OF_FOLD: Schema[OutOfFold] = schema(
    OutOfFold,
    {
        "scores": array(np.float32, "n_samples", "n_scores"),
        "y": array(np.float64, "n_samples", ..., within=FINITE),
        "weight": array(np.float64, "n_samples", within=NOT_NEGATIVE),
        "key": added(maybe(array(np.uint64, "n_samples")), before=None),
    },
)
"""Axes that the caller knows: n_scores."""

SECONDS = table(real(NOT_NEGATIVE))


def seconds_of(cell: TrainedCell) -> dict[str, float]:
    """Return the seconds of a cell by phase, in the order of the phases."""
    return {phase: float(cell.seconds[phase]) for phase in PHASES}
