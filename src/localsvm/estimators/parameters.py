"""Checks of parameters, before any work starts: plain values, or an error that names the value seen and what to do."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from localsvm.cell.grid import KERNELS
from localsvm.data.scaling import METHODS
from localsvm.data.types import FloatArray
from localsvm.errors import InvalidParameter
from localsvm.fit.settings import FitParameters
from localsvm.partition.build import PartitionPlan
from localsvm.storage.checkpoint import Checkpoint

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SAME_KERNEL = {"rbf": "gauss"}  # as scikit-learn calls it
_MOST_THREADS = 4096  # more than machines have cores, and less than systems refuse to start


def fit_parameters(estimator: BaseEstimator) -> FitParameters:
    """Check the parameters that all estimators have, before the data are read."""
    refits = ("combine", "retrain") if isinstance(estimator, ClassifierMixin) else ("combine", "retrain", "blend")
    check_choice("kernel", estimator.kernel, ("auto", *KERNELS, *_SAME_KERNEL))
    check_choice("search", estimator.search, ("auto", "full", "racing"))
    check_choice("scaling", estimator.scaling, ("auto", *METHODS, None))
    check_choice("missing", estimator.missing, ("error", "impute"))
    check_choice("refit", estimator.refit, refits)
    check_columns("categorical_features", estimator.categorical_features)
    check_verbosity(estimator.verbose)
    radius = None if estimator.cell_radius is None else check_positive("cell_radius", estimator.cell_radius)
    return FitParameters(
        partition=PartitionPlan(estimator.partition, check_cell_size(estimator.cell_size), radius),
        kernel=_SAME_KERNEL.get(estimator.kernel, estimator.kernel),
        n_folds=check_integer("n_folds", estimator.n_folds, 1),
        refit=estimator.refit,
        search=estimator.search,
        scaling=estimator.scaling,
        seed=seed_of(estimator.random_state),
        n_threads=count_threads(estimator.n_jobs),
        max_memory=check_memory("max_memory", estimator.max_memory),
        checkpoint=check_checkpoint(estimator.checkpoint),
    )


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


def check_cell_size(cell_size: object) -> int | None:
    """Return the largest number of rows in a cell; None, for "auto": it depends on the number of rows.

    Examples
    --------
    >>> from localsvm.estimators.parameters import check_cell_size
    >>> check_cell_size(2000), check_cell_size("auto")
    (2000, None)
    """
    if isinstance(cell_size, str) and cell_size == "auto":
        return None
    try:
        return check_integer("cell_size", cell_size, 1)
    except InvalidParameter:
        raise InvalidParameter(f"cell_size={cell_size!r}: give 'auto' or an integer of at least 1.") from None


def check_columns(name: str, value: Any) -> None:
    """Refuse what is not a list of names or numbers of columns, or None."""
    items = list(value) if isinstance(value, list | tuple | np.ndarray) else None
    if value is not None and (
        items is None
        or not all(isinstance(item, str | numbers.Integral) and not isinstance(item, bool) for item in items)
    ):
        raise InvalidParameter(f"{name}={value!r}: give a list of names or numbers of columns, like ['town'] or [3].")


def check_positive(name: str, value: object) -> float:
    """Refuse what is not a positive, finite number."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if 0 < number < math.inf:
            return number
    raise InvalidParameter(f"{name}={value!r}: a positive number is needed.")


def check_fraction(name: str, value: object) -> float:
    """Refuse what is not a number between 0 and 1."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < 1:
        return float(value)
    raise InvalidParameter(f"{name}={value!r}: a number between 0 and 1 is needed.")


def check_levels(name: str, value: Any) -> FloatArray:
    """Return one level or several as an array; all must lie between 0 and 1."""
    levels = _number_array(value)
    if levels.ndim > 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise InvalidParameter(f"{name}={value!r}: give a number between 0 and 1, or a list of them, like [0.1, 0.9].")
    return levels


def check_memory(name: str, value: object) -> int | None:
    """Return a number of bytes, given as such or like '8GB' (10**9) and '8GiB' (2**30).

    Examples
    --------
    >>> from localsvm.estimators.parameters import check_memory
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


def count_threads(n_jobs: object) -> int:
    """Return the number of threads: None and -1 are all cores of this process, -2 all but one, and so on."""
    if n_jobs is None:
        return int(joblib.cpu_count())
    if isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool) and n_jobs != 0:
        count = int(n_jobs)
        if count > _MOST_THREADS:
            raise InvalidParameter(
                f"n_jobs={count}: at most {_MOST_THREADS} threads can be started. Give the number of threads, or None "
                "for all cores."
            )
        return count if count > 0 else max(1, int(joblib.cpu_count()) + 1 + count)
    raise InvalidParameter(f"n_jobs={n_jobs!r}: give the number of threads, or None for all cores.")


def check_relevance(relevance: Any, n_features: int) -> FloatArray | str | None:
    """Return weights of the features with mean one, "auto" or None.

    Examples
    --------
    >>> from localsvm.estimators.parameters import check_relevance
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
        raise InvalidParameter(f"all weights of relevance are 0, so that all rows are equal: {needed}.")
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
    """Return the verbosity; 0 prints nothing."""
    return int(verbose) if isinstance(verbose, bool) else check_integer("verbose", verbose, 0)


def seed_of(random_state: Any) -> int:
    """Return the seed of the content hash; None is 0: fits are repeatable by default."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if int(random_state) >= 0:
            return int(random_state)
    elif isinstance(random_state, np.random.RandomState) or random_state is np.random:
        return int(check_random_state(random_state).randint(2**31 - 1))
    raise InvalidParameter(f"random_state={random_state!r}: give None, an integer of at least 0 or a RandomState.")


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


def _number_array(value: Any) -> FloatArray:
    """Return numbers as an array; an empty one if they are none."""
    try:
        found = np.asarray(value)
    except ValueError:  # lists of different lengths
        return np.zeros(0)
    return found.astype(np.float64) if found.dtype.kind in "iuf" else np.zeros(0)
