"""Recommendations of a report: possible problems of a fitted model, and what to do about them.

Enters: a fitted estimator, optionally an evaluation. Leaves: a list of `Recommendation`, warnings before notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from localsvm.cell.settings import CellSettings
from localsvm.estimators.effort import choose_grid
from localsvm.estimators.warn import GridChoice, edge_sentences, grid_choices, precision_sentences
from localsvm.evaluation.result import Evaluation
from localsvm.model.local_model import LocalModel
from localsvm.partition.chunks import ChunkPartition
from localsvm.report.style import percent
from localsvm.tasks import Binary, Probabilities
from localsvm.tasks.losses import Hinge

_SMALL_CELL = 40  # rows; cross-validation on fewer is unreliable
_FEW_ROWS = 0.02  # fraction of the rows below which cells of a single class are not mentioned
_RARE_CLASS = 0.1  # fraction of the cells in which a class occurs
_MANY_SUPPORT = 0.9  # fraction of the rows
_LARGE_CALIBRATION_ERROR = 0.05
_PROMISED = {"error": "error", "log_loss": "log-loss", "rmse": "RMSE"}
_NO_LOSS = 0.05  # by so much, relatively, a test may be worse before it is mentioned
_MOST_CLASSES = 5  # named in a sentence


@dataclass(frozen=True)
class Recommendation:
    """A heading with one or two sentences."""

    title: str
    text: str
    is_warning: bool = False


def recommend(estimator: Any, evaluation: Evaluation | None) -> list[Recommendation]:
    """Return all recommendations, warnings first."""
    found = [item for check in _MODEL_CHECKS for item in check(estimator)]
    if evaluation is not None:
        found += [item for check in _TEST_CHECKS for item in check(estimator, evaluation)]
    return sorted(found, key=lambda item: not item.is_warning)


def _edges(estimator: Any) -> Iterator[Recommendation]:
    for sentence in edge_sentences(_choices(estimator), _settings(estimator)):
        yield Recommendation(
            "Hyper-parameters at the edge of the grid", f"{sentence} Then fit again and compare the risks.", True
        )


def _precision(estimator: Any) -> Iterator[Recommendation]:
    for sentence in precision_sentences(_choices(estimator), _settings(estimator)):
        yield Recommendation("Some solves did not converge", sentence, True)


def _choices(estimator: Any) -> list[GridChoice]:
    return grid_choices(chain.from_iterable(member.model.cells for member in estimator.members_))


def _settings(estimator: Any) -> CellSettings:
    """Return the settings that the sentences about grids need."""
    model: LocalModel = estimator.model_
    kernel = model.cells[0].functions.kernel
    return CellSettings(reduction=model.reduction, kernel=kernel, grid=choose_grid(estimator, model.reduction))


def _single_class(estimator: Any) -> Iterator[Recommendation]:
    cells = estimator.model_.cells
    constant = [cell.n_samples for cell in cells if len(cell.width) == 0 and cell.n_samples]
    fraction = sum(constant) / max(sum(cell.n_samples for cell in cells), 1)
    if fraction < _FEW_ROWS:
        return
    what = "class" if estimator.model_.reduction.is_classification else "target value"
    yield Recommendation(
        f"Cells with a single {what}",
        f"{len(constant):,} of {len(cells):,} cells, with {percent(fraction)} of the training rows, contain a single "
        f"{what} and always predict it. They cost no training time. If such regions are expected to be mixed, increase "
        "cell_size.",
    )


def _small_cells(estimator: Any) -> Iterator[Recommendation]:
    cells = estimator.model_.cells
    small = sum(0 < cell.n_samples < _SMALL_CELL for cell in cells)
    if small and len(cells) > 1:
        yield Recommendation(
            "Very small cells",
            f"{small:,} of {len(cells):,} cells have fewer than {_SMALL_CELL} distinct training rows, so their "
            "cross-validated risks are unreliable. Increase cell_size, or try scaling='quantile' against outliers.",
            is_warning=small > len(cells) / 4,
        )


def _empty_cells(estimator: Any) -> Iterator[Recommendation]:
    cells = estimator.model_.cells
    empty = sum(cell.n_samples == 0 for cell in cells)
    if empty:
        yield Recommendation(
            "Empty cells",
            f"{empty:,} of {len(cells):,} cells have no training rows; they predict the best constant for all rows.",
        )


def _missing_classes(estimator: Any) -> Iterator[Recommendation]:
    calibration = estimator.model_.calibration
    if calibration is None or len(estimator.classes_) == 2:
        return
    present = calibration.present.mean(axis=0)
    rare = [f"{estimator.classes_[c]} ({percent(present[c])})" for c in np.argsort(present) if present[c] < _RARE_CLASS]
    if rare and len(calibration.present) > 1:
        more = f" and {len(rare) - _MOST_CLASSES} more" if len(rare) > _MOST_CLASSES else ""
        yield Recommendation(
            "Classes that occur in few cells",
            f"These classes have training rows in less than {percent(_RARE_CLASS)} of the cells: "
            f"{', '.join(rare[:_MOST_CLASSES])}{more}. A cell never predicts a class without training rows in it. If "
            "the recall of these classes is too low, increase cell_size.",
        )


def _support(estimator: Any) -> Iterator[Recommendation]:
    cells = estimator.model_.cells
    support, rows = sum(cell.n_support for cell in cells), sum(cell.n_samples for cell in cells)
    reduction = estimator.model_.reduction
    one_problem = isinstance(reduction, Binary) and isinstance(reduction.loss, Hinge)  # others have no sparse solutions
    if one_problem and _MANY_SUPPORT * rows < support <= rows:
        yield Recommendation(
            "Most rows are support vectors",
            f"{percent(support / rows)} of the training rows are support vectors: the classes overlap strongly, or the "
            "features carry little information. Prediction time grows with the number of support vectors.",
        )


def _scaling(estimator: Any) -> Iterator[Recommendation]:
    if estimator.scaling == "auto":
        yield Recommendation(
            "Scaling",
            f"{scaling_name(estimator)} scaling was selected on a sample of the training rows. It is part of the "
            "model: pass rows to predict in their original units.",
        )


def _chunks(estimator: Any) -> Iterator[Recommendation]:
    if isinstance(estimator.model_.partition, ChunkPartition):
        yield Recommendation(
            "Random chunks",
            "Every cell predicts every row and the predictions are averaged, so cells have no location, and test "
            "results are not broken down by cell.",
        )


def scaling_name(estimator: Any) -> str:
    """Return the name of the scaling."""
    found = estimator.scaling_ if isinstance(estimator.scaling_, str) else estimator.scaling_[0]
    return {"none": "No", "minmax": "Min-max", "standard": "Standard", "quantile": "Quantile"}.get(found, "An affine")


def _worse_than_validation(estimator: Any, evaluation: Evaluation) -> Iterator[Recommendation]:
    for name, title in _PROMISED.items():
        measure, promised = evaluation.measure(name), _promised(estimator, name)
        if measure is None or measure.high is None or promised is None:
            continue
        # Both are estimates: their difference has the errors of both, the second about that of as many training rows.
        rows = sum(cell.n_samples for cell in estimator.model_.cells)
        error = (measure.high - measure.value) * float(np.sqrt(1 + evaluation.n_rows / max(rows, 1)))
        if measure.value - promised > max(error, _NO_LOSS * promised):
            shown = partial(percent, digits=2) if name == "error" else "{:,.4g}".format
            yield Recommendation(
                f"Test {title} above the cross-validated {title}",
                f"The test {title} is {shown(measure.value)}, the cross-validated {title} {shown(promised)}; chance "
                "does not explain the difference. Possible causes: the test rows come from a different distribution, "
                "related rows (such as several of one patient) were in different folds, or a column numbers the rows.",
                True,
            )
            return


def _promised(estimator: Any, name: str) -> float | None:
    """Return a measure of the out-of-fold predictions; of models that do not have it, the risk of the cells."""
    measures = getattr(estimator, "_cv", {})
    if name == "error" and "accuracy" in measures:
        return float(1 - measures["accuracy"])
    if name in measures:
        return float(measures[name])
    reduction = estimator.model_.reduction
    plain = reduction.is_classification and not isinstance(reduction, Probabilities)
    return cv_risk(estimator.model_) if name == "error" and plain and not measures else None


def _unknown_labels(_: Any, evaluation: Evaluation) -> Iterator[Recommendation]:
    confusion = evaluation.confusion
    if confusion is not None and confusion.n_unknown:
        named = ", ".join(str(label) for label in confusion.unknown_labels[:_MOST_CLASSES])
        yield Recommendation(
            "Unknown labels",
            f"{confusion.n_unknown:,} of {evaluation.n_rows:,} test rows have labels that do not occur in the training "
            f"data (such as {named}). Each of these rows counts as an error.",
            True,
        )


def _calibration(_: Any, evaluation: Evaluation) -> Iterator[Recommendation]:
    error = evaluation.measure("calibration_error")
    if error is not None and error.value > _LARGE_CALIBRATION_ERROR:
        yield Recommendation(
            "Poorly calibrated probabilities",
            f"Predicted probabilities and observed frequencies differ by {percent(error.value, 1)} on average on the "
            "test rows. This is expected with class_weight, objective or false_alarm; otherwise do not rely on them.",
            True,
        )


def _quantile_coverage(_: Any, evaluation: Evaluation) -> Iterator[Recommendation]:
    off = [bin for bin in evaluation.reliability if not bin.low <= bin.predicted <= bin.high]
    if evaluation.task == "quantiles" and off:
        seen = ", ".join(f"{percent(bin.observed, 1)} at level {bin.predicted:g}" for bin in off[:_MOST_CLASSES])
        yield Recommendation(
            "Quantiles off their level",
            "The fraction of test targets at or below the prediction differs from the level by more than chance: "
            f"{seen}.",
        )


def cv_risk(model: LocalModel) -> float:
    """Return the mean cross-validated risk of the cells, weighted by their rows; NaN if no cell has one."""
    known = [(cell.risk, cell.n_samples) for cell in model.cells if np.isfinite(cell.risk) and cell.n_samples]
    return sum(risk * rows for risk, rows in known) / sum(rows for _, rows in known) if known else np.nan


_MODEL_CHECKS: tuple[Callable[[Any], Iterator[Recommendation]], ...] = (
    _edges,
    _precision,
    _small_cells,
    _empty_cells,
    _single_class,
    _missing_classes,
    _support,
    _chunks,
    _scaling,
)
_TEST_CHECKS: tuple[Callable[[Any, Evaluation], Iterator[Recommendation]], ...] = (
    _unknown_labels,
    _worse_than_validation,
    _calibration,
    _quantile_coverage,
)
