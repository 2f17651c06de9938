"""Features, target and weight as arrays on the workers.

Enters: batches of a training frame. Leaves: their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

FEATURES, TARGET, WEIGHT = "features", "target", "weight"

FeatureColumns = str | list[str]
"""A column of vectors or of arrays of numbers, or several columns of numbers."""


@dataclass(frozen=True)
class TrainingRows:
    """Some rows of positive weight."""

    X: NDArray[np.floating]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]

    def __getitem__(self, rows: Any) -> TrainingRows:
        """Return some of them."""
        return TrainingRows(self.X[rows], self.y[rows], self.weight[rows])


def matrix_of(column: pa.ListArray, n_features: int) -> NDArray[np.float64]:
    """Return the features of rows without nulls as a matrix."""
    return np.asarray(floats(column.flatten()).reshape(len(column), n_features))


def floats(values: pa.Array) -> NDArray[np.float64]:
    """Return numbers; null is NaN."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


@dataclass(frozen=True)
class Layout:
    """How to read the columns of a training: features by row, and the labels of classes in their order."""

    n_features: int
    classes: tuple[float, ...] | None = None

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TrainingRows]:
        """Yield the rows of positive weight, batch by batch; they were surveyed before."""
        for batch in batches:
            X = matrix_of(batch.column(FEATURES), self.n_features)
            rows = TrainingRows(X, self._targets(floats(batch.column(TARGET))), floats(batch.column(WEIGHT)))
            yield rows if rows.weight.all() else rows[rows.weight > 0]

    def _targets(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers as they are, two classes as -1 and 1, more as 0, 1, 2, ..."""
        if self.classes is None:
            return y
        index = np.searchsorted(self.classes, y)
        return np.where(index == 1, 1.0, -1.0) if len(self.classes) == 2 else index.astype(np.float64)
