"""Scaling of columns, and functions that are linear between knots.

Enters: columns in double precision. Leaves: scaled columns, rounded to single precision where the model's are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localsvm.data.scaling import AffineScaling, Scaling
from localsvm.data.types import FloatArray
from localsvm.export.graph import FLOAT, Graph, integers

_LARGEST = float(np.finfo(np.float32).max)


def scaled(g: Graph, columns: str, scaling: Scaling) -> str:
    """Return the points of a model in single precision; numbers that it does not have are its largest."""
    if isinstance(scaling, AffineScaling):
        found = g.op("Mul", g.op("Sub", columns, scaling.shift), scaling.factor)
    else:
        found = interpolated(g, columns, scaling.knots, scaling.ranks)
    return g.cast(g.op("Clip", found, np.array(-_LARGEST), np.array(_LARGEST)), FLOAT)


def interpolated(g: Graph, columns: str, knots: Sequence[FloatArray], values: Sequence[FloatArray]) -> str:
    """Return for each column the function that is linear between its knots, and constant before and behind them.

    The last knot that is not greater is found by bisection, in all columns at once:

        table = [ knots of column 0, inf, ... | knots of column 1, inf, ... | ... ],  each as long as a power of two
    """
    depth = int(max(len(own) for own in knots) - 1).bit_length()
    length = 1 << depth
    begins = length * np.arange(len(knots), dtype=np.int64)[None, :]
    slopes = [_slopes(knot, value) for knot, value in zip(knots, values, strict=True)]
    known = g.op("Max", columns, np.array([own[0] for own in knots]))
    table, at = g.constant(_table(knots, length, np.inf)), g.op("Expand", begins, g.op("Shape", columns))
    for step in range(depth - 1, -1, -1):
        further = g.op("Add", at, integers(1 << step))
        at = g.op("Where", g.op("LessOrEqual", g.op("Gather", table, further), known), further, at)
    beyond = g.op("Sub", known, g.op("Gather", table, at))
    rise = g.op("Mul", beyond, g.op("Gather", _table(slopes, length, 0.0), at))
    return g.op("Add", g.op("Gather", _table(values, length, 0.0), at), rise)


def _slopes(knots: FloatArray, values: FloatArray) -> FloatArray:
    # Halves first: the difference of two finite knots may overflow, that of their halves cannot.
    with np.errstate(over="ignore"):
        slopes = np.diff(values) / np.diff(knots / 2) / 2
    return np.where(np.isfinite(slopes), slopes, 0.0)


def _table(parts: Sequence[FloatArray], length: int, rest: float) -> FloatArray:
    table = np.full((len(parts), length), rest)
    for row, part in zip(table, parts, strict=True):
        row[: len(part)] = part
    return table.ravel()
