"""A fitted estimator without its model, as plain values for a model file.

Enters: parameters, columns, operating points, out-of-fold scores. Leaves: dicts that `pack` takes; and back, checked.
"""

from __future__ import annotations

import numbers
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from localsvm.cell.grid import Grid
from localsvm.data.columns import Category, Columns
from localsvm.decision.decide import Decision, OutOfFoldScores
from localsvm.decision.operating_point import OperatingPoint, RocPoints
from localsvm.errors import InvalidParameter
from localsvm.model.local_model import LocalModel
from localsvm.partition import CoarseCells
from localsvm.storage.fields import Fields
from localsvm.storage.record import pack

if TYPE_CHECKING:
    from localsvm.estimators.base import LocalEstimator

Values = dict[str, Any]


def estimator_values(estimator: LocalEstimator) -> Values:
    """Return a fitted estimator without its model."""
    kind = type(estimator)
    if not kind.__module__.startswith("localsvm."):
        raise InvalidParameter(f"{kind.__name__} is an estimator of your own: a model file cannot hold it. Pickle it.")
    return {
        "name": kind.__name__,
        "parameters": parameter_values(estimator.get_params(deep=False), estimator.model_, estimator._seed),
        "fitted": estimator._fitted_values(),
    }


def storable(name: str, value: Any) -> Any:
    """Return a value that a file can hold; refuse others by their name."""
    try:
        pack(value)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"{name} cannot be stored in a model file: {error}. Numbers, text, lists, dicts and arrays can; to keep "
            "something else, pickle the estimator."
        ) from error
    return value


# ---------------------------------------------------------------------------------------- parameters


def parameter_values(parameters: Values, model: LocalModel, seed: int) -> Values:
    """Return parameters as plain values; `seed` is the one that the fit used.

    A checkpoint belongs to a fit, not to its model. A partition that was given as an object is that of the model;
    coarse cells have become it.
    """
    values = dict(parameters, checkpoint=None)
    if isinstance(values["grid"], Grid):
        values["grid"] = asdict(values["grid"])
    if values["partition"] is model.partition or isinstance(values["partition"], CoarseCells):
        values["partition"] = None
    if not (values["random_state"] is None or isinstance(values["random_state"], numbers.Integral)):
        values["random_state"] = seed
    return {name: storable(f"{name}={parameters[name]!r}", value) for name, value in values.items()}


def read_parameters(fields: Fields, known: list[str], model: LocalModel) -> Values:
    """Return the parameters of plain values."""
    values = fields.table("parameters")
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise fields.refuse(f"it has parameters that this version does not know ({', '.join(unknown)})")
    if isinstance(values.get("grid"), dict):
        try:
            values["grid"] = Grid(**values["grid"])
        except (TypeError, ValueError) as error:
            raise fields.refuse(str(error)) from error
    if values.get("partition", "") is None:
        values["partition"] = model.partition
    return values


# ------------------------------------------------------------------------------------------- columns


def column_values(columns: Columns | None) -> Values | None:
    """Return learned columns as plain values."""
    if columns is None:
        return None
    return {**vars(columns), "categories": [vars(category) for category in columns.categories]}


def read_columns(fields: Fields | None, n_columns: int) -> Columns | None:
    """Return the columns of plain values; the input has `n_columns`."""
    if fields is None:
        return None
    columns = Columns(
        numbers=fields.integers("numbers", n_columns),
        fills=None if fields.is_none("fills") else fields.reals("fills"),
        gappy=fields.integers("gappy", n_columns),
        categories=tuple(_read_category(part, n_columns) for part in fields.parts("categories")),
        category_value=fields.real("category_value"),
        gap_value=fields.real("gap_value"),
    )
    if columns.fills is not None and len(columns.fills) != len(columns.numbers):
        raise fields.refuse(f"it has {len(columns.fills)} medians of {len(columns.numbers)} columns")
    return columns


def _read_category(fields: Fields, n_columns: int) -> Category:
    column = fields.integer("column")
    if column >= n_columns:
        raise fields.refuse(f"it is of column {column} of {n_columns}")
    return Category(column, fields.texts("names"), fields.flag("pooled"), fields.flag("missing"))


# ----------------------------------------------------------------------------------------- decisions

_RATES = ("threshold", "false_alarm", "detection")


def decision_values(decision: Decision | None) -> Values | None:
    """Return an operating point and the front it is on as plain values."""
    if decision is None:
        return None
    point, front = decision.point, decision.front
    return {
        "point": {"machine": int(point.machine), **{name: float(getattr(point, name)) for name in _RATES}},
        "front": {**vars(front), "machine": np.asarray(front.machine, dtype=np.int64)},
    }


def read_decision(fields: Fields | None) -> Decision | None:
    """Return the decision of plain values."""
    if fields is None:
        return None
    point, front = fields.part("point"), fields.part("front")
    machine = front.array("machine", np.int64, None).astype(np.intp, copy=False)
    return Decision(
        OperatingPoint(point.integer("machine"), *(point.real(name) for name in _RATES)),
        RocPoints(machine, *(front.array(name, np.float64, len(machine)) for name in _RATES)),
    )


def out_of_fold_values(scores: OutOfFoldScores | None) -> Values | None:
    """Return out-of-fold scores as plain values, in the types that files have."""
    if scores is None:
        return None
    return {
        **vars(scores),
        "scores": np.asarray(scores.scores, dtype=np.float64),
        "y": np.asarray(scores.y, dtype=np.float64),
        "cell": np.asarray(scores.cell, dtype=np.int64),
    }


def read_out_of_fold(fields: Fields | None, n_machines: int) -> OutOfFoldScores | None:
    """Return the out-of-fold scores of plain values."""
    if fields is None:
        return None
    scores = fields.array("scores", np.float64, None, n_machines)
    cell = fields.array("cell", np.int64, len(scores)).astype(np.intp, copy=False)
    n_cells = fields.integer("n_cells", least=1)
    if len(cell) and not (cell.min() >= 0 and cell.max() < n_cells):
        raise fields.refuse(f"it has samples of cells that are not among its {n_cells}")
    y, weight, count = (fields.array(name, np.float64, len(scores)) for name in ("y", "weight", "count"))
    return OutOfFoldScores(scores, y, weight, count, cell, n_cells)
