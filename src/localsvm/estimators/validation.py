"""Checks of parameters and data, before any work starts; every message names the value seen and what to do."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from localsvm.errors import InvalidData, InvalidParameter

_BLOCK_ROWS = 65536


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a value that is not one of the choices."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameter(f"{name}={value!r} is not available; use one of {listed}.")


def check_integer(name: str, value: object, minimum: int) -> int:
    """Refuse what is not an integer of at least `minimum`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < minimum:
        raise InvalidParameter(f"{name}={value!r}: an integer of at least {minimum} is needed.")
    return int(value)


def seed_of(random_state: Any) -> int:
    """Return the seed of the content hash; None is 0, so that a fit is repeatable without being asked."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise InvalidParameter(
            f"random_state={random_state!r}: give None, an integer or a numpy RandomState."
        ) from None


def check_finite(X: NDArray[np.floating], names: Sequence[str] | None) -> None:
    """Refuse NaN and infinity, saying where the first ones are and how many."""
    for begin in range(0, len(X), _BLOCK_ROWS):
        if not np.isfinite(X[begin : begin + _BLOCK_ROWS]).all():
            break
    else:
        return
    bad = ~np.isfinite(X)
    column = int(bad.any(axis=0).argmax())
    row = int(bad[:, column].argmax())
    kind = "NaN" if np.isnan(X[:, column]).any() else "infinity (inf)"
    label = repr(names[column]) if names is not None else str(column)
    others = int(bad.any(axis=0).sum()) - 1
    also = f", and so have {others} other columns" if others else ""
    raise InvalidData(
        f"column {label} has {int(bad[:, column].sum())} values that are NaN or infinite (first: {kind} "
        f"at row {row}){also}. Drop these rows or impute them."
    )


def check_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return weights as an array; refuse negative, infinite and all-zero ones."""
    if sample_weight is None:
        return np.ones(n_samples)
    if isinstance(sample_weight, numbers.Real):
        weight = np.full(n_samples, float(sample_weight))
    else:
        try:
            weight = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidData("sample_weight must be numbers, one per sample.") from None
    if weight.shape != (n_samples,):
        raise InvalidData(
            f"sample_weight has shape {weight.shape}, expected ({n_samples},): one weight per sample."
        )
    if not np.isfinite(weight).all():
        raise InvalidData(
            f"sample_weight has {int((~np.isfinite(weight)).sum())} values that are NaN or infinite (inf)."
        )
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise InvalidData(
            f"sample_weight has negative values (first at row {row}: {weight[row]:g}). "
            "Weights must be zero or positive; leave rows out by weight 0."
        )
    if not (weight > 0).any():
        raise InvalidData("all sample weights are zero: there is nothing to learn from.")
    return weight


def class_weights(
    class_weight: Any, classes: NDArray[Any], y_index: NDArray[np.intp], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the factor of every class, in the order of `classes`."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        mass = np.bincount(y_index, weights=weight, minlength=len(classes))
        return np.asarray(mass.sum() / (len(classes) * mass))
    if not isinstance(class_weight, dict):
        raise InvalidParameter(
            f"class_weight={class_weight!r}: give None, 'balanced' or a dict like {{label: weight}}."
        )
    known = list(classes)
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise InvalidParameter(
            f"class_weight names {unknown[0]!r}, but the classes are {classes.tolist()}."
        )
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise InvalidParameter(f"class_weight={class_weight!r}: weights must be positive numbers.")
    return factors
