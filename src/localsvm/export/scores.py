"""From the functions of cells to scores, and from scores to probabilities.

Enters: values (row, output), or scores (row, score), in double precision. Leaves: what `tasks` and `decision` make of
them.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from localsvm.decision.calibration import LARGEST_FACTOR, LEAST_FACTOR, Calibration
from localsvm.decision.curves import KNOTS
from localsvm.export.graph import DOUBLE, INT, Graph, integers
from localsvm.tasks import Binary, Levels, OneVsOne, Probabilities, Reduction


def scores_of(g: Graph, values: str, reduction: Reduction) -> str:
    """Return the scores of values."""
    if isinstance(reduction, Binary) and reduction.machine is not None:
        own = g.op("Gather", values, integers(reduction.machine), axis=1)
        return g.op("Sub", own, np.array(float(reduction.threshold)))
    if isinstance(reduction, OneVsOne):
        return _pair_scores(g, values, reduction)
    if isinstance(reduction, Levels) and reduction.n_outputs > 1:
        return g.ops("TopK", (None, None), values, integers(reduction.n_outputs), largest=0, sorted=1)[0]
    return values


def _pair_scores(g: Graph, values: str, reduction: OneVsOne) -> str:
    """Return each class's value against its strongest rival, mixed with its mean over all pairs."""
    own = g.op("Gather", values, reduction.pair_of_class.astype(np.int64), axis=1)
    against = g.op("Mul", own, reduction.side_of_class)
    least, mean = g.op("ReduceMin", against, axes=[2], keepdims=0), g.op("ReduceMean", against, axes=[2], keepdims=0)
    share = reduction.mean_share
    return g.op("Add", g.op("Mul", least, np.array(1 - share)), g.op("Mul", mean, np.array(share)))


def learned_probabilities(g: Graph, scores: str, reduction: Probabilities) -> str:
    """Return the probabilities of all classes, which the logistic loss has learned."""
    if reduction.n_classes > 2:
        return g.op("Softmax", scores, axis=1)
    positive = g.op("Sigmoid", scores)
    return g.op("Concat", g.op("Sub", np.array(1.0), positive), positive, axis=1)


def calibrated(g: Graph, scores: str, cells: str, calibration: Calibration, is_binary: bool) -> str:
    """Return the probabilities of all classes by the curves of the cells (n,)."""
    return (_two_classes if is_binary else _many_classes)(g, scores, cells, calibration)


def _two_classes(g: Graph, scores: str, cells: str, calibration: Calibration) -> str:
    positive = g.op("GreaterOrEqual", scores, np.array(0.0))
    cell = g.op("Unsqueeze", cells, integers(1))
    predicted = g.op("Add", g.op("Mul", cell, np.array(2)), g.cast(positive, INT))
    other = g.op("Sub", g.op("Add", g.op("Mul", cell, np.array(4)), np.array(1)), predicted)
    factor = _factors(g, g.op("Abs", scores), predicted, calibration)
    one = np.array(1.0)
    seen = g.op("Div", one, g.op("Add", factor, one))
    unseen = g.op("Sub", one, g.op("Gather", calibration.absent.ravel(), other))
    right = g.op("Where", g.op("Gather", calibration.present.ravel(), other), seen, unseen)
    wrong = g.op("Sub", one, right)
    return g.op("Concat", g.op("Where", positive, wrong, right), g.op("Where", positive, right, wrong), axis=1)


def _many_classes(g: Graph, scores: str, cells: str, calibration: Calibration) -> str:
    n_classes = calibration.present.shape[1]
    largest_of_all = g.op("ReduceMax", scores, axes=[1], keepdims=1)
    # A cell without samples knows only the predicted class.
    is_empty = g.op("Unsqueeze", g.op("Gather", np.logical_not(calibration.present.any(axis=1)), cells), integers(1))
    predicted = g.op("And", is_empty, g.op("Equal", scores, largest_of_all))
    known = g.op("Or", g.op("Gather", calibration.present, cells), predicted)
    known_scores = g.op("Where", known, scores, np.array(-np.inf))
    best = g.op("ArgMax", known_scores, axis=1, keepdims=1)
    largest = g.op("ReduceMax", known_scores, axes=[1], keepdims=1)
    lead = g.op("Mul", g.op("Sub", largest, scores), np.array(0.5))
    distance = g.op("Where", known, lead, np.array(0.0))
    curve = g.op("Add", g.op("Mul", g.op("Unsqueeze", cells, integers(1)), np.array(n_classes)), best)
    is_best = g.op("Equal", np.arange(n_classes), best)
    factor = g.op("Where", is_best, np.array(1.0), _factors(g, distance, curve, calibration))
    factor = g.op("Mul", factor, g.cast(known, DOUBLE))
    absent = g.op("Where", known, np.array(0.0), g.op("Gather", calibration.absent, cells))
    rest = g.op("Sub", np.array(1.0), g.op("ReduceSum", absent, integers(1), keepdims=1))
    total = g.op("ReduceSum", factor, integers(1), keepdims=1)
    return g.op("Add", g.op("Mul", factor, g.op("Div", rest, total)), absent)


def _factors(g: Graph, distance: str, curve: str, calibration: Calibration) -> str:
    """Return exp(-E(distance)) by curves (n, 1), numbered by cell and predicted class."""
    energy = ""
    for k, (begin, end) in enumerate(pairwise(KNOTS.tolist())):
        part = g.op("Div", g.op("Sub", distance, np.array(begin)), np.array(end - begin))
        filled = g.op("Clip", part, np.array(0.0), np.array(1.0))
        added = g.op("Mul", filled, g.op("Gather", calibration.increments[..., k].ravel(), curve))
        energy = g.op("Add", energy, added) if energy else added
    return g.op("Clip", g.op("Exp", g.op("Neg", energy)), np.array(LEAST_FACTOR), np.array(LARGEST_FACTOR))
