"""Checks of parameters and data, before any work starts.

Enters: what a user passed. Leaves: plain values, or an error whose message names the value seen
and what to do.
"""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from localsvm.checkpoint import Checkpoint
from localsvm.data.frames import is_missing
from localsvm.data.source import RowSource, read_blocks
from localsvm.data.sparse import SparseRows
from localsvm.errors import InvalidData, InvalidParameter

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}

# Coefficients grow with the total weight; beyond this their squares leave single precision.
_LARGEST_TOTAL_WEIGHT = 1e15
_SMALLEST_WEIGHT = 1e-30

# Coefficients of a regression have the unit of the targets; a model keeps them in single precision.
_LARGEST_TARGET = 1e31
_SMALLEST_SPREAD = 1e-31


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a value that is not one of the choices."""
    if any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        return
    listed = ", ".join(repr(choice) for choice in choices)
    use = f"one of {listed}" if len(choices) > 1 else listed
    raise InvalidParameter(f"{name}={value!r} is not available; use {use}.")


def check_integer(name: str, value: object, minimum: int) -> int:
    """Refuse what is not an integer of at least `minimum`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < minimum:
        raise InvalidParameter(f"{name}={value!r}: an integer of at least {minimum} is needed.")
    return int(value)


def check_positive(name: str, value: object) -> float:
    """Refuse what is not a positive, finite number."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if 0 < number < math.inf:
            return number
    raise InvalidParameter(f"{name}={value!r}: a positive number is needed.")


def check_share(name: str, value: object) -> float:
    """Refuse what is not a number between 0 and 1."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < 1:
        return float(value)
    raise InvalidParameter(f"{name}={value!r}: a number between 0 and 1 is needed.")


def check_memory(name: str, value: object) -> int | None:
    """Return a number of bytes, given as such or like '8GB' (10**9) and '8GiB' (2**30).

    Examples
    --------
    >>> from localsvm.estimators.validation import check_memory
    >>> check_memory("max_memory", "1.5GB"), check_memory("max_memory", "512 MiB")
    (1500000000, 536870912)
    """
    if value is None:
        return None
    n_bytes = 0
    if isinstance(value, str):
        parts = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?I?)B?\s*", value.upper(), re.ASCII)
        if parts is not None and parts[2] in _UNITS:
            n_bytes = int(float(parts[1]) * _UNITS[parts[2]])
    elif isinstance(value, numbers.Integral) and not isinstance(value, bool):
        n_bytes = int(value)
    if n_bytes < 1:
        raise InvalidParameter(f"{name}={value!r}: give None, a number of bytes or text like '8GB'.")
    return n_bytes


def check_threads(n_jobs: object, available: int) -> int:
    """Return the number of threads: None and -1 are all, -2 all but one, and so on."""
    if n_jobs is None:
        return available
    if isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool) and n_jobs != 0:
        count = int(n_jobs)
        return count if count > 0 else max(1, available + 1 + count)
    raise InvalidParameter(f"n_jobs={n_jobs!r}: give the number of threads, or None for all cores.")


def check_relevance(relevance: Any, n_features: int) -> NDArray[np.float64] | str | None:
    """Return weights of the features with mean one, "auto" or None.

    Examples
    --------
    >>> from localsvm.estimators.validation import check_relevance
    >>> check_relevance([1, 0, 3, 4], n_features=4)
    array([0.5, 0. , 1.5, 2. ])
    """
    if relevance is None or (isinstance(relevance, str) and relevance == "auto"):
        return relevance
    needed = 'give "auto", None, or a weight of at least 0 for every feature'
    try:
        weights = np.array(relevance, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"relevance={relevance!r}: {needed}.") from None
    if weights.shape != (n_features,):
        raise InvalidParameter(f"relevance has shape {weights.shape}, the data {n_features} features: {needed}.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        wrong = int(np.argmin(np.isfinite(weights) & (weights >= 0)))
        raise InvalidParameter(f"relevance[{wrong}]={weights[wrong]:g}: {needed}.")
    if not weights.any():
        raise InvalidParameter(f"all weights of relevance are 0, so that all rows are alike: {needed}.")
    with np.errstate(over="ignore"):
        if abs(weights.mean() - 1) < 1e-9:  # those of another fit, which stay what they are to the bit
            return weights
    weights /= weights.max()  # their sum may overflow
    return np.asarray(weights / weights.mean())


def check_checkpoint(checkpoint: object) -> Checkpoint | None:
    """Return a checkpoint, given as such or by its directory."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if isinstance(checkpoint, str | os.PathLike) and os.fspath(checkpoint):
        return Checkpoint(checkpoint)
    raise InvalidParameter(f"checkpoint={checkpoint!r}: give None or the path of a directory.")


def check_verbosity(verbose: object) -> int:
    """Return how much to tell: 0 is nothing."""
    return int(verbose) if isinstance(verbose, bool) else check_integer("verbose", verbose, 0)


def seed_of(random_state: Any) -> int:
    """Return the seed of the content hash; None is 0: a fit is repeatable without being asked."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if int(random_state) >= 0:
            return int(random_state)
    elif isinstance(random_state, np.random.RandomState) or random_state is np.random:
        return int(check_random_state(random_state).randint(2**31 - 1))
    raise InvalidParameter(f"random_state={random_state!r}: give None, an integer of at least 0 or a RandomState.")


def check_finite(X: RowSource, names: Sequence[str] | None, *, impute: bool) -> None:
    """Refuse infinity, and NaN if it is not to be imputed, saying where the first ones are and how many."""
    numbers = [X.stored] if isinstance(X, SparseRows) else read_blocks(X)
    if all(np.isfinite(block).all() for block in numbers):
        return
    if not impute:
        advice = 'Drop these rows, or pass missing="impute".'
        _refuse_values(X, np.isnan, names, "missing values (NaN or None; first", advice)
    _refuse_values(X, np.isinf, names, "infinite values (inf; first", "Drop these rows, or give finite numbers.")


def _refuse_values(
    X: RowSource,
    test: Callable[[NDArray[Any]], NDArray[np.bool_]],
    names: Sequence[str] | None,
    what: str,
    advice: str,
) -> None:
    rows, columns = X.where(test) if isinstance(X, SparseRows) else _where(X, test)
    if len(rows) == 0:
        return
    column = int(columns.min())
    rows = rows[columns == column]
    others = _and_others(len(np.unique(columns)) - 1)
    raise InvalidData(
        f"column {_label(names, column)} has {len(rows)} {what} at row {int(rows.min())}){others}. {advice}"
    )


def _where(
    X: RowSource, test: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the numbers that the test finds."""
    found, begin = [], 0
    for block in read_blocks(X):
        rows, columns = np.nonzero(test(block))
        found.append((begin + rows, columns))
        begin += len(block)
    rows, columns = (np.concatenate(part) for part in zip(*found, strict=True))
    return rows, columns


def _label(names: Sequence[str] | None, column: int) -> str:
    return repr(str(names[column])) if names is not None else str(column)


def _and_others(count: int) -> str:
    if count == 0:
        return ""
    return f", and so has {count} other column" if count == 1 else f", and so have {count} others"


def explain_refusal(error: Exception, X: Any) -> Exception:
    """Return a better error than scikit-learn's for features that are not numbers."""
    message = str(error)
    if message.startswith("Complex data not supported"):
        return InvalidData(
            "Complex data not supported: X has complex numbers. Give real ones, for example the "
            "real and the imaginary part as two columns."
        )
    text = isinstance(error, ValueError) and message.startswith("could not convert string")
    if text or isinstance(error, np.exceptions.DTypePromotionError):
        return _first_non_number(X) or error
    return error


def _first_non_number(X: Any) -> InvalidData | None:
    names = getattr(X, "columns", None)
    for column, values in enumerate(np.asarray(X, dtype=object).T):
        for row, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError):
                return InvalidData(
                    f"column {_label(names, column)} has values that are not numbers (first at row "
                    f"{row}: {value!r}). Give a data frame, whose text columns are categories, or drop it."
                )
    return None


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
    _check_unit(targets)
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


def _check_unit(targets: NDArray[np.float64]) -> None:
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


def check_levels(name: str, value: Any) -> NDArray[np.float64]:
    """Return one level or several as an array; all must lie between 0 and 1."""
    levels = _number_array(value)
    if levels.ndim > 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise InvalidParameter(f"{name}={value!r}: give a number between 0 and 1, or a list of them, like [0.1, 0.9].")
    return levels


def _number_array(value: Any) -> NDArray[np.float64]:
    """Return numbers as an array; an empty one if they are none."""
    try:
        found = np.asarray(value)
    except ValueError:  # lists of different lengths
        return np.zeros(0)
    return found.astype(np.float64) if found.dtype.kind in "iuf" else np.zeros(0)


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


def check_magnitude(weight: NDArray[np.float64]) -> None:
    """Refuse weights, class weights included, that single precision cannot compute with."""
    largest = float(weight.max())
    if largest < _SMALLEST_WEIGHT or largest * len(weight) > _LARGEST_TOTAL_WEIGHT:
        raise InvalidData(
            f"the largest sample weight, with class_weight, is {largest:g}: single precision needs "
            f"at least {_SMALLEST_WEIGHT:g} and at most {_LARGEST_TOTAL_WEIGHT:g} divided by the "
            "number of samples. Rescale the weights; one of 2 counts as a row given twice."
        )


def check_class_weight(class_weight: object) -> None:
    """Refuse what cannot be class weights, before the labels are known."""
    if isinstance(class_weight, dict):
        for label, factor in class_weight.items():
            check_positive(f"class_weight[{label!r}]", factor)
    elif not (class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced")):
        raise InvalidParameter(f"class_weight={class_weight!r}: give None, 'balanced' or a dict {{label: weight}}.")


def check_positive_weights(weights: Any) -> None:
    """Refuse what is not a list of positive numbers."""
    numbers = _number_array(weights)
    if numbers.ndim != 1 or numbers.size == 0 or not ((numbers > 0) & np.isfinite(numbers)).all():
        raise InvalidParameter(f"positive_weights={weights!r}: give a list of positive numbers, like [0.5, 1, 2].")


def class_masses(y_index: NDArray[np.intp], weight: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return the weight of every class, sums rounded once: the same for any order of the rows."""
    return np.array([math.fsum(weight[y_index == c]) for c in range(n_classes)])


def class_weights(
    class_weight: Any, classes: NDArray[Any], y_index: NDArray[np.intp], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the factor of every class, in the order of `classes`."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        mass = class_masses(y_index, weight, len(classes))
        return np.asarray(mass.sum() / (len(classes) * mass))
    known = classes.tolist()
    for label in class_weight:
        if label not in known:
            raise InvalidParameter(f"class_weight names {label!r}, but the classes are {known}.")
    return np.array([float(class_weight.get(label, 1.0)) for label in known])
