"""Numbers of a report as text: tiles, tables, bars.

Enters: a fitted estimator, optionally an evaluation. Leaves: plain dataclasses that the template renders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localsvm.data.types import FloatArray
from localsvm.evaluation.cells import WORST_CELLS, worst_cells
from localsvm.evaluation.places import Places
from localsvm.evaluation.result import Confusion, Evaluation, Measure
from localsvm.model.local_model import LocalModel
from localsvm.report.cells import cell_quantities
from localsvm.report.recommendations import cv_risk, scaling_name
from localsvm.report.style import percent, short
from localsvm.tasks import Probabilities

MOST_CELLS = 300
"""Most rows of the table of all cells."""

MOST_FEATURES = 300
"""Most rows of the table of features."""

MOST_CLASSES = 12
"""With more classes, the confusion matrix becomes a list."""

_MOST_CONFUSIONS = 30

_NONE = "\N{EN DASH}"
_LOCATION = "distinguishing features"

_PERCENTAGES = (
    "error",
    "accuracy",
    "balanced_accuracy",
    "recall",
    "calibration_error",
    "tpr",
    "tnr",
    "tpr_tnr",
    "f1",
    "precision",
    "share_below",
)

_PHASES = {
    "scaling": "scaling",
    "relevance": "relevance",
    "partition": "partition",
    "kernel": "kernel matrices",
    "solver": "solver",
    "validation": "validation",
    "selection": "selection",
    "calibration": "calibration",
}
_IN_THREADS = ("kernel", "solver", "validation", "selection")


@dataclass(frozen=True)
class Tile:
    """A headline number."""

    label: str
    value: str
    hint: str = ""


@dataclass(frozen=True)
class Entry:
    """A field of a table: its text, and the number to sort by."""

    text: str
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """A sortable table; columns are numbers unless listed in `texts`."""

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Entry, ...]]
    texts: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar with its label; `share` is its length relative to the longest."""

    label: str
    value: str
    share: float


def tiles(estimator: Any, evaluation: Evaluation | None) -> list[Tile]:
    """Return the headline numbers."""
    model: LocalModel = estimator.model_
    rows = sum(cell.n_samples for cell in model.cells)
    support = sum(cell.n_support for member in estimator.members_ for cell in member.model.cells)
    sizes = [cell.n_samples for cell in model.cells]
    n_members = len(estimator.members_)
    found = [_headline(evaluation)] if evaluation is not None else []
    members = f", first of {n_members} models" if n_members > 1 else ""
    return [
        *found,
        _cross_validated(estimator),
        Tile("Training rows", f"{rows:,}", "duplicates counted once"),
        Tile("Features", f"{estimator.n_features_in_:,}", _encoded(estimator)),
        Tile("Cells", f"{len(sizes):,}", f"{min(sizes):,} to {max(sizes):,} rows each{members}"),
        Tile("Kernel, scaling", _both(estimator.kernel_), _both(estimator.scaling_)),
        Tile("Support vectors", f"{support:,}", _per_row(support, rows)),
        Tile("Training time", _seconds(estimator.timings_["total"]), "wall clock"),
    ]


def _cross_validated(estimator: Any) -> Tile:
    """Return the cross-validated counterpart of the headline: of all members together, if it is known."""
    model: LocalModel = estimator.model_
    measures = getattr(estimator, "_cv", {})
    if model.reduction.is_classification and "accuracy" in measures:
        loss = f"log-loss {measures['log_loss']:.4g}, " if "log_loss" in measures else ""
        return Tile("Cross-validated error", percent(1 - measures["accuracy"], 2), f"{loss}out of fold")
    if "rmse" in measures:
        return Tile("Cross-validated RMSE", f"{measures['rmse']:,.4g}", f"R2 {measures['r2']:.4g}, out of fold")
    risk = _number(shown_risk(model, cv_risk(model)), as_percent=_in_percent(model))
    return Tile(f"Cross-validated {risk_name(model)}", risk, "mean weighted by rows")


def _both(values: str | tuple[str, ...]) -> str:
    return values if isinstance(values, str) else ", ".join(dict.fromkeys(values))


def _per_row(support: int, rows: int) -> str:
    """Return the number of support vectors for a row; a row may be one in several problems, folds and members."""
    if not rows:
        return ""
    return f"{percent(support / rows)} of the rows" if support <= rows else f"{support / rows:.1f} per row"


def _headline(evaluation: Evaluation) -> Tile:
    measure = evaluation.headline
    return Tile(f"{measure.title}, test rows", _value(measure), f"{_interval(measure)}, {evaluation.n_rows:,} rows")


def _encoded(estimator: Any) -> str:
    return "" if estimator.columns_ is None else f"{estimator.model_.n_features:,} columns after encoding"


def risk_name(model: LocalModel) -> str:
    """Return the name of the risk that cross-validation minimizes."""
    if _in_percent(model):
        return "error"
    return {
        "logistic": "log-loss",
        "squared": "RMSE",
        "pinball": "pinball loss",
        "expectile": "expectile loss",
    }.get(model.reduction.loss.name, "loss")


def shown_risk(model: LocalModel, risk: float) -> float:
    """Return a risk in the units that it is shown in: of a squared loss the root, in those of the target."""
    is_squared = not model.reduction.is_classification and model.reduction.loss.name == "squared"
    return math.sqrt(risk) if is_squared and risk >= 0 else risk


def _in_percent(model: LocalModel) -> bool:
    return model.reduction.is_classification and not isinstance(model.reduction, Probabilities)


def measures(evaluation: Evaluation) -> Table:
    """Return all measures with their intervals."""
    rows = [
        (Entry(measure.title), Entry(_value(measure), measure.value), Entry(_interval(measure), measure.low))
        for measure in evaluation.measures
    ]
    columns = ("measure", "value", "95 % interval")
    return Table(f"Measures on {evaluation.n_rows:,} test rows", columns, rows, texts=("measure",))


def worst(estimator: Any, evaluation: Evaluation | None) -> Table:
    """Return the cells with the highest test loss, or cross-validated risk if there is no evaluation."""
    if evaluation is not None and evaluation.worst_cells:
        numbers = [cell.cell for cell in evaluation.worst_cells]
    else:
        quantities = cell_quantities(estimator.model_.cells)
        numbers = worst_cells(quantities["risk"], quantities["size"].astype(np.intp))[:WORST_CELLS].tolist()
    places = Places(estimator)
    table = _cells(estimator, evaluation, numbers, "Cells with the highest loss, worst first")
    rows = [
        (*row, Entry(", ".join(short(phrase, 48) for phrase in places.of(number)) or _NONE))
        for row, number in zip(table.rows, numbers, strict=True)
    ]
    note = (
        "For the ranking, losses are shrunk towards the mean by 20 rows, so that cells with few rows do not dominate."
    )
    return Table(table.caption, (*table.columns, _LOCATION), rows, texts=(_LOCATION,), note=note)


def all_cells(estimator: Any, evaluation: Evaluation | None) -> Table:
    """Return all cells, or those with the highest loss if there are too many."""
    cells = estimator.model_.cells
    tested = evaluation is not None and evaluation.cells is not None
    loss = evaluation.cells.loss if tested else [cell.risk for cell in cells]  # type: ignore[union-attr]
    key = np.nan_to_num(np.array(loss, dtype=np.float64), nan=-np.inf)
    numbers = np.sort(np.argsort(-key, kind="stable")[:MOST_CELLS]).tolist()
    hidden = len(cells) - len(numbers)
    note = f"{hidden:,} cells are not shown: those with the lowest {'test loss' if tested else 'risk'}."
    caption = f"{len(numbers):,} of {len(cells):,} cells"
    return _cells(estimator, evaluation, numbers, caption, note if hidden else "")


def _cells(
    estimator: Any, evaluation: Evaluation | None, numbers: Sequence[int], caption: str, note: str = ""
) -> Table:
    model: LocalModel = estimator.model_
    quantities = cell_quantities(model.cells)
    name, as_percent = risk_name(model), _in_percent(model)
    tested = evaluation.cells if evaluation is not None else None
    rows = []
    for number in numbers:
        size, radius, width, lam, support, risk = (float(values[number]) for values in quantities.values())
        row = [_count(number), _count(size), _entry(shown_risk(model, risk), as_percent=as_percent)]
        if tested is not None:
            loss = math.nan if tested.loss[number] is None else shown_risk(model, float(tested.loss[number] or 0.0))
            row += [_count(tested.n_rows[number]), _entry(loss, as_percent=model.reduction.is_classification)]
        rows.append((*row, _entry(radius), _entry(width), _entry(lam), _count(support)))
    # Of probabilities, a row's loss on test data is whether the class is wrong.
    test = (
        ("test rows", "test error" if model.reduction.is_classification else f"test {name}")
        if tested is not None
        else ()
    )
    columns = ("cell", "rows", f"CV {name}", *test, "radius", "width", "lambda", "support vectors")
    return Table(caption, columns, rows, note=note)


def settings(estimator: Any) -> list[tuple[str, str, bool]]:
    """Return the parameters: name, value, and whether it differs from the default."""
    defaults = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    shown = {name: short(repr(value), 90) for name, value in given.items()}
    if estimator.scaling == "auto":
        shown["scaling"] += f" (selected {scaling_name(estimator).lower()})"
    return [(name, shown[name], repr(given[name]) != repr(defaults[name])) for name in sorted(given)]


def timings(estimator: Any) -> list[Bar]:
    """Return the seconds of each phase, as bars."""
    known = [phase for phase in _PHASES if phase in estimator.timings_]  # files of earlier versions have fewer
    phases = [phase for phase in known if phase != "calibration" or _in_percent(estimator.model_)]
    seconds = {phase: estimator.timings_[phase] for phase in phases}
    longest = max(seconds.values(), default=0.0) or 1.0
    return [
        Bar(_PHASES[phase] + (" *" if phase in _IN_THREADS else ""), _seconds(value), value / longest)
        for phase, value in seconds.items()
    ]


def confusions(confusion: Confusion) -> Table:
    """Return the most frequent confusions."""
    counts = np.array(confusion.counts)
    totals = counts.sum(axis=1)
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_MOST_CONFUSIONS]
    pairs = [(int(true), int(taken)) for true, taken in zip(*np.unravel_index(order, counts.shape), strict=True)]
    names = [short(str(label), 40) for label in confusion.labels]
    rows = [
        (
            Entry(names[true]),
            Entry(names[taken]),
            Entry(f"{counts[true, taken]:,.10g}", float(counts[true, taken])),
            _entry(float(counts[true, taken] / totals[true]), as_percent=True),
        )
        for true, taken in pairs
        if counts[true, taken] > 0
    ]
    columns = ("true class", "predicted class", "rows", "% of the class")
    caption = f"Most frequent confusions of {len(names)} classes"
    return Table(caption, columns, rows, texts=columns[:2])


def features(names: Sequence[str], relevance: FloatArray) -> Table:
    """Return the features in descending order of relevance."""
    order = np.argsort(-relevance, kind="stable")[:MOST_FEATURES]
    rows = [(Entry(short(names[j], 40)), _entry(float(relevance[j]))) for j in order]
    note = f"The {len(rows)} most relevant of {len(names):,} features." if len(rows) < len(names) else ""
    return Table("Features by relevance (mean 1)", ("feature", "relevance"), rows, texts=("feature",), note=note)


def encoding(estimator: Any) -> Table:
    """Return what became of each feature."""
    records = estimator.encoding_
    rows = [
        (
            Entry(short(record["name"], 40)),
            Entry(record["type"]),
            Entry(short(record["encoding"], 120)),
            _count(record["columns"]),
        )
        for record in records[:MOST_FEATURES]
    ]
    note = f"The first {len(rows)} of {len(records):,} features." if len(rows) < len(records) else ""
    columns = ("feature", "type", "encoding", "columns")
    return Table("Features and their columns in the model", columns, rows, texts=columns[:3], note=note)


def _value(measure: Measure) -> str:
    return _number(measure.value, as_percent=measure.name in _PERCENTAGES)


def _interval(measure: Measure) -> str:
    if measure.low is None or measure.high is None:
        return _NONE
    as_percent = measure.name in _PERCENTAGES
    return f"{_number(measure.low, as_percent=as_percent)} to {_number(measure.high, as_percent=as_percent)}"


def _number(value: float, *, as_percent: bool = False) -> str:
    if not math.isfinite(value):
        return _NONE
    return percent(value, 2) if as_percent else f"{value:,.4g}"


def _entry(value: float, *, as_percent: bool = False) -> Entry:
    return Entry(_number(value, as_percent=as_percent), value if math.isfinite(value) else None)


def _count(value: float) -> Entry:
    return Entry(f"{value:,.0f}", value)


def _seconds(value: float) -> str:
    if value < 120:
        return f"{value:.3g} s"
    return f"{value / 60:.3g} min" if value < 7200 else f"{value / 3600:.3g} h"
