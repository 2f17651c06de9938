"""A trained cell as plain values, for records.

Enters: a `TrainedCell`. Leaves: a dict that `pack` takes; and back, with every shape checked. Seconds and out-of-fold
scores are apart: they are no part of what a cell is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from localsvm.cell.grid import KERNELS
from localsvm.cell.trained import CellFunctions, Certificates, KernelSum, OutOfFold, OutOfFoldSamples, TrainedCell
from localsvm.storage.fields import Fields


def cell_values(cell: TrainedCell) -> dict[str, Any]:
    """Return what a cell is."""
    return {
        "number": cell.number,
        "functions": _function_values(cell.functions),
        "width": cell.width,
        "lam": cell.lam,
        "radius": float(cell.radius),
        "n_samples": int(cell.n_samples),
        "total_weight": float(cell.total_weight),
        "risk": float(cell.risk),
        "risk_error": float(cell.risk_error),
        "widths": cell.widths,
        "lams": cell.lams,
        "risks": cell.risks,
        "certificates": _certificate_values(cell.certificates),
    }


def read_cell(
    fields: Fields,
    n_features: int,
    n_outputs: int,
    seconds: Mapping[str, float],
    out_of_fold: OutOfFold | None = None,
) -> TrainedCell:
    """Return the cell of plain values."""
    width = fields.array("width", np.float64, None)
    widths, lams = fields.array("widths", np.float64, None), fields.array("lams", np.float64, None)
    return TrainedCell(
        number=fields.integer("number"),
        functions=_read_functions(fields.part("functions"), n_features, n_outputs),
        width=width,
        lam=fields.array("lam", np.float64, len(width)),
        radius=fields.real("radius"),
        n_samples=fields.integer("n_samples"),
        total_weight=fields.real("total_weight"),
        risk=fields.real("risk"),
        risk_error=fields.real("risk_error"),
        widths=widths,
        lams=lams,
        risks=fields.array("risks", np.float64, len(widths), len(lams)),
        certificates=_read_certificates(fields.part("certificates"), len(widths), len(lams)),
        out_of_fold=out_of_fold,
        seconds=dict(seconds),
    )


def _function_values(functions: CellFunctions) -> dict[str, Any]:
    sums = [
        {
            "outputs": np.asarray(part.outputs, dtype=np.int64),
            "width": float(part.width),
            "support_vectors": part.support_vectors,
            "coefficients": part.coefficients,
        }
        for part in functions.sums
    ]
    return {
        "kernel": functions.kernel,
        "constants": functions.constants,
        "bounds": functions.bounds,
        "sums": sums,
    }


def _read_functions(fields: Fields, n_features: int, n_outputs: int) -> CellFunctions:
    kernel = fields.text("kernel")
    if kernel not in KERNELS:
        raise fields.refuse(f"its kernel is {kernel!r}")
    return CellFunctions(
        kernel=kernel,
        constants=fields.array("constants", np.float64, n_outputs),
        bounds=fields.array("bounds", np.float64, n_outputs, 2),
        sums=tuple(_read_sum(part, n_features, n_outputs) for part in fields.parts("sums")),
    )


def _read_sum(fields: Fields, n_features: int, n_outputs: int) -> KernelSum:
    outputs = fields.array("outputs", np.int64, None)
    if len(outputs) and not (outputs.min() >= 0 and outputs.max() < n_outputs):
        raise fields.refuse(f"its outputs are not between 0 and {n_outputs - 1}")
    support_vectors = fields.array("support_vectors", np.float32, None, n_features)
    return KernelSum(
        outputs=outputs.astype(np.intp, copy=False),
        width=fields.positive("width"),
        support_vectors=support_vectors,
        coefficients=fields.array("coefficients", np.float32, len(outputs), len(support_vectors)),
    )


def _certificate_values(certificates: Certificates) -> dict[str, Any]:
    return {
        "gap": certificates.gap,
        "status": certificates.status,
        "steps": certificates.steps,
        "n_unconverged": int(certificates.n_unconverged),
        "refit_gap": float(certificates.refit_gap),
        "refit_status": int(certificates.refit_status),
    }


def _read_certificates(fields: Fields, n_widths: int, n_lams: int) -> Certificates:
    gap = fields.array("gap", np.float64, n_widths, n_lams, None)
    return Certificates(
        gap=gap,
        status=fields.array("status", np.int8, *gap.shape),
        steps=fields.array("steps", np.int64, *gap.shape),
        n_unconverged=fields.integer("n_unconverged"),
        refit_gap=fields.real("refit_gap"),
        refit_status=fields.integer("refit_status"),
    )


def out_of_fold_values(scores: OutOfFoldSamples) -> dict[str, Any]:
    """Return left-out samples and their scores."""
    return {"scores": scores.scores, "y": scores.y, "weight": scores.weight}


def read_out_of_fold(fields: Fields, n_scores: int) -> OutOfFold:
    """Return the scores of plain values; targets are numbers, or rows of them."""
    scores = fields.array("scores", np.float32, None, n_scores)
    n_targets = np.ndim(fields.value("y")) - 1
    return OutOfFold(
        scores=scores,
        y=fields.array("y", np.float64, len(scores), *[None] * n_targets),
        weight=fields.array("weight", np.float64, len(scores)),
    )
