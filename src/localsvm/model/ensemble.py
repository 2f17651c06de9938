"""Models that predict together: the weighted mean of their scores.

Enters: `Member`s and the rows of each. Leaves: scores and probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localsvm.data.encoding import View
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import Scaling
from localsvm.data.source import RowSource
from localsvm.data.types import FloatArray
from localsvm.model.local_model import LocalModel
from localsvm.model.predict import predict_classes, predict_scores
from localsvm.tasks import Probabilities

Rows = RowSource | ScaledRows


@dataclass(frozen=True)
class Member:
    """One of the models that predict together."""

    model: LocalModel
    weight: float = 1.0
    view: View | None = None
    """The columns of the encoding that it takes; None: rows are taken as they are."""


@dataclass(frozen=True)
class MemberRows:
    """Rows to predict as each member takes them; checked, and perhaps scaled already."""

    of_members: tuple[Rows, ...]

    def scaled(self, members: Sequence[Member]) -> MemberRows:
        """Scale all rows now, for a caller that reads them several times."""
        pairs = zip(self.of_members, members, strict=True)
        return MemberRows(tuple(_scaled(rows, member.model.scaling) for rows, member in pairs))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.of_members[0])


def _scaled(rows: Rows, scaling: Scaling) -> ScaledRows:
    if isinstance(rows, ScaledRows):
        return rows
    # A copy: another member may scale the same rows in another way.
    return ScaledRows.of(rows[:] if not isinstance(rows, np.ndarray) else rows.copy(), scaling)


def mean_scores(members: Sequence[Member], rows: Sequence[Rows], n_threads: int = 1) -> FloatArray:
    """Return the weighted mean of the scores (n_rows, n_scores)."""
    if len(members) == 1:
        return predict_scores(members[0].model, rows[0], n_threads)
    total = np.zeros((len(rows[0]), members[0].model.reduction.n_scores))
    for member, own in zip(members, rows, strict=True):
        total += member.weight * predict_scores(member.model, own, n_threads)
    return total


def mean_probabilities(members: Sequence[Member], rows: Sequence[Rows], n_threads: int = 1) -> FloatArray:
    """Return the probabilities of the classes; several members have the logistic loss."""
    reduction = members[0].model.reduction
    if isinstance(reduction, Probabilities):
        return reduction.probabilities(mean_scores(members, rows, n_threads))
    assert len(members) == 1, "other classifiers stand alone"
    return predict_classes(members[0].model, rows[0], n_threads)[1]
