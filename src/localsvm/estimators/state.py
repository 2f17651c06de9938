"""The schemas of what a fitted estimator has beside its model: parameters, encoding of columns, operating point.

Enters: these objects. Leaves: dicts that `pack` takes; and back, checked.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from localsvm.cell.grid import Grid
from localsvm.data.columns import Category, Encoding
from localsvm.decision.decide import Decision, OutOfFoldScores
from localsvm.decision.operating_point import OperatingPoint, RocPoints
from localsvm.errors import InvalidParameter
from localsvm.model.local_model import LocalModel
from localsvm.partition import CoarseCells
from localsvm.storage.record import pack
from localsvm.storage.schema import (
    FINITE,
    FRACTION,
    NOT_NEGATIVE,
    ORDERED,
    Fields,
    Values,
    array,
    flag,
    integer,
    items,
    maybe,
    real,
    schema,
    several,
    table,
    text,
)

if TYPE_CHECKING:
    from localsvm.estimators.base import LocalEstimator


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
    values: Values = fields.read("parameters", table())
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

_CATEGORY = schema(
    Category,
    {
        "column": integer(below="n_columns"),
        "names": items(text()),
        "pooled": flag(),
        "missing": flag(),
    },
)


def _wrong_fills(values: Values, _: Mapping[str, int]) -> str | None:
    fills, count = values["fills"], len(values["numbers"])
    return f"it has {len(fills)} medians of {count} columns" if fills is not None and len(fills) != count else None


ENCODING = schema(
    Encoding,
    {
        "numbers": items(integer(below="n_columns")),
        "fills": maybe(items(real(FINITE))),
        "gappy": items(integer(below="n_columns")),
        "categories": several(_CATEGORY),
        "category_value": real(FINITE),
        "gap_value": real(FINITE),
    },
    check=_wrong_fills,
)
"""Axes that the caller knows: n_columns, those of the input."""

# ----------------------------------------------------------------------------------------- decisions

DECISION = schema(
    Decision,
    {
        "point": schema(
            OperatingPoint,
            {
                "machine": integer(),
                "threshold": real(ORDERED),
                "false_alarm": real(FRACTION),
                "detection": real(FRACTION),
            },
        ),
        "front": schema(
            RocPoints,
            {
                "machine": array(np.int64, "n_points", within=NOT_NEGATIVE),
                "threshold": array(np.float64, "n_points", within=ORDERED),
                "false_alarm": array(np.float64, "n_points", within=FRACTION),
                "detection": array(np.float64, "n_points", within=FRACTION),
            },
        ),
    },
)

OUT_OF_FOLD = schema(
    OutOfFoldScores,
    {
        "scores": array(np.float64, "n_samples", "n_machines"),
        "y": array(np.float64, "n_samples", within=FINITE),
        "weight": array(np.float64, "n_samples", within=NOT_NEGATIVE),
        "count": array(np.float64, "n_samples", within=NOT_NEGATIVE),
        "cell": array(np.int64, "n_samples", within=NOT_NEGATIVE),
        "n_cells": integer(least=1),
    },
    check=lambda values, _: (
        None
        if values["cell"].max(initial=0) < values["n_cells"]
        else f"it has samples of cells that are not among its {values['n_cells']}"
    ),
)
"""Axes that the caller knows: n_machines."""
