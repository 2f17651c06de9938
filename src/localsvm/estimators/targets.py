"""Checks of labels, targets and the weights of samples and classes, before any work starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from localsvm.data.frames import is_missing
from localsvm.data.types import FloatArray
from localsvm.errors import InvalidData, InvalidParameter

# Coefficients of a regression have the unit of the targets; a model keeps them in single precision.
_LARGEST_TARGET = 1e31
_SMALLEST_SPREAD = 1e-31

# Coefficients grow with the total weight; beyond this their squares leave single precision.
_LARGEST_TOTAL_WEIGHT = 1e15
_SMALLEST_WEIGHT = 1e-30


def check_labels(y: Any, n_samples: int) -> NDArray[Any]:
    """Return one label per sample as an array; refuse what cannot be classes to learn."""
    labels = read_labels(y, n_samples)
    check_classification_targets(labels)
    return labels


def read_labels(y: Any, n_samples: int) -> NDArray[Any]:
    """Return one label per sample as an array; refuse what cannot be labels."""
    if y is None:
        raise InvalidData("requires y to be passed, but the target y is None: give labels.")
    _plain_array(y)
    labels: NDArray[Any] = np.asarray(column_or_1d(y, warn=True))
    if len(labels) != n_samples:
        raise InvalidData(
            f"X has {n_samples} rows but y has {len(labels)} labels (inconsistent numbers of "
            "samples): give one label per row."
        )
    _check_complete(labels)
    return labels


def missing_or_infinite(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values of any type are missing or not finite."""
    if values.dtype.kind == "f":
        return np.asarray(~np.isfinite(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if values.dtype.kind == "O":
        return np.array([is_missing(value) for value in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _check_complete(y: NDArray[Any]) -> None:
    """Refuse missing labels, and objects that have no order."""
    missing = missing_or_infinite(y)
    if missing.any():
        raise InvalidData(
            f"y has {int(missing.sum())} labels that are missing or not finite (first: "
            f"{y[missing][0]} at row {int(missing.argmax())}). Drop these rows."
        )
    if y.dtype.kind != "O":
        return
    try:
        np.unique(y)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise InvalidData(f"y has labels of types {kinds}, which have no order: give numbers or text.") from None


def check_targets(y: Any, n_samples: int, several: bool) -> FloatArray:
    """Return the targets of regression as numbers, (n_samples,) or, if `several` may be, (n_samples, n_targets)."""
    if y is None:
        raise InvalidData("requires y to be passed, but the target y is None: give numbers.")
    targets = _plain_array(y)
    if targets.dtype.kind not in "biufO":
        first = next(iter(targets.ravel().tolist()), None)
        raise InvalidData(
            f"y has dtype {targets.dtype} (first: {first!r}), which are not numbers. Regression needs numbers; for "
            "classes use LocalSVC."
        )
    if targets.ndim != 2 or not several:
        targets = np.asarray(column_or_1d(y, warn=True))
    if len(targets) != n_samples:
        raise InvalidData(
            f"X has {n_samples} rows but y has {len(targets)} targets (inconsistent numbers of "
            "samples): give one target per row."
        )
    targets = _as_numbers(targets)
    if targets.ndim == 2 and targets.shape[1] == 0:
        raise InvalidData("y has no columns: give at least one target per row.")
    bad = ~np.isfinite(targets)
    if bad.any():
        row = int(bad.reshape(n_samples, -1).any(axis=1).argmax())
        raise InvalidData(
            f"y has {int(bad.sum())} targets that are NaN or infinity (first at row {row}). Drop these rows."
        )
    check_unit(targets)
    return targets


def _plain_array(y: Any) -> NDArray[Any]:
    """Return y as an array; refuse lists of different lengths and complex numbers."""
    try:
        found = np.asarray(y)
    except ValueError:
        raise InvalidData("y has rows of different lengths: give the same number of values for each.") from None
    if found.dtype.kind == "c":
        raise InvalidData("Complex data not supported: y has complex numbers. Give real ones.")
    return found


def _as_numbers(targets: NDArray[Any]) -> FloatArray:
    """Return numbers; refuse objects by the first that is none."""
    if targets.dtype.kind == "O":
        for (row, *_), value in np.ndenumerate(targets):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                raise InvalidData(
                    f"y has targets that are not numbers (first at row {row}: {value!r}). Regression needs numbers; "
                    "for classes use LocalSVC."
                ) from None
    return np.ascontiguousarray(targets, dtype=np.float64)


def check_unit(targets: FloatArray) -> None:
    """Refuse targets in a unit that single precision cannot compute with."""
    largest = float(np.abs(targets).max())
    if largest > _LARGEST_TARGET:
        raise InvalidData(
            f"y has targets up to {largest:.3g}: single precision needs at most {_LARGEST_TARGET:g}. Choose another "
            "unit."
        )
    spread = float(np.ptp(targets, axis=0).max())
    if 0 < spread < _SMALLEST_SPREAD:
        raise InvalidData(
            f"the targets differ by {spread:.3g} at most: single precision needs {_SMALLEST_SPREAD:g} at least. Choose "
            "another unit."
        )


# ------------------------------------------------------------------------------------------- weights


def check_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return weights as an array; refuse negative, infinite and all-zero ones."""
    weight = read_weights(sample_weight, n_samples)
    if not weight.any():
        raise InvalidData("all sample weights are zero: there is nothing to learn from.")
    return weight


def read_weights(sample_weight: Any, n_samples: int) -> FloatArray:
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


def _check_weight_values(weight: FloatArray) -> None:
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


def class_masses(y_index: NDArray[np.intp], weight: FloatArray, n_classes: int) -> FloatArray:
    """Return the weight of every class, sums rounded once: the same for any order of the rows."""
    return np.array([math.fsum(weight[y_index == c]) for c in range(n_classes)])


def class_weights(class_weight: Any, classes: NDArray[Any], masses: Callable[[], FloatArray]) -> FloatArray:
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
