"""Evaluation of a classifier from streamed sums: error, rates, log-loss and calibration.

Enters: labels and predicted probabilities, block by block. Leaves: measures, confusion matrix, reliability bins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localsvm.data.types import FloatArray, IndexArray
from localsvm.estimators.targets import read_labels
from localsvm.evaluation.intervals import Estimate, Means, combined, proportion
from localsvm.evaluation.ranking import RankTally
from localsvm.evaluation.result import Confusion, Label, Measure, ReliabilityBin

BINS = 15
"""Number of probability bins, of equal width."""

_MOST_RANKED = 20  # classes whose areas under curves are measured
_MOST_SHOWN = 50  # classes whose recall and precision are
_MOST_UNKNOWN = 20  # unknown labels that are listed


class ClassTally:
    """Sums over rows with labels."""

    task = "classes"

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._labels = tuple(_plain(label) for label in estimator.classes_.tolist())
        self._index = {label: index for index, label in enumerate(estimator.classes_.tolist())}
        self.n_classes = k = len(self._labels)
        # By true and predicted class; the last row is for unknown labels.
        self._weight, self._squares = np.zeros((k + 1, k)), np.zeros((k + 1, k))
        self._log_loss = Means(1)
        events = [1] if k == 2 else range(k) if k <= _MOST_RANKED else []
        self._ranks = {event: RankTally() for event in events}
        self._bins = np.zeros((4, BINS))  # sums of weight, weight^2, predicted probability, observed events
        self._n_unknown = 0
        self._unknown: dict[Label, None] = {}

    def add(self, X: Any, y: ArrayLike, weight: FloatArray) -> tuple[FloatArray, IndexArray]:
        """Add a block of rows; return the 0-1 loss and the label index of each row."""
        label = self._numbers(y, weight)
        probability = self._estimator.predict_proba(X)
        predicted = probability.argmax(axis=1)
        place = label * self.n_classes + predicted
        for sums, by in ((self._weight, weight), (self._squares, np.square(weight))):
            sums += np.bincount(place, by, sums.size).reshape(sums.shape)
        known = np.flatnonzero(label < self.n_classes)
        self._add_probabilities(probability[known], predicted[known], label[known], weight[known])
        return (predicted != label).astype(np.float64), label

    def _numbers(self, y: ArrayLike, weight: FloatArray) -> IndexArray:
        """Return the index of each label; unknown labels have the index after the last class."""
        distinct, inverse = np.unique(read_labels(y, len(weight)), return_inverse=True)
        rows = np.bincount(inverse, weight > 0, len(distinct)).astype(np.intp)
        numbers = np.full(len(distinct), self.n_classes)
        for place, label in enumerate(distinct.tolist()):
            if label in self._index:
                numbers[place] = self._index[label]
            elif rows[place]:
                self._n_unknown += int(rows[place])
                if len(self._unknown) < _MOST_UNKNOWN:
                    self._unknown[_plain(label)] = None
        return np.asarray(numbers[inverse])

    def _add_probabilities(
        self, probability: FloatArray, predicted: IndexArray, label: IndexArray, weight: FloatArray
    ) -> None:
        rows = np.arange(len(label))
        self._log_loss.add(-np.log(probability[rows, label])[:, None], weight)
        for positive, ranks in self._ranks.items():
            ranks.add(probability[:, positive], label == positive, weight)
        # The event is the second of two classes; with more classes, that the prediction is right.
        event = np.ones_like(label) if self.n_classes == 2 else predicted
        p = probability[rows, event]
        number = np.minimum((BINS * p).astype(np.intp), BINS - 1)
        for sums, by in zip(self._bins, (weight, weight**2, weight * p, weight * (label == event)), strict=True):
            sums += np.bincount(number, by, BINS)

    def measures(self) -> tuple[Measure, ...]:
        """Return all measures that are defined."""
        error = self._error()
        right = None if error is None else Estimate(1 - error.value, 1 - error.high, 1 - error.low)
        found = {"error": error, "accuracy": right, "balanced_accuracy": self._balanced_accuracy(), **self._areas()}
        if self._log_loss.total > 0:
            found["log_loss"] = self._log_loss.mean(0)
        named = [Measure(name, e.value, e.low, e.high) for name, e in found.items() if e is not None]
        if self._bins[0].any():
            gaps = np.abs(self._bins[3] - self._bins[2])
            named.append(Measure("calibration_error", float(gaps.sum() / self._bins[0].sum())))
        if self.n_classes > 2:
            return (*named, *self._by_class())
        rates = self._rates()
        return (*named, *(Measure(name, e.value, e.low, e.high) for name, e in rates.items() if e is not None))

    def _areas(self) -> dict[str, Estimate | None]:
        """Return the areas under the curves; of several classes the mean over each against the rest."""
        ranks = [ranks for ranks in self._ranks.values() if ranks.has_both]
        if not ranks:
            return {}
        areas = {
            "roc_auc": [tally.roc_auc() for tally in ranks],
            "average_precision": [tally.average_precision() for tally in ranks],
        }
        return {name: _mean(found) for name, found in areas.items()}

    def _by_class(self) -> list[Measure]:
        """Return recall and precision of each class, where they are defined."""
        found = []
        for number, label in enumerate(self._labels if self.n_classes <= _MOST_SHOWN else ()):
            hits = self._entries(number, number)
            recall, precision = (
                self._proportion(hits, self._entries(true=number)),
                self._proportion(hits, self._entries(predicted=number)),
            )
            for name, e in (("recall", recall), ("precision", precision)):
                if e is not None:
                    found.append(Measure(name, e.value, e.low, e.high, str(label)))
        return found

    def _proportion(self, part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> Estimate | None:
        """Return the weight of some entries of the confusion matrix relative to others."""
        total = float(self._weight[whole].sum())
        if total == 0:
            return None
        return proportion(float(self._weight[part & whole].sum()), total, float(self._squares[whole].sum()))

    def _entries(self, true: int | None = None, predicted: int | None = None) -> NDArray[np.bool_]:
        """Return a mask of the entries with a true and a predicted class; None is any class."""
        entries = np.zeros(self._weight.shape, dtype=np.bool_)
        entries[slice(None) if true is None else true, slice(None) if predicted is None else predicted] = True
        return entries

    def _error(self) -> Estimate | None:
        return self._proportion(~np.eye(*self._weight.shape, dtype=np.bool_), self._entries())

    def _balanced_accuracy(self) -> Estimate | None:
        """Return the mean recall over the classes that occur."""
        recalls = [self._proportion(self._entries(c, c), self._entries(true=c)) for c in range(self.n_classes)]
        found = [estimate for estimate in recalls if estimate is not None]
        if not found:
            return None
        return _mean(found)

    def _rates(self) -> dict[str, Estimate | None]:
        """Return the measures of binary classification; the second class is positive."""
        hits = self._entries(1, 1)
        tpr = self._proportion(hits, self._entries(true=1))
        tnr = self._proportion(self._entries(0, 0), self._entries(true=0))
        found = {"tpr": tpr, "tnr": tnr}
        if tpr is not None and tnr is not None:
            found["tpr_tnr"] = combined(tpr.value * tnr.value, [tpr, tnr], [tnr.value, tpr.value])
        # F1 = 2 J / (1 + J), with J = TP / (TP + FN + FP).
        jaccard = self._proportion(hits, self._entries(true=1) | self._entries(predicted=1))
        found["f1"] = jaccard and jaccard.through(lambda j: 2 * j / (1 + j))
        found["precision"] = self._proportion(hits, self._entries(predicted=1))
        return found

    def details(self) -> dict[str, Any]:
        """Return the confusion matrix and the reliability bins."""
        counts = tuple(tuple(row) for row in self._weight[:-1].tolist())
        confusion = Confusion(self._labels, counts, self._n_unknown, tuple(self._unknown))
        return {"confusion": confusion, "reliability": self._reliability()}

    def _reliability(self) -> tuple[ReliabilityBin, ...]:
        found = []
        for weight, squares, predicted, seen in self._bins.T.tolist():
            if weight > 0:
                observed = proportion(min(seen, weight), weight, squares)
                ends = (observed.value, observed.low, observed.high)
                found.append(ReliabilityBin(predicted / weight, *ends, weight / float(self._bins[0].sum())))
        return tuple(found)


def _mean(found: list[Estimate]) -> Estimate:
    mean = float(np.mean([estimate.value for estimate in found]))
    return combined(mean, found, [1 / len(found)] * len(found))


def _plain(label: Any) -> Label:
    return label if isinstance(label, (str, int, float, bool)) else str(label)
