"""What left-out samples say of trained cells: where to cut decision values, and how probable the classes are.

Enters: trained cells with their out-of-fold scores. Leaves: an operating point and a calibration. For two classes the
machines are weighted in several ways where that may help (Neyman-Pearson, rates, F1); the best one stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import CellFunctions, KernelSum, OutOfFold, TrainedCell
from localsvm.decision.calibration import Calibration, fit_binary, fit_multiclass
from localsvm.decision.operating_point import LeftOut, OperatingPoint, RocPoints, choose, choose_false_alarm, roc_front
from localsvm.tasks import Binary, Reduction

FloatArray = NDArray[np.float64]
Factors = Callable[[NDArray[np.floating]], FloatArray]

_CONFIDENCE = 0.95  # that false alarms stay within their bound on new samples, too

# The odds at a threshold are those of the samples next to it: a twentieth of all, but no fewer than this.
_SHARE_AT_THRESHOLD, _FEWEST_AT_THRESHOLD = 0.05, 50


@dataclass(frozen=True)
class DecisionPlan:
    """What decisions are for."""

    objective: str = "accuracy"
    false_alarm: float | None = None
    keeps_machines: bool = False
    """Whether machines that were not chosen stay in the model."""

    @property
    def is_plain(self) -> bool:
        """Whether the sign of the decision value decides."""
        return self.objective == "accuracy" and self.false_alarm is None and not self.keeps_machines


@dataclass(frozen=True)
class LeftOutScores:
    """The samples of all cells with their out-of-fold scores, NaN where a sample was never left out.

    There is one for every row of the training data: they are as small as they can be.
    """

    scores: NDArray[np.floating]
    y: NDArray[np.floating]
    """-1 and 1, or the numbers of the classes."""
    weight: FloatArray
    """With the factors of the classes."""
    count: FloatArray
    """The weight without them: how many samples it stands for."""
    cell: NDArray[np.integer]
    n_cells: int

    @classmethod
    def of(cls, parts: Iterable[OutOfFold], factors: Factors | None, averaged: bool, share: float) -> LeftOutScores:
        """Gather the scores of all cells; averaged ones are all one, and where they overlap a sample counts by a share.

        `factors` gives those of the classes, by target; None are ones.
        """
        weights, targets, scores = [], [], []
        for part in parts:  # copies, so that a part that was read from disk leaves the memory
            weights.append(part.weight * share)
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
    """The operating point of two classes, and what it was chosen from."""

    point: OperatingPoint
    front: RocPoints


def decide(left_out: LeftOutScores, plan: DecisionPlan) -> Decision:
    """Choose machine and threshold."""
    samples = LeftOut.of(left_out.scores, left_out.y, left_out.count)
    if plan.false_alarm is not None:
        point = choose_false_alarm(samples, plan.false_alarm, _CONFIDENCE)
    else:
        point = choose(samples, plan.objective)
    # None and all: beyond every value that was seen, but finite.
    seen = samples.values[:, point.machine]
    threshold = float(np.clip(point.threshold, seen.min() - 1.0, seen.max() + 1.0))
    return Decision(replace(point, threshold=threshold), roc_front(samples))


@dataclass(frozen=True)
class Judgement:
    """What left-out samples decide: the learning task with its operating point, probabilities, and why."""

    reduction: Reduction
    calibration: Calibration | None = None
    decision: Decision | None = None
    left_out: LeftOutScores | None = None
    """Kept where machines are, so that another operating point can be chosen."""
    machine: int | None = None
    """The only one that stays of each cell; None: all do."""

    def of_cell(self, cell: TrainedCell) -> TrainedCell:
        """Return what stays of a cell; its out-of-fold scores have served."""
        functions = cell.functions if self.machine is None else _of_machine(cell.functions, self.machine)
        return replace(cell, out_of_fold=None, functions=functions)


def judge(left_out: LeftOutScores, reduction: Reduction, plan: DecisionPlan) -> Judgement:
    """Choose the operating point of classes, and fit probabilities."""
    if plan.is_plain:
        return Judgement(reduction, calibrate(left_out, reduction))
    decision = decide(left_out, plan)
    moved, calibration = at_point(left_out, reduction, decision.point)
    if plan.keeps_machines:
        return Judgement(moved, calibration, decision, left_out)
    machine = decision.point.machine
    chosen = replace(moved, factors=(moved.factors[machine],), machine=0)
    return Judgement(chosen, calibration, decision, machine=machine)


def at_point(left_out: LeftOutScores, reduction: Reduction, point: OperatingPoint) -> tuple[Binary, Calibration]:
    """Return the task of two classes with decision values that are positive from the threshold on.

    Its probabilities agree with them.
    """
    assert isinstance(reduction, Binary)
    calibration = calibrate(left_out, reduction, point)
    return replace(reduction, machine=point.machine, threshold=point.threshold), calibration


def _of_machine(functions: CellFunctions, machine: int) -> CellFunctions:
    one = slice(machine, machine + 1)
    return replace(
        functions,
        constants=functions.constants[one],
        bounds=functions.bounds[one],
        sums=tuple(_of_output(part, machine) for part in functions.sums if machine in part.outputs),
    )


def _of_output(part: KernelSum, output: int) -> KernelSum:
    coefficients = part.coefficients[part.outputs == output]
    support = np.flatnonzero(coefficients[0])
    return KernelSum(
        outputs=np.zeros(1, dtype=np.intp),
        width=part.width,
        support_vectors=part.support_vectors[support],
        coefficients=np.ascontiguousarray(coefficients[:, support]),
    )


def calibrate(left_out: LeftOutScores, reduction: Reduction, point: OperatingPoint | None = None) -> Calibration:
    """Fit probabilities whose largest is that of the predicted class."""
    weight = left_out.weight
    if isinstance(reduction, Binary):
        values = left_out.scores[:, 0 if point is None else point.machine]
        if point is not None:
            values = values.astype(np.float64) - point.threshold
            weight = weight * np.where(left_out.y > 0, _even_odds(values, left_out.y, weight), 1.0)
        return fit_binary(values, left_out.y, weight, left_out.cell, left_out.n_cells)
    label = left_out.y.astype(np.intp)
    shape = (left_out.n_cells, left_out.scores.shape[1])
    present = np.bincount(left_out.cell * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape) > 0
    scores = np.where(present[left_out.cell], left_out.scores, np.nan)
    return fit_multiclass(scores, label, weight, left_out.cell, left_out.n_cells)


def _even_odds(values: FloatArray, y: NDArray[np.floating], weight: FloatArray) -> float:
    """Return the factor on positive samples that makes both classes equally probable at the threshold, zero."""
    known = np.flatnonzero(~np.isnan(values))
    count = max(_FEWEST_AT_THRESHOLD, int(_SHARE_AT_THRESHOLD * len(known)))
    near = known[np.argsort(np.abs(values[known]), kind="stable")[:count]]
    positive, negative = float(weight[near[y[near] > 0]].sum()), float(weight[near[y[near] < 0]].sum())
    return float(np.clip((negative + 1.0) / (positive + 1.0), 1e-3, 1e3))
