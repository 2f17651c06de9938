"""The schemas of what a fitted estimator has beside its model: parameters, encoding of columns, operating point.

Enters: these objects. Leaves: dicts that `pack` takes; and back, checked.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.grid import Grid
from localsvm.data.encoding import TRANSFORMS, Encoding
from localsvm.data.encoding.categories import Category
from localsvm.data.encoding.cycles import PARTS, Cycle
from localsvm.data.encoding.numbers import NumberColumns
from localsvm.data.encoding.one_hot import OneHot, OneHotCategory
from localsvm.decision.decide import Decision, OutOfFoldScores
from localsvm.decision.duplicates import Duplicates
from localsvm.decision.operating_point import OperatingPoint, RocPoints
from localsvm.errors import InvalidParameter
from localsvm.model.ensemble import Member
from localsvm.model.local_model import LocalModel
from localsvm.partition import CoarseCells
from localsvm.storage.record import pack
from localsvm.storage.schema import (
    FINITE,
    FRACTION,
    NOT_NEGATIVE,
    ORDERED,
    Fields,
    Schema,
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
    texts,
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
    fields.part("parameters")  # refuses keys that are no text
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


def _wrong_knots(values: Values, _: Mapping[str, int]) -> str | None:
    ends, count, varies = values["ends"], len(values["knots"]), values["varies"]
    if len(ends) not in (0, len(varies)) or (np.diff(ends, prepend=0) < (varies if len(ends) else 0)).any():
        return f"the knots of its {len(varies)} columns are not in order, or a column that varies has none"
    return None if (ends[-1] if len(ends) else 0) == count else f"its knots do not end at {count}"


def _number_columns(ends: NDArray[np.int64], knots: NDArray[np.float64], **arrays: Any) -> NumberColumns:
    return NumberColumns(**arrays, knots=tuple(np.split(knots, ends[:-1])) if len(ends) else ())


_NUMBERS = schema(
    _number_columns,
    {
        "column": array(np.int64, "n_numbers", within=NOT_NEGATIVE, below="n_columns"),
        "fill": array(np.float64, "n_numbers", within=FINITE),
        "varies": array(np.bool_, "n_numbers"),
        "missing": array(np.float64, "n_numbers", within=FRACTION),
        "missing_factor": array(np.float64, "n_numbers", within=NOT_NEGATIVE),
        "spike": array(np.float64, "n_numbers", within=FINITE),
        "spike_share": array(np.float64, "n_numbers", within=FRACTION),
        "spike_factor": array(np.float64, "n_numbers", within=NOT_NEGATIVE),
        "log_scale": array(np.float64, "n_numbers", within=NOT_NEGATIVE),
        "ends": array(np.int64, None),
        "knots": array(np.float64, None, within=FINITE),
    },
    flatten=lambda numbers: {
        **vars(numbers),
        "ends": np.cumsum([len(part) for part in numbers.knots], dtype=np.int64),
        "knots": np.concatenate([np.zeros(0), *numbers.knots]),
    },
    check=_wrong_knots,
)

_CYCLE = schema(
    Cycle,
    {"column": integer(below="n_columns"), "part": text(*PARTS), "factors": items(real(FINITE), least=2)},
    check=lambda values, _: None if len(values["factors"]) == 2 else "it is not a sine and a cosine",
)


def _wrong_levels(values: Values, sizes: Mapping[str, int]) -> str | None:
    if len(values["names"]) + 2 != sizes["n_slots"] or len(set(values["names"])) < len(values["names"]):
        return f"its means are not those of its {len(values['names'])} levels, or a level has two"
    return None if len(values["outputs"]) == sizes["n_means"] else "its means are not those of its targets"


_CATEGORY = schema(
    Category,
    {
        "column": integer(below="n_columns"),
        "names": texts(),
        "n_levels": integer(),
        "means": array(np.float64, "n_slots", "n_means", within=FINITE),
        "outputs": items(integer()),
        "indicated": array(np.int64, "n_indicated", within=NOT_NEGATIVE, below="n_slots"),
        "factor": array(np.float64, "n_indicated", within=FINITE),
        "coarser": maybe(integer(below="n_columns")),
    },
    check=_wrong_levels,
)


def _wrong_columns(values: Values, sizes: Mapping[str, int]) -> str | None:
    kinds: tuple[str, ...] = values["kinds"]
    if len(kinds) != sizes["n_columns"]:
        return f"it has {len(kinds)} columns instead of {sizes['n_columns']}"
    parts = {
        ("number", "date"): values["numbers"].column.tolist(),
        ("date",): [cycle.column for cycle in values["cycles"]],
        ("category",): [category.column for category in values["categories"]],
    }
    wrong = [column for due, columns in parts.items() for column in columns if kinds[column] not in due]
    return f"it takes its column {wrong[0]}, a {kinds[wrong[0]]}, for something else" if wrong else None


_ENCODING = schema(
    Encoding,
    {
        "kinds": items(text("number", "category", "date", "empty")),
        "numbers": _NUMBERS,
        "cycles": several(_CYCLE),
        "categories": several(_CATEGORY),
        "imputes": flag(),
    },
    check=_wrong_columns,
)


def _wrong_one_hot(values: Values, _: Mapping[str, int]) -> str | None:
    fills, columns = values["fills"], values["numbers"]
    if fills is not None and len(fills) != len(columns):
        return f"it has {len(fills)} medians of {len(columns)} columns"
    both = {*columns} & {category.column for category in values["categories"]}
    return f"its column {min(both)} has numbers and categories" if both else None


# Until target means, files had an indicator for each of the most frequent levels, one for all others, and one for
# missing values: the same columns as those of an encoding without means.
_ONE_HOT = schema(
    OneHot,
    {
        "numbers": items(integer(below="n_columns")),
        "fills": maybe(items(real(FINITE))),
        "gappy": items(integer(below="n_columns")),
        "categories": several(
            schema(
                OneHotCategory,
                {
                    "column": integer(below="n_columns"),
                    "names": items(text()),
                    "pooled": flag(),
                    "missing": flag(),
                },
            )
        ),
        "category_value": real(FINITE),
        "gap_value": real(FINITE),
    },
    check=_wrong_one_hot,
)


def _make_encoding(fields: Fields) -> Encoding:
    if fields.has("kinds"):
        return _ENCODING.make(fields)
    return _ONE_HOT.make(fields).encoding(fields.sizes["n_columns"])


ENCODING = Schema(_ENCODING.write, _make_encoding)
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


DUPLICATES = schema(
    Duplicates,
    {
        "strength": real(NOT_NEGATIVE),
        "seed": integer(most=np.inf),
        "hashes": array(np.uint64, "n_rows"),
        "weight": array(np.float64, "n_rows", within=NOT_NEGATIVE),
        "totals": array(np.float64, "n_rows", "n_outputs", within=FINITE),
    },
    check=lambda values, _: (
        None
        if len(values["hashes"]) and values["strength"] > 0 and (values["hashes"][1:] > values["hashes"][:-1]).all()
        else "its duplicates are not in order"
    ),
)
"""Axes that the caller knows: n_outputs."""


@dataclass(frozen=True)
class MemberValues:
    """What a member of an ensemble has beside its model."""

    weight: float
    numbers: str
    levels: bool

    @classmethod
    def of(cls, member: Member) -> MemberValues:
        """Return those of a member; without an encoding its columns are as given."""
        view = member.view
        return cls(member.weight, "plain", True) if view is None else cls(member.weight, view.numbers, view.levels)


MEMBER = schema(MemberValues, {"weight": real(FRACTION), "numbers": text(*TRANSFORMS), "levels": flag()})
