"""The weights of models that predict together, from their out-of-fold scores on the same rows.

Enters: the out-of-fold scores of every model, with the keys of the samples. Leaves: non-negative weights that sum to
one. They are found by adding the models one after the other, as often as they help (Caruana, Niculescu-Mizil, Crew,
Ksikes 2004, "Ensemble selection from libraries of models").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import OutOfFold
from localsvm.data.content import Keys
from localsvm.data.types import FloatArray
from localsvm.tasks import Reduction

_BLEND_SIZE = 20  # models in the mean, each counted as often as it was added
_MOST_VALUES = 1 << 21  # scores of a model that decide: those of the smallest keys, which are as good as random


@dataclass(frozen=True)
class KeyedScores:
    """Out-of-fold scores of samples, in the order of their keys, each of which occurs once."""

    key: Keys
    scores: NDArray[np.floating]
    y: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, parts: Iterable[OutOfFold]) -> KeyedScores:
        """Gather the scores of cells; a sample that several cells validate has the mean of its scores."""
        found = [part for part in parts if len(part.y)]  # without cells that have no rows
        keys = [part.key for part in found if part.key is not None]
        assert len(keys) == len(found), "cells were trained with keys"
        scores = np.concatenate([part.scores for part in found])
        known = ~np.isnan(scores).any(axis=1)
        key, first, inverse, count = np.unique(
            np.concatenate(keys)[known], return_index=True, return_inverse=True, return_counts=True
        )
        y = np.concatenate([part.y for part in found])[known]
        weight = np.concatenate([part.weight for part in found])[known]
        if (count > 1).any():
            total = np.zeros((len(key), scores.shape[1]))
            np.add.at(total, inverse, scores[known])
            return cls(key, total / count[:, None], y[first], weight[first])
        return cls(key, scores[known][first], y[first], weight[first])

    def at(self, keys: Keys) -> KeyedScores:
        """Return the samples of these keys, which it has."""
        rows = np.searchsorted(self.key, keys)
        return KeyedScores(keys, self.scores[rows], self.y[rows], self.weight[rows])


def blended(models: Sequence[KeyedScores], weights: FloatArray) -> KeyedScores:
    """Return the weighted mean of the scores of the samples that all models have."""
    used = [(model, weight) for model, weight in zip(models, weights.tolist(), strict=True) if weight > 0]
    keys = _common_keys([model for model, _ in used])
    first = used[0][0].at(keys)
    scores = np.zeros(first.scores.shape)
    for model, weight in used:
        scores += weight * model.at(keys).scores
    return KeyedScores(keys, scores, first.y, first.weight)


def _common_keys(models: Sequence[KeyedScores]) -> Keys:
    keys = models[0].key
    for model in models[1:]:
        keys = np.intersect1d(keys, model.key, assume_unique=True)
    return keys


def blend_models(reduction: Reduction, models: Sequence[KeyedScores]) -> FloatArray:
    """Return the weights of models whose weighted mean has the lowest out-of-fold risk, nearly."""
    if len(models) == 1:
        return np.ones(1)
    keys = _common_keys(models)
    keys = keys[: max(1, _MOST_VALUES // models[0].scores.shape[1])]
    if len(keys) == 0:  # nothing was validated: all are equal
        return np.full(len(models), 1.0 / len(models))
    first = models[0].at(keys)
    scores = [model.at(keys).scores.astype(np.float64) for model in models]
    times, total = np.zeros(len(models)), np.zeros(scores[0].shape)
    for size in range(1, _BLEND_SIZE + 1):
        risks = [float(reduction.risk(first.y, (total + added) / size) @ first.weight) for added in scores]
        best = int(np.argmin(risks))
        times[best] += 1
        total += scores[best]
    return times / _BLEND_SIZE
