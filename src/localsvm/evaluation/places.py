"""Distinguishing features of a cell: those in which its center deviates most from the other centers.

Enters: a fitted estimator. Leaves: short phrases such as "elevation 3,120 (high)", in units of the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding import View

_FEATURES = 3  # at most, per cell
_STANDS_OUT = 1.0  # standard deviations over the centers


class Places:
    """The centers of a model, standardized over cells."""

    def __init__(self, estimator: Any) -> None:
        model = estimator.model_
        centers = np.asarray(model.partition.centers, dtype=np.float64)
        self._names, kinds = model_columns(feature_names(estimator), estimator.members_[0].view)
        self._kinds, is_indicator = kinds, np.array([kind == "indicator" for kind in kinds])
        spread = centers.std(axis=0)
        centered = centers - centers.mean(axis=0)
        self._scores = np.divide(centered, spread, out=np.zeros_like(centers), where=spread > 0)
        # Indicators (levels, missing values) are informative only where they are set.
        self._scores[:, is_indicator] = np.maximum(self._scores[:, is_indicator], 0.0)
        self._values = model.scaling.undo(centers)
        view = estimator.members_[0].view
        if view is not None:
            numbers = slice(0, view.n_numbers)
            self._values[:, numbers] = estimator.columns_.numbers.given(self._values[:, numbers], view.numbers)

    def of(self, cell: int) -> tuple[str, ...]:
        """Return the distinguishing features of a cell, the most extreme first; none if there is a single cell."""
        scores = np.abs(self._scores[cell])
        clearest = np.argsort(-scores, kind="stable")[:_FEATURES]
        return tuple(self._phrase(cell, int(column)) for column in clearest if scores[column] >= _STANDS_OUT)

    def _phrase(self, cell: int, column: int) -> str:
        side = "high" if self._scores[cell, column] > 0 else "low"
        if self._kinds[column] == "indicator":
            return self._names[column]
        value = f" {self._values[cell, column]:,.4g}" if self._kinds[column] == "number" else ""
        return f"{self._names[column]}{value} ({side})"


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the input columns, or x0, x1, ... if they have none."""
    names: NDArray[Any] | None = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def model_columns(names: list[str], view: View | None) -> tuple[list[str], list[str]]:
    """Return the names of the columns of a model, and their kinds.

    >>> import numpy as np
    >>> from localsvm.data.encoding import learn_encoding
    >>> from localsvm.data.table import Table
    >>> rows = Table(np.array([[1.0, 0.0], [np.nan, 1.0], [3.0, 0.0]]), {1: ("blue", "red")})
    >>> learned = learn_encoding(rows, targets=np.zeros((3, 1)), weight=np.ones(3))
    >>> model_columns(["size", "colour"], learned.encoding.view())
    (['size', 'size missing', 'colour = red'], ['number', 'indicator', 'indicator'])
    """
    if view is None:
        return names, ["number"] * len(names)
    return view.names(names), [column.kind for column in view.columns]
