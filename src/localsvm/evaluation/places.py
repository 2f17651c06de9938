"""Distinguishing features of a cell: those in which its center deviates most from the other centers.

Enters: a fitted estimator. Leaves: short phrases such as "elevation 3,120 (high)", in units of the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.columns import Encoding

_FEATURES = 3  # at most, per cell
_STANDS_OUT = 1.0  # standard deviations over the centers


class Places:
    """The centers of a model, standardized over cells."""

    def __init__(self, estimator: Any) -> None:
        model = estimator.model_
        centers = np.asarray(model.partition.centers, dtype=np.float64)
        names = feature_names(estimator)
        self._names, self._n_numbers = model_columns(names, estimator.columns_)
        spread = centers.std(axis=0)
        centered = centers - centers.mean(axis=0)
        self._scores = np.divide(centered, spread, out=np.zeros_like(centers), where=spread > 0)
        # Indicator columns (categories, missing values) are informative only where they are set.
        self._scores[:, self._n_numbers :] = np.maximum(self._scores[:, self._n_numbers :], 0.0)
        self._values = model.scaling.undo(centers)

    def of(self, cell: int) -> tuple[str, ...]:
        """Return the distinguishing features of a cell, the most extreme first; none if there is a single cell."""
        scores = np.abs(self._scores[cell])
        clearest = np.argsort(-scores, kind="stable")[:_FEATURES]
        return tuple(self._phrase(cell, int(column)) for column in clearest if scores[column] >= _STANDS_OUT)

    def _phrase(self, cell: int, column: int) -> str:
        if column >= self._n_numbers:
            return self._names[column]
        side = "high" if self._scores[cell, column] > 0 else "low"
        return f"{self._names[column]} {self._values[cell, column]:,.4g} ({side})"


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the input columns, or x0, x1, ... if they have none."""
    names: NDArray[Any] | None = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def model_columns(names: list[str], columns: Encoding | None) -> tuple[list[str], int]:
    """Return the names of the encoded columns, and how many of them are numbers.

    >>> from localsvm.data.columns import Category, Encoding
    >>> columns = Encoding((0,), (2.0,), (0,), (Category(1, ("blue", "red"), True, False),))
    >>> model_columns(["size", "colour"], columns)
    (['size', 'size missing', 'colour = blue', 'colour = red', 'colour = rare'], 1)
    """
    if columns is None:
        return names, len(names)
    found = [names[j] for j in columns.numbers] + [f"{names[j]} missing" for j in columns.gappy]
    for category in columns.categories:
        name = names[category.column]
        found += [f"{name} = {known}" for known in category.names]
        found += [f"{name} = rare"] if category.pooled else []
        found += [f"{name} missing"] if category.missing else []
    return found, columns.n_numbers
