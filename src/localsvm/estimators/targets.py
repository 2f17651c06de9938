"""Checks of labels and targets, before any work starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from localsvm.data.frames import is_missing
from localsvm.errors import InvalidData

# Coefficients of a regression have the unit of the targets; a model keeps them in single precision.
_LARGEST_TARGET = 1e31
_SMALLEST_SPREAD = 1e-31


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


def _check_complete(y: NDArray[Any]) -> None:
    """Refuse missing labels, and objects that have no order."""
    if y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    elif y.dtype.kind in "mM":
        missing = np.isnat(y)
    elif y.dtype.kind == "O":
        missing = np.array([is_missing(label) for label in y], dtype=bool)
    else:
        return
    if missing.any():
        raise InvalidData(
            f"y has {int(missing.sum())} labels that are missing or not finite (first: "
            f"{y[missing][0]} at row {int(missing.argmax())}). Drop these rows."
        )
    try:
        np.unique(y)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise InvalidData(f"y has labels of types {kinds}, which have no order: give numbers or text.") from None


def check_targets(y: Any, n_samples: int, several: bool) -> NDArray[np.float64]:
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


def _as_numbers(targets: NDArray[Any]) -> NDArray[np.float64]:
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


def check_unit(targets: NDArray[np.float64]) -> None:
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
