"""Models that predict together: the weighted mean of their scores.

Enters: `Member`s and the rows of each. Leaves: scores and probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localsvm.data.content import Keys
from localsvm.data.encoding import View
from localsvm.data.rows import ScaledRows
from localsvm.data.scaling import Scaling
from localsvm.data.source import RowSource
from localsvm.data.types import FloatArray
from localsvm.decision.duplicates import Duplicates
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
    hashes: Keys | None = None
    """By which duplicates in training are found, if they count."""

    def scaled(self, members: Sequence[Member]) -> MemberRows:
        """Scale all rows now, for a caller that reads them several times."""
        pairs = zip(self.of_members, members, strict=True)
        return MemberRows(tuple(_scaled(rows, member.model.scaling) for rows, member in pairs), self.hashes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.of_members[0])


def _scaled(rows: Rows, scaling: Scaling) -> ScaledRows:
    if isinstance(rows, ScaledRows):
        return rows
    # A copy: another member may scale the same rows in another way.
    return ScaledRows.of(rows[:] if not isinstance(rows, np.ndarray) else rows.copy(), scaling)


@dataclass(frozen=True)
class Ensemble:
    """Models that predict together, and the duplicates of training rows where they count."""

    members: tuple[Member, ...]
    duplicates: Duplicates | None = None

    def scores(self, rows: MemberRows, n_threads: int = 1) -> FloatArray:
        """Return the scores (n_rows, n_scores)."""
        scores = self._mean_scores(rows, n_threads)
        if self.duplicates is None:
            return scores
        assert rows.hashes is not None, "rows were prepared for these models"
        return self.duplicates.adjust(self.members[0].model.reduction, scores, rows.hashes)

    def probabilities(self, rows: MemberRows, n_threads: int = 1) -> FloatArray:
        """Return the probabilities of the classes; several members have the logistic loss."""
        reduction = self.members[0].model.reduction
        if isinstance(reduction, Probabilities):
            return reduction.probabilities(self.scores(rows, n_threads))
        assert len(self.members) == 1, "other classifiers stand alone"
        return predict_classes(self.members[0].model, rows.of_members[0], n_threads)[1]

    def _mean_scores(self, rows: MemberRows, n_threads: int) -> FloatArray:
        if len(self.members) == 1:
            return predict_scores(self.members[0].model, rows.of_members[0], n_threads)
        total = np.zeros((len(rows), self.members[0].model.reduction.n_scores))
        for member, own in zip(self.members, rows.of_members, strict=True):
            total += member.weight * predict_scores(member.model, own, n_threads)
        return total
