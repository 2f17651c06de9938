"""The gradient of a fitted model: how its scores change with every feature, row by row.

Enters: a `LocalModel` and rows. Leaves: the derivatives of the scores of every row, in units of the rows as given.

The gradient of a row is that of the function which predicts it, its own cell's; where the partition averages cells, the
mean of theirs. Steps of the prediction between cells are not part of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding import EncodedRows
from localsvm.data.rows import ScaledRows
from localsvm.data.source import RowSource, block_rows, row_blocks
from localsvm.data.types import FloatArray
from localsvm.model.ensemble import Member
from localsvm.model.local_model import LocalModel
from localsvm.model.predict import BLOCK_ROWS, evaluate_rows


def mean_gradients(
    members: Sequence[Member], rows: Sequence[RowSource | ScaledRows], n_features: int, n_threads: int = 1
) -> FloatArray:
    """Return the weighted mean of the gradients (n_rows, n_scores, n_features) of several models, by the features."""
    total = np.zeros((len(rows[0]), members[0].model.reduction.n_scores, n_features))
    for member, own in zip(members, rows, strict=True):
        assert not isinstance(own, ScaledRows), "rows are needed in the units that they were given in"
        part = predict_gradients(member.model, own, n_threads)
        total += member.weight * (_by_feature(part, own, n_features) if isinstance(own, EncodedRows) else part)
    return total


def _by_feature(gradients: FloatArray, rows: EncodedRows, n_features: int) -> FloatArray:
    """Return derivatives by the features from those by the columns of the model: the chain rule."""
    n_numbers, out = rows.view.n_numbers, np.zeros((*gradients.shape[:2], n_features))
    for block in row_blocks(0, len(rows), block_rows(max(gradients.shape[1] * gradients.shape[2], 1))):
        # A feature has at most one column of numbers.
        of_numbers = gradients[block, :, :n_numbers] * rows.slopes(block)[:, None]
        out[block, :, rows.view.origins[:n_numbers]] = of_numbers
    return out


def predict_gradients(model: LocalModel, X: RowSource, n_threads: int = 1) -> FloatArray:
    """Return the gradients (n_rows, n_scores, n_features) of the scores at every row of X."""
    reduction, n_features = model.reduction, model.n_features

    def of_cell(cell: int, points: NDArray[np.float32]) -> FloatArray:
        functions = model.cells[cell].functions
        values = functions.values(points)
        return reduction.score_gradients(values, functions.gradients(points, values))

    shape, width = (reduction.n_scores, n_features), reduction.n_outputs * n_features
    out, _ = evaluate_rows(model, X, of_cell, shape, n_threads, width)
    for block in row_blocks(0, len(out), block_rows(width, BLOCK_ROWS)):
        out[block] *= model.scaling.slopes(X[block])[:, None, :]
    return out
