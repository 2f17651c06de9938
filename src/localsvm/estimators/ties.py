"""Checks of groups and times, which decide the folds, before any work starts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.labels import Labels
from localsvm.data.ties import Ties
from localsvm.data.types import BoolArray, FloatArray
from localsvm.errors import InvalidData, InvalidParameter
from localsvm.estimators.targets import missing_or_infinite


def check_ties(groups: Any, time: Any, weight: FloatArray) -> Ties | None:
    """Return the groups or the times of samples as numbers; None if neither is given.

    Samples of weight zero have number -1: what they have does not matter.
    """
    if groups is not None and time is not None:
        raise InvalidParameter("groups and time are both given: a fold is of groups or of a block of time. Give one.")
    present = weight > 0
    if groups is not None:
        codes = groups.codes if isinstance(groups, Labels) else _column("groups", groups, len(weight))
        _refuse_missing("groups", codes, present)
        return Ties(_numbers("groups", _group_codes(codes[present]), present))
    if time is not None:
        times = _column("time", time, len(weight))
        _refuse_missing("time", times, present)
        return Ties(_numbers("time", _ranks(times[present]), present), ordered=True)
    return None


def _column(name: str, values: Any, n_samples: int) -> NDArray[Any]:
    """Return one value per sample; a frame of one column counts as the column."""
    try:
        column = np.asarray(values)
    except ValueError:  # lists of different lengths
        column = np.empty(0, dtype=object).reshape(0, 2)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (n_samples,):
        raise InvalidData(f"{name} has shape {column.shape}, expected ({n_samples},): give one value per row.")
    return column


def _refuse_missing(name: str, values: NDArray[Any], present: BoolArray) -> None:
    wrong = missing_or_infinite(values) & present
    if wrong.any():
        raise InvalidData(
            f"{name} has {int(wrong.sum())} values that are missing or not finite (first: "
            f"{values[wrong][0]} at row {int(wrong.argmax())}). Drop these rows, or give them a value."
        )


def _group_codes(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return a number for every label; labels of any types that can be compared for equality."""
    if labels.dtype.kind != "O":
        return np.unique(labels, return_inverse=True)[1]
    codes: dict[Any, int] = {}
    try:
        return np.array([codes.setdefault(label, len(codes)) for label in labels], dtype=np.intp)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels if not isinstance(label, Hashable)}))
        raise InvalidData(f"groups has values of type {kinds}, which have no hash: give text or numbers.") from None


def _ranks(times: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of every time among the distinct ones."""
    is_text = times.dtype.kind in "SU" or (times.dtype.kind == "O" and any(isinstance(time, str) for time in times))
    if not is_text and times.dtype.kind not in "cV":
        try:
            return np.unique(times, return_inverse=True)[1]
        except TypeError:  # no order
            pass
    raise InvalidData(f"time has values like {times[0]!r}, which have no order in time: give numbers or dates.")


def _numbers(name: str, codes: NDArray[np.intp], present: BoolArray) -> NDArray[np.int64]:
    """Return the numbers of all samples; refuse a single group or time, which leaves nothing to validate on."""
    if codes.min() == codes.max():
        what = "group" if name == "groups" else "time"
        raise InvalidData(
            f"{name} has a single {what}: at least two are needed, one to train and one to validate. Give no {name} "
            "to validate on other rows of it."
        )
    numbers = np.full(len(present), -1, dtype=np.int64)
    numbers[present] = codes
    return numbers
