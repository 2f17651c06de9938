"""Checks of the weights of samples and of classes, before any work starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.errors import InvalidData, InvalidParameter

# Coefficients grow with the total weight; beyond this their squares leave single precision.
_LARGEST_TOTAL_WEIGHT = 1e15
_SMALLEST_WEIGHT = 1e-30


def check_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return weights as an array; refuse negative, infinite and all-zero ones."""
    weight = read_weights(sample_weight, n_samples)
    if not weight.any():
        raise InvalidData("all sample weights are zero: there is nothing to learn from.")
    return weight


def read_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return weights as an array; refuse negative and infinite ones."""
    if sample_weight is None:
        return np.broadcast_to(1.0, n_samples)  # one number in memory, however many samples
    weight = np.asarray(sample_weight)
    if weight.dtype.kind not in "biufO":
        raise InvalidData(f"sample_weight has dtype {weight.dtype}: one number per sample is needed.")
    try:
        weight = weight.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidData("sample_weight has values that are not numbers.") from None
    if weight.ndim == 0:
        weight = np.full(n_samples, weight)
    if weight.shape != (n_samples,):
        raise InvalidData(f"sample_weight has shape {weight.shape}, expected ({n_samples},): one per sample.")
    _check_weight_values(weight)
    return weight


def _check_weight_values(weight: NDArray[np.float64]) -> None:
    if not np.isfinite(weight).all():
        row = int((~np.isfinite(weight)).argmax())
        raise InvalidData(
            f"sample_weight has {int((~np.isfinite(weight)).sum())} NaN or infinite (inf) values "
            f"(first at row {row}). Leave rows out by weight 0."
        )
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise InvalidData(
            f"sample_weight has negative values (first at row {row}: {weight[row]:g}). "
            "Weights must be zero or positive; leave rows out by weight 0."
        )


def check_magnitude(largest: float, n_samples: int) -> None:
    """Refuse weights, class weights included, that single precision cannot compute with."""
    if largest < _SMALLEST_WEIGHT or largest * n_samples > _LARGEST_TOTAL_WEIGHT:
        raise InvalidData(
            f"the largest sample weight, with class_weight, is {largest:g}: single precision needs "
            f"at least {_SMALLEST_WEIGHT:g} and at most {_LARGEST_TOTAL_WEIGHT:g} divided by the "
            "number of samples. Rescale the weights; one of 2 counts as a row given twice."
        )


def class_masses(y_index: NDArray[np.intp], weight: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return the weight of every class, sums rounded once: the same for any order of the rows."""
    return np.array([math.fsum(weight[y_index == c]) for c in range(n_classes)])


def class_weights(
    class_weight: Any, classes: NDArray[Any], masses: Callable[[], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the factor of every class, in the order of `classes`; `masses` returns their weights."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        mass = masses()
        return np.asarray(mass.sum() / (len(classes) * mass))
    known = classes.tolist()
    for label in class_weight:
        if label not in known:
            raise InvalidParameter(f"class_weight names {label!r}, but the classes are {known}.")
    return np.array([float(class_weight.get(label, 1.0)) for label in known])
