"""Squared distances as one product of matrices.

Enters: points and references, such as support vectors or centers, in single precision. Leaves: both in double precision
with two columns more, so that their product has a multiple of the squared distances:

    (x, |x|^2, 1) (2 s, -1, -|s|^2)' = -|x - s|^2

The error is about 1e-16 (|x|^2 + |s|^2): single precision would be too coarse for narrow kernels.
"""

from __future__ import annotations

import numpy as np

from localsvm.data.types import Float32Array, FloatArray
from localsvm.export.graph import DOUBLE, Graph, Value, integers


def lifted_points(g: Graph, points: Value) -> str:
    """Return (x, |x|^2, 1) for points in single precision."""
    x = g.cast(points, DOUBLE)
    norms = g.op("ReduceSum", g.op("Mul", x, x), integers(1), keepdims=1)
    # 0 |x|^2 + 1 would be NaN where |x|^2 overflows; points are finite and in single precision, so it does not.
    ones = g.op("Add", g.op("Mul", norms, np.array(0.0)), np.array(1.0))
    return g.op("Concat", x, norms, ones, axis=1)


def lifted_references(g: Graph, references: Float32Array, factors: FloatArray) -> str:
    """Return rows of factor (-2 s, 1, |s|^2), whose products with lifted points are factor |x - s|^2.

    A model holds references in single precision; runtimes compute the rest once, as it depends on constants only.
    """
    s = g.cast(references, DOUBLE)
    norms = g.op("ReduceSum", g.op("Mul", s, s), integers(1), keepdims=1)
    by_row = factors[:, None]
    return g.op("Concat", g.op("Mul", s, -2 * by_row), by_row, g.op("Mul", norms, by_row), axis=1)
