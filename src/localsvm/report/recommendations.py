"""What to know about a fitted model, and what to do about it, in plain sentences.

Enters: a fitted estimator, perhaps an evaluation. Leaves: `Advice`, warnings before notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from localsvm.cell.grid import Grid
from localsvm.cell.settings import CellSettings
from localsvm.data.scaling import QuantileScaling
from localsvm.estimators.warn import edge_sentences, precision_sentences
from localsvm.evaluation.result import Evaluation
from localsvm.model.local_model import LocalModel
from localsvm.partition.chunks import ChunkPartition
from localsvm.report.style import percent
from localsvm.report.support import sample_support

_TINY_CELL = 40  # rows: fewer make cross-validation a lottery
_FEW_CELLS = 0.02  # share of the rows below which odd cells are not worth a word
_RARE_CLASS = 0.1  # share of the cells that know a class
_MANY_SUPPORT = 0.9  # share of the rows
_LARGE_CALIBRATION_ERROR = 0.05
_MOST_CLASSES = 5  # named in a sentence
_SAMPLE = 500  # support vectors that tell the scaling


@dataclass(frozen=True)
class Advice:
    """A sentence or two under a heading."""

    title: str
    text: str
    is_warning: bool = False


def advise(estimator: Any, evaluation: Evaluation | None) -> list[Advice]:
    """Return all that is worth knowing, warnings first."""
    found = [advice for find in _ABOUT_THE_MODEL for advice in find(estimator)]
    if evaluation is not None:
        found += [advice for judge in _ABOUT_THE_TEST for advice in judge(estimator, evaluation)]
    return sorted(found, key=lambda advice: not advice.is_warning)


def _edges(estimator: Any) -> Iterator[Advice]:
    for sentence in edge_sentences(estimator.model_.cells, _settings(estimator)):
        yield Advice(
            "The best choice may lie outside the grid", f"{sentence} Then fit again and compare the risks.", True
        )


def _precision(estimator: Any) -> Iterator[Advice]:
    for sentence in precision_sentences(estimator.model_.cells, _settings(estimator)):
        yield Advice("Some solves stopped early", sentence, True)


def _settings(estimator: Any) -> CellSettings:
    """Return what the advice on grids depends on."""
    model: LocalModel = estimator.model_
    kernel = model.cells[0].functions.kernel
    return CellSettings(reduction=model.reduction, kernel=kernel, grid=Grid.of(estimator.grid))


def _single_class(estimator: Any) -> Iterator[Advice]:
    cells = estimator.model_.cells
    constant = [cell.n_samples for cell in cells if len(cell.width) == 0 and cell.n_samples]
    share = sum(constant) / max(sum(cell.n_samples for cell in cells), 1)
    if share < _FEW_CELLS:
        return
    what = "class" if estimator.model_.reduction.is_classification else "target value"
    yield Advice(
        f"Cells of a single {what}",
        f"In {len(constant):,} of {len(cells):,} cells, with {percent(share)} of the training rows, all rows have the "
        f"same {what}, and the cell always predicts it. That costs nothing to train. If such regions should be mixed, "
        "make cells larger with cell_size.",
    )


def _tiny_cells(estimator: Any) -> Iterator[Advice]:
    cells = estimator.model_.cells
    tiny = sum(0 < cell.n_samples < _TINY_CELL for cell in cells)
    if tiny and len(cells) > 1:
        yield Advice(
            "Tiny cells",
            f"{tiny:,} of {len(cells):,} cells have fewer than {_TINY_CELL} distinct training rows: their "
            "cross-validated risks are rough. Larger cells (cell_size) or fewer outliers (scaling='quantile') help.",
            is_warning=tiny > len(cells) / 4,
        )


def _empty_cells(estimator: Any) -> Iterator[Advice]:
    cells = estimator.model_.cells
    empty = sum(cell.n_samples == 0 for cell in cells)
    if empty:
        yield Advice(
            "Cells without rows",
            f"{empty:,} of {len(cells):,} cells had no training rows: they predict what is best for all rows.",
        )


def _missing_classes(estimator: Any) -> Iterator[Advice]:
    calibration = estimator.model_.calibration
    if calibration is None or len(estimator.classes_) == 2:
        return
    present = calibration.present.mean(axis=0)
    rare = [f"{estimator.classes_[c]} ({percent(present[c])})" for c in np.argsort(present) if present[c] < _RARE_CLASS]
    if rare and len(calibration.present) > 1:
        more = f" and {len(rare) - _MOST_CLASSES} more" if len(rare) > _MOST_CLASSES else ""
        yield Advice(
            "Classes that few cells know",
            f"These classes have training rows in less than {percent(_RARE_CLASS)} of the cells: "
            f"{', '.join(rare[:_MOST_CLASSES])}{more}. A cell never predicts a class that it has not seen. If rows of "
            "these classes are missed, try larger cells (cell_size).",
        )


def _support(estimator: Any) -> Iterator[Advice]:
    cells = estimator.model_.cells
    support, rows = sum(cell.n_support for cell in cells), sum(cell.n_samples for cell in cells)
    if estimator.model_.reduction.is_classification and support > _MANY_SUPPORT * rows:
        yield Advice(
            "Most rows are support vectors",
            f"{percent(support / rows)} of the training rows are support vectors. The classes overlap much or the "
            "features say little; prediction takes as long as it can.",
        )


def _scaling(estimator: Any) -> Iterator[Advice]:
    if estimator.scaling == "auto":
        yield Advice(
            "Scaling",
            f"{scaling_name(estimator)} scaling was chosen by a comparison on a sample of the training rows. "
            "It is part of the model: give rows to predict in their own units.",
        )


def _chunks(estimator: Any) -> Iterator[Advice]:
    if isinstance(estimator.model_.partition, ChunkPartition):
        yield Advice(
            "Random chunks",
            "All cells predict every row and their mean counts, so cells have no place of their own, and an "
            "evaluation does not tell them apart.",
        )


def scaling_name(estimator: Any) -> str:
    """Return the scaling in use; of an automatic choice, by what it did to the rows."""
    if estimator.scaling != "auto":
        return {None: "No", "minmax": "Min-max", "standard": "Standard", "quantile": "Quantile"}[estimator.scaling]
    model: LocalModel = estimator.model_
    if isinstance(model.scaling, QuantileScaling):
        return "Quantile"
    # Min-max leaves nothing below zero; a standard scaling puts about half of the values there.
    seen = np.concatenate([model.partition.centers, sample_support(model, _SAMPLE)])
    return "Standard" if seen.min(initial=0.0) < -1e-6 else "Min-max"


def _worse_than_promised(estimator: Any, evaluation: Evaluation) -> Iterator[Advice]:
    headline = evaluation.headline
    if evaluation.task != "classes" or headline.low is None:
        return
    risk = cv_risk(estimator.model_)
    # The risk of the chosen point is a little too good; a fifth above it is more than that.
    if headline.low > 1.2 * risk:
        yield Advice(
            "Worse than cross-validation promised",
            f"The test error is {percent(headline.value, 2)}, and cross-validation promised {percent(risk, 2)}: more "
            "than chance explains. Are the test rows from another time or place, or were rows of the same object in "
            "several folds?",
            True,
        )


def _unknown_labels(_: Any, evaluation: Evaluation) -> Iterator[Advice]:
    confusion = evaluation.confusion
    if confusion is not None and confusion.n_unknown:
        named = ", ".join(str(label) for label in confusion.unknown_labels[:_MOST_CLASSES])
        yield Advice(
            "Labels that the model does not know",
            f"{confusion.n_unknown:,} of {evaluation.n_rows:,} test rows have labels that were not in the training "
            f"data (like {named}). Each counts as an error.",
            True,
        )


def _calibration(_: Any, evaluation: Evaluation) -> Iterator[Advice]:
    error = evaluation.measure("calibration_error")
    if error is not None and error.value > _LARGE_CALIBRATION_ERROR:
        yield Advice(
            "Probabilities are off",
            f"On test rows predicted probabilities and observed shares differ by {percent(error.value, 1)} on average. "
            "With class_weight, objective or false_alarm that is meant; otherwise do not take them at their word.",
            True,
        )


def _quantile_shares(_: Any, evaluation: Evaluation) -> Iterator[Advice]:
    off = [bin for bin in evaluation.reliability if not bin.low <= bin.predicted <= bin.high]
    if evaluation.task == "quantiles" and off:
        seen = ", ".join(f"{percent(bin.observed, 1)} at level {bin.predicted:g}" for bin in off[:_MOST_CLASSES])
        yield Advice(
            "Quantiles miss their level",
            f"The share of test targets at most the prediction differs from the level by more than chance: {seen}.",
        )


def cv_risk(model: LocalModel) -> float:
    """Return the cross-validated risk of all cells together, by their rows; NaN where none was validated."""
    known = [(cell.risk, cell.n_samples) for cell in model.cells if np.isfinite(cell.risk) and cell.n_samples]
    return sum(risk * rows for risk, rows in known) / sum(rows for _, rows in known) if known else np.nan


_ABOUT_THE_MODEL: tuple[Callable[[Any], Iterator[Advice]], ...] = (
    _edges,
    _precision,
    _tiny_cells,
    _empty_cells,
    _single_class,
    _missing_classes,
    _support,
    _chunks,
    _scaling,
)
_ABOUT_THE_TEST: tuple[Callable[[Any, Evaluation], Iterator[Advice]], ...] = (
    _unknown_labels,
    _worse_than_promised,
    _calibration,
    _quantile_shares,
)
