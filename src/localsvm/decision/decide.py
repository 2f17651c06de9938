"""Operating point and calibration, chosen from the out-of-fold scores of all cells.

Enters: the out-of-fold scores of trained cells. Leaves: a `FittedDecision`: the task with its threshold, and
calibrated probabilities. For two classes, cells may be trained with several weights of the positive class
(Neyman-Pearson, rates, F1), one function each; the function that suits the purpose best is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import CellFunctions, KernelSum, OutOfFold, TrainedCell
from localsvm.data.types import FloatArray
from localsvm.decision.calibration import Calibration, fit_binary, fit_multiclass
from localsvm.decision.operating_point import (
    OperatingPoint,
    RocPoints,
    ScoredSamples,
    choose,
    choose_false_alarm,
    roc_front,
)
from localsvm.tasks import Binary, Probabilities, Reduction

PLAIN_OBJECTIVES = ("log_loss", "accuracy")
"""Purposes that are served by the class of largest probability."""

Factors = Callable[[NDArray[np.floating]], FloatArray]

_MIN_OF_CLASS = 5  # samples of a class from which its rate can be estimated
_CONFIDENCE = 0.95  # that the false-alarm rate stays within its bound on new samples

# The odds at a threshold are estimated from the samples nearest to it: a fraction of all, but no fewer than this.
_FRACTION_AT_THRESHOLD, _MIN_AT_THRESHOLD = 0.05, 50


@dataclass(frozen=True)
class DecisionPlan:
    """The purpose that decisions serve: probabilities, a score to maximise, or a bound on false alarms."""

    objective: str = "accuracy"
    false_alarm: float | None = None
    keeps_all: bool = False
    """Whether the functions of all positive weights stay in the model."""

    @property
    def is_plain(self) -> bool:
        """Whether the sign of the decision value decides."""
        return self.objective in PLAIN_OBJECTIVES and self.false_alarm is None and not self.keeps_all


@dataclass(frozen=True)
class OutOfFoldScores:
    """Out-of-fold scores of the samples of all cells; NaN where a sample was in no validation fold.

    There is one row per training sample, so arrays have the smallest types that hold them.
    """

    scores: NDArray[np.floating]
    y: NDArray[np.floating]
    """-1 and 1, or class indices."""
    weight: FloatArray
    """Sample weights times class weights."""
    count: FloatArray
    """Sample weights alone."""
    cell: NDArray[np.integer]
    n_cells: int

    @classmethod
    def of(
        cls, parts: Iterable[OutOfFold], factors: Factors | None, averaged: bool, cell_weight: float
    ) -> OutOfFoldScores:
        """Gather the scores of all cells; cells that are averaged in prediction count as one.

        `factors` returns the class weights by target; None stands for ones. A sample that lies in m overlapping
        cells has weight `cell_weight` = 1/m in each, on average.
        """
        weights, targets, scores = [], [], []
        for part in parts:  # copies, so that a part that was read from disk leaves the memory
            weights.append(part.weight * cell_weight)
            targets.append(part.y.astype(np.float32))
            scores.append(part.scores.copy())
        weight, y = np.concatenate(weights), np.concatenate(targets)
        sizes = [len(part) for part in weights]
        del weights, targets
        numbers = np.zeros(len(sizes), dtype=np.int32) if averaged else np.arange(len(sizes), dtype=np.int32)
        return cls(
            scores=np.concatenate(scores),
            y=y,
            weight=weight,
            count=weight if factors is None else weight / factors(y),
            cell=np.repeat(numbers, sizes),
            n_cells=1 if averaged else len(sizes),
        )


@dataclass(frozen=True)
class Decision:
    """The operating point of two classes, and the ROC front that it was chosen from."""

    point: OperatingPoint
    front: RocPoints
    too_few: float | None = None
    """Samples of the rarer class, if they were too few for the objective, and accuracy was maximised instead."""


def decide(scores: OutOfFoldScores, plan: DecisionPlan) -> Decision:
    """Choose function and threshold."""
    samples = ScoredSamples.of(scores.scores, scores.y, scores.count)
    too_few = None
    if plan.false_alarm is not None:
        point = choose_false_alarm(samples, plan.false_alarm, _CONFIDENCE)
    else:
        rarer = min(samples.class_weight)
        is_plain = plan.objective in PLAIN_OBJECTIVES
        too_few = rarer if rarer < _MIN_OF_CLASS and not is_plain else None
        point = choose(samples, "accuracy" if is_plain or too_few is not None else plan.objective)
    # Infinite thresholds (no positives, all positives) become finite ones beyond all values.
    seen = samples.values[:, point.machine]
    threshold = float(np.clip(point.threshold, seen.min() - 1.0, seen.max() + 1.0))
    return Decision(replace(point, threshold=threshold), roc_front(samples), too_few)


@dataclass(frozen=True)
class FittedDecision:
    """The learning task with its operating point, its calibration, and how they were chosen."""

    reduction: Reduction
    calibration: Calibration | None = None
    decision: Decision | None = None
    scores: OutOfFoldScores | None = None
    """Kept with the functions of all weights, so that another operating point can be chosen."""
    machine: int | None = None
    """Index of the function that each cell keeps; None: it keeps all."""

    def of_cell(self, cell: TrainedCell) -> TrainedCell:
        """Return the cell with the functions it keeps, without its out-of-fold scores."""
        functions = cell.functions if self.machine is None else _single_function(cell.functions, self.machine)
        return replace(cell, out_of_fold=None, functions=functions)


def fit_decision(scores: OutOfFoldScores, reduction: Reduction, plan: DecisionPlan) -> FittedDecision:
    """Choose the operating point of a classifier and calibrate its probabilities, if it does not learn them."""
    if isinstance(reduction, Probabilities):
        return FittedDecision(reduction)
    if plan.is_plain:
        return FittedDecision(reduction, calibrate(scores, reduction))
    decision = decide(scores, plan)
    moved, calibration = at_point(scores, reduction, decision.point)
    if plan.keeps_all:
        return FittedDecision(moved, calibration, decision, scores)
    machine = decision.point.machine
    chosen = replace(moved, factors=(moved.factors[machine],), machine=0)
    return FittedDecision(chosen, calibration, decision, machine=machine)


def at_point(scores: OutOfFoldScores, reduction: Reduction, point: OperatingPoint) -> tuple[Binary, Calibration]:
    """Return the task of two classes at an operating point, and the calibration that agrees with it."""
    assert isinstance(reduction, Binary)
    calibration = calibrate(scores, reduction, point)
    return replace(reduction, machine=point.machine, threshold=point.threshold), calibration


def _single_function(functions: CellFunctions, machine: int) -> CellFunctions:
    one = slice(machine, machine + 1)
    return replace(
        functions,
        constants=functions.constants[one],
        bounds=functions.bounds[one],
        sums=tuple(_single_output(part, machine) for part in functions.sums if machine in part.outputs),
    )


def _single_output(part: KernelSum, output: int) -> KernelSum:
    coefficients = part.coefficients[part.outputs == output]
    support = np.flatnonzero(coefficients[0])
    return KernelSum(
        outputs=np.zeros(1, dtype=np.intp),
        width=part.width,
        support_vectors=part.support_vectors[support],
        coefficients=np.ascontiguousarray(coefficients[:, support]),
    )


def calibrate(scores: OutOfFoldScores, reduction: Reduction, point: OperatingPoint | None = None) -> Calibration:
    """Fit probabilities that are largest for the predicted class."""
    weight = scores.weight
    if isinstance(reduction, Binary):
        values = scores.scores[:, 0 if point is None else point.machine]
        if point is not None:
            values = values.astype(np.float64) - point.threshold
            weight = weight * np.where(scores.y > 0, _even_odds(values, scores.y, weight), 1.0)
        return fit_binary(values, scores.y, weight, scores.cell, scores.n_cells)
    label = scores.y.astype(np.intp)
    shape = (scores.n_cells, scores.scores.shape[1])
    present = np.bincount(scores.cell * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape) > 0
    known = np.where(present[scores.cell], scores.scores, np.nan)
    return fit_multiclass(known, label, weight, scores.cell, scores.n_cells)


def _even_odds(values: FloatArray, y: NDArray[np.floating], weight: FloatArray) -> float:
    """Return the factor on positive samples that makes both classes equally probable at the threshold, zero."""
    known = np.flatnonzero(~np.isnan(values))
    count = max(_MIN_AT_THRESHOLD, int(_FRACTION_AT_THRESHOLD * len(known)))
    near = known[np.argsort(np.abs(values[known]), kind="stable")[:count]]
    positive, negative = float(weight[near[y[near] > 0]].sum()), float(weight[near[y[near] < 0]].sum())
    return float(np.clip((negative + 1.0) / (positive + 1.0), 1e-3, 1e3))
