"""From the features that are given to the columns of a model.

Enters: the inputs of a graph: a matrix of numbers, or a column for every feature where some are categories or dates.
Leaves: the columns of a view of the encoding, in double precision, and for every row 0, or NaN where it cannot be
predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from localsvm.data.encoding import Encoding, View
from localsvm.data.encoding.categories import Category
from localsvm.data.encoding.cycles import PARTS, Cycle
from localsvm.data.encoding.numbers import NumberColumns
from localsvm.data.types import FloatArray, IndexArray
from localsvm.export.graph import DOUBLE, INT, Graph, integers
from localsvm.export.scaling import interpolated

_CYCLE_OF_YEARS = 146_097  # days, after which the calendar repeats


@dataclass(frozen=True)
class Features:
    """The features of a graph."""

    inputs: tuple[ValueInfoProto, ...]
    numbers: str
    """Numbers, and dates as days, in double precision."""
    places: dict[int, int]
    """Where a feature is among them."""
    texts: dict[int, str]
    """Categories, by feature."""

    @classmethod
    def of_matrix(cls, g: Graph, n_features: int, kind: int) -> Features:
        """Declare one input, of all features."""
        given = helper.make_tensor_value_info("X", kind, ["n", n_features])
        places = {j: j for j in range(n_features)}
        return cls((given,), g.cast("X", DOUBLE), places, {})

    @classmethod
    def of_columns(cls, g: Graph, names: Sequence[str], encoding: Encoding, kind: int) -> Features:
        """Declare an input (n, 1) for each feature that had values in training: text, numbers, or days since 1970."""
        inputs: list[ValueInfoProto] = []
        numbers: list[str] = []
        places, texts = {}, {}
        for j, (name, of_feature) in enumerate(zip(names, encoding.kinds, strict=True)):
            if of_feature == "empty":
                continue
            given = {"category": TensorProto.STRING, "date": DOUBLE}.get(of_feature, kind)
            inputs.append(helper.make_tensor_value_info(name, given, ["n", 1]))
            if of_feature == "category":
                texts[j] = name
            else:
                places[j] = len(numbers)
                numbers.append(g.cast(name, DOUBLE))
        if numbers:
            return cls(tuple(inputs), g.op("Concat", *numbers, axis=1), places, texts)
        n_rows = g.op("Shape", inputs[0].name, end=1)
        none = g.op("Expand", np.zeros((1, 0)), g.op("Concat", n_rows, integers(0), axis=0))
        return cls(tuple(inputs), none, places, texts)

    def take(self, g: Graph, columns: IndexArray) -> str:
        """Return columns of numbers, given by their features."""
        return g.op("Gather", self.numbers, integers(*(self.places[int(j)] for j in columns)), axis=1)


def encoded(g: Graph, features: Features, encoding: Encoding, view: View, kind: int) -> str:
    """Return the columns of a view."""
    numbers, parts = encoding.numbers, []
    if len(numbers.used):
        parts.append(_transformed(g, features, numbers, view.numbers))
    if len(numbers.with_missing):
        missing = g.cast(g.op("IsNaN", features.take(g, numbers.column[numbers.with_missing])), DOUBLE)
        parts.append(g.op("Mul", missing, numbers.missing_factor[numbers.with_missing]))
    if len(numbers.with_spike):
        parts.append(_spikes(g, features, encoding, kind))
    parts += [_waves(g, features, cycle) for cycle in encoding.cycles]
    for category in encoding.categories:
        table = _level_table(category, view.levels)
        if table.shape[1]:
            parts.append(g.op("Gather", table, _slots(g, features, category)))
    return g.op("Concat", *parts, axis=1)


def unusable(g: Graph, features: Features, encoding: Encoding | None) -> str:
    """Return 0 for every row (n, 1), NaN for one with infinity, or with a missing value that is not imputed."""
    zero = g.op("Mul", features.numbers, np.array(0.0))
    imputes = encoding is not None and encoding.imputes
    if imputes:
        zero = g.op("Where", g.op("IsNaN", features.numbers), np.array(0.0), zero)
    found = g.op("ReduceSum", zero, integers(1), keepdims=1)
    if encoding is not None and not imputes:
        for category in encoding.categories:
            is_missing = g.op("Equal", _slots(g, features, category), np.array(len(category.names)))
            nan = g.op("Where", is_missing, np.array(np.nan), np.array(0.0))
            found = g.op("Add", found, g.op("Unsqueeze", nan, integers(1)))
    return found


def _transformed(g: Graph, features: Features, numbers: NumberColumns, transform: str) -> str:
    used = numbers.used
    given = features.take(g, numbers.column[used])
    values = g.op("Where", g.op("IsNaN", given), numbers.fill[used][None, :], given)
    if transform == "rank":
        knots = [numbers.knots[number] for number in used]
        return interpolated(g, values, knots, [np.linspace(0.0, 1.0, len(own)) for own in knots])
    scale = numbers.log_scale[used]
    if transform == "log" and scale.any():
        s = np.where(scale > 0, scale, 1.0)
        # log(1 + |v| / s), whose ratio may overflow.
        sizes = g.op("Sub", g.op("Log", g.op("Add", g.op("Abs", values), s)), np.log(s))
        logs = g.op("Mul", g.op("Sign", values), sizes)
        return g.op("Where", (scale > 0)[None, :], logs, values)
    return values


def _spikes(g: Graph, features: Features, encoding: Encoding, kind: int) -> str:
    """Return the indicators of frequent values, which are compared in the precision of the input."""
    numbers, with_spike = encoding.numbers, encoding.numbers.with_spike
    column, spike = numbers.column[with_spike], numbers.spike[with_spike]
    is_date = np.array([encoding.kinds[j] == "date" for j in column])
    rounded = spike if kind == DOUBLE else np.where(is_date, spike, spike.astype(np.float32).astype(np.float64))
    found = g.cast(g.op("Equal", features.take(g, column), rounded), DOUBLE)
    return g.op("Mul", found, numbers.spike_factor[with_spike])


def _waves(g: Graph, features: Features, cycle: Cycle) -> str:
    """Return sine and cosine of a part of dates, 0 where the date is missing; see `data.encoding.cycles`."""
    given = features.take(g, np.array([cycle.column]))
    is_missing = g.op("IsNaN", given)
    days = g.op("Where", is_missing, np.array(0.0), given)
    whole = g.op("Floor", days)
    if cycle.part == "hour":
        phase = g.op("Sub", days, whole)
    else:
        period = 7 if cycle.part == "weekday" else _CYCLE_OF_YEARS
        table = PARTS[cycle.part][0](np.arange(float(period)))
        # Infinity becomes some day of the table: the row is NaN anyway.
        phase = g.op("Gather", table, g.op("Mod", g.cast(whole, INT), np.array(period)))
    angle = g.op("Mul", phase, np.array(2 * np.pi))
    waves = g.op("Concat", g.op("Sin", angle), g.op("Cos", angle), axis=1)
    return g.op("Where", is_missing, np.array(0.0), g.op("Mul", waves, np.array(cycle.factors)))


def _slots(g: Graph, features: Features, category: Category) -> str:
    """Return the slots (n,) of the levels of rows; no text is a missing level, unless training had it as one."""
    missing, unseen = len(category.names), len(category.names) + 1
    slots = {"": missing} | {name: slot for slot, name in enumerate(category.names)}
    return g.op(
        "LabelEncoder",
        g.op("Reshape", features.texts[category.column], integers(-1)),
        domain="ai.onnx.ml",
        keys_strings=list(slots),
        values_int64s=list(slots.values()),
        default_int64=unseen,
    )


def _level_table(category: Category, levels: bool) -> FloatArray:
    """Return the columns of every slot."""
    return category.columns(np.arange(len(category.names) + 2), levels, None, None)
