"""What duplicates of a row among the training rows add to its prediction.

Enters: training rows by the hashes of their features, and their out-of-fold scores. Leaves: `Duplicates`, or None where
they do not lower the out-of-fold risk by more than noise.

Cells merge duplicates, and all of them are in one fold, so that they cannot leak into the validation. Where the
population itself is discrete, a duplicate says more of a row than its neighbors do. With W the weight of the training
rows that equal a row, and t the sum of their targets, a prediction f becomes

    (strength f + t) / (strength + W),

the posterior mean if f were known from `strength` rows. Of classes, f is their probabilities and t counts them. The
strength has the lowest risk where each training row is predicted by its out-of-fold score and its other duplicates.
Weights count duplicates if all are whole numbers; others, such as those of a survey, do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localsvm.data.content import Keys
from localsvm.data.types import FloatArray, IndexArray
from localsvm.decision.blend import KeyedScores
from localsvm.tasks import Probabilities, Reduction

_STRENGTHS = np.exp2(np.arange(-4.0, 8.0))
_LEAST_SHARE = 0.01  # of the rows that have duplicates: fewer are not worth a table of all rows
_LEAST_ROWS = 30  # distinct ones with duplicates, from which the strength is chosen


@dataclass(frozen=True, eq=False)
class Duplicates:
    """The distinct training rows, by hash, and how much they count."""

    strength: float
    seed: int
    """Of the hashes."""
    hashes: Keys
    """Ascending."""
    weight: FloatArray
    totals: FloatArray
    """Weighted sums of the targets (row, output)."""

    def adjust(self, reduction: Reduction, scores: FloatArray, hashes: Keys) -> FloatArray:
        """Return the scores (row, score) of rows with these hashes, with what their duplicates add."""
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        rows = np.flatnonzero(self.hashes[place] == hashes)
        known, adjusted = place[rows], scores.copy()
        adjusted[rows] = _adjusted(reduction, scores[rows], self.weight[known], self.totals[known], self.strength)
        return adjusted


@dataclass(frozen=True)
class RowsByHash:
    """Training rows: hashes of their features, keys of their out-of-fold scores, targets and weights."""

    hashes: Keys
    keys: Keys
    y: FloatArray
    weight: FloatArray
    unit: FloatArray
    """The weight of a row that occurs once: that of its class."""


def are_frequent(hashes: Keys, weight: FloatArray) -> bool:
    """Return whether enough rows have duplicates; weights that are not whole numbers do not count any."""
    if not np.array_equal(weight, np.rint(weight)):
        return False
    _, group = np.unique(hashes, return_inverse=True)
    count = np.bincount(group, weights=weight)
    repeated = count[count > 1]
    return len(repeated) >= _LEAST_ROWS and bool(repeated.sum() >= _LEAST_SHARE * count.sum())


def find_duplicates(reduction: Reduction, rows: RowsByHash, scores: KeyedScores, seed: int) -> Duplicates | None:
    """Return the duplicates of training rows, if it pays to know them."""
    sample, begins, weight = _distinct(rows)
    hashes, y, unit = rows.hashes[sample], rows.y[sample], rows.unit[sample]
    targets = _targets(reduction, y)
    of_row = np.add.reduceat(weight, begins)
    totals = np.add.reduceat(weight[:, None] * targets, begins, axis=0)
    group = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(sample)))
    others = of_row[group] - unit
    used = np.flatnonzero((others > 0) & np.isin(rows.keys[sample], scores.key))
    if len(np.unique(group[used])) < _LEAST_ROWS:
        return None
    f = scores.at(rows.keys[sample[used]]).scores.astype(np.float64)
    without_own = totals[group] - unit[:, None] * targets
    plain = reduction.risk(y[used], f)
    gains = [
        weight[used] * (plain - reduction.risk(y[used], _adjusted(reduction, f, others[used], without_own[used], each)))
        for each in _STRENGTHS
    ]
    best = int(np.argmax([gain.sum() for gain in gains]))
    of_group = np.bincount(group[used], weights=gains[best])
    if of_group.sum() <= 2.0 * np.sqrt(np.square(of_group).sum()):  # two standard errors
        return None
    return Duplicates(float(_STRENGTHS[best]), seed, hashes[begins], of_row, totals)


def _distinct(rows: RowsByHash) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return distinct rows, ordered by hash and target, where each hash begins among them, and their weights.

    The order of the rows does not matter, not even to rounding.
    """
    targets = rows.y.reshape(len(rows.y), -1)
    order = np.lexsort((rows.weight, *targets.T, rows.hashes))
    new_hash = np.diff(rows.hashes[order], prepend=~rows.hashes[order[:1]]) != 0
    new_target = np.ones(len(order), dtype=bool)
    new_target[1:] = (targets[order[1:]] != targets[order[:-1]]).any(axis=1)
    first = np.flatnonzero(new_hash | new_target)
    return order[first], np.flatnonzero(new_hash[first]), np.add.reduceat(rows.weight[order], first)


def _targets(reduction: Reduction, y: FloatArray) -> FloatArray:
    """Return what is averaged over duplicates (row, output)."""
    return reduction.indicators(y) if isinstance(reduction, Probabilities) else y.reshape(len(y), -1)


def _adjusted(
    reduction: Reduction, scores: FloatArray, weight: FloatArray, totals: FloatArray, strength: float
) -> FloatArray:
    """Return the scores of rows with duplicates of this weight and these totals."""
    means = reduction.of_outputs(scores) if isinstance(reduction, Probabilities) else scores
    means = (strength * means.reshape(totals.shape) + totals) / (strength + weight[:, None])
    if isinstance(reduction, Probabilities):
        return reduction.scores_of(means)
    return np.asarray(means.reshape(scores.shape))
