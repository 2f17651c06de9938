"""The functions of the cells: constants plus kernel sums, clipped at bounds.

Enters: points with their cells, and trained cells. Leaves: the values (row, output) of every row's own cell. The
support vectors of all cells are one table; a block of rows reads the part of its cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localsvm.cell.trained import CellFunctions
from localsvm.data.types import Float32Array, FloatArray
from localsvm.export.distances import lifted_references
from localsvm.export.graph import DOUBLE, FLOAT, Graph, integers
from localsvm.export.groups import Grouped, Ranges, by_group
from localsvm.model.local_model import LocalModel


@dataclass(frozen=True)
class _Tables:
    """The functions of all cells; the kernel sums of a cell are one, with 0 where a support vector does not count."""

    kernel: str
    ranges: Ranges
    support_vectors: Float32Array
    widths: FloatArray
    """By support vector."""
    coefficients: Float32Array
    """(support vector, output)."""
    constants: FloatArray
    bounds: FloatArray
    """(cell, output, 2)."""

    @classmethod
    def of(cls, model: LocalModel) -> _Tables:
        cells = [cell.functions for cell in model.cells]
        parts = [_one_sum(functions, model.n_features) for functions in cells]
        kernels = {functions.kernel for functions in cells}
        assert len(kernels) == 1, "the cells of a model have one kernel"
        return cls(
            kernel=kernels.pop(),
            ranges=Ranges.of([len(widths) for _, widths, _ in parts]),
            support_vectors=np.concatenate([vectors for vectors, _, _ in parts]),
            widths=np.concatenate([widths for _, widths, _ in parts]),
            coefficients=np.concatenate([coefficients for _, _, coefficients in parts]),
            constants=np.stack([functions.constants for functions in cells]),
            bounds=np.stack([functions.bounds for functions in cells]),
        )


def _one_sum(functions: CellFunctions, n_features: int) -> tuple[Float32Array, FloatArray, Float32Array]:
    """Return support vectors, widths and coefficients of a cell; a cell of constants has one without a coefficient."""
    n_outputs = len(functions.constants)
    vectors, widths = [np.zeros((1, n_features), np.float32)], [np.ones(1)]
    coefficients = [np.zeros((1, n_outputs), np.float32)]
    for part in functions.sums:
        dense = np.zeros((part.n_support, n_outputs), np.float32)
        dense[:, part.outputs] = part.coefficients.T
        vectors.append(np.asarray(part.support_vectors))
        widths.append(np.full(part.n_support, float(np.float32(part.width))))
        coefficients.append(dense)
    first = 1 if functions.sums else 0
    return tuple(np.concatenate(each[first:]) for each in (vectors, widths, coefficients))  # type: ignore[return-value]


def evaluate_cells(g: Graph, points: str, lifted: str, grouped: Grouped, model: LocalModel) -> str:
    """Return the values (row, output) of rows in the order of their cells."""
    # Coefficients are dense here: with pairs of many classes they are much larger than the model.
    n_support = sum(cell.n_support for cell in model.cells)
    g.check_size(4 * n_support * (model.n_features + model.reduction.n_outputs))
    tables = _Tables.of(model)
    kernel = _manhattan(g, tables) if tables.kernel == "manhattan" else _of_squares(g, tables)
    coefficients, constants = g.cast(tables.coefficients, DOUBLE), g.constant(tables.constants)
    low, high = (g.constant(np.ascontiguousarray(bound)) for bound in np.moveaxis(tables.bounds, 2, 0))

    def values(b: Graph, x: str, cell: str) -> str:
        begin, end = tables.ranges.part(b, cell)
        # Coefficients of smooth functions are large and cancel: sums in single precision would lose their digits.
        sums = b.op("MatMul", b.cast(kernel(b, x, begin, end), DOUBLE), b.slice_rows(coefficients, begin, end))
        found = b.op("Add", sums, b.op("Gather", constants, cell))
        return b.op("Min", b.op("Max", found, b.op("Gather", low, cell)), b.op("Gather", high, cell))

    rows = points if tables.kernel == "manhattan" else lifted
    return by_group(g, rows, grouped, np.zeros((0, tables.constants.shape[1])), DOUBLE, values)


Kernel = Callable[[Graph, str, str, str], str]
"""Takes points and a range of support vectors; returns kernel values (point, support vector)."""


def _of_squares(g: Graph, tables: _Tables) -> Kernel:
    """Return exp(-d^2 / width^2), or exp(-d / width), of Euclidean distances; points are lifted."""
    is_gauss = tables.kernel == "gauss"
    factors = 1 / np.square(tables.widths)
    references = lifted_references(g, tables.support_vectors, -factors if is_gauss else factors)

    def kernel(b: Graph, x: str, begin: str, end: str) -> str:
        squared = b.cast(b.op("Gemm", x, b.slice_rows(references, begin, end), transB=1), FLOAT)
        if is_gauss:
            return b.op("Exp", squared)
        return b.op("Exp", b.op("Neg", b.op("Sqrt", b.op("Relu", squared))))

    return kernel


def _manhattan(g: Graph, tables: _Tables) -> Kernel:
    """Return exp(-sum_k |x_k - s_k| / width), one feature after the other."""
    vectors, n_features = g.constant(tables.support_vectors), tables.support_vectors.shape[1]
    scales = g.constant((-1 / tables.widths).astype(np.float32))

    def kernel(b: Graph, x: str, begin: str, end: str) -> str:
        own = b.slice_rows(vectors, begin, end)
        columns = b.op("Transpose", own, perm=[1, 0])

        def add(f: Graph, feature: str, total: str) -> str:
            column = f.op("Unsqueeze", f.op("Gather", x, feature, axis=1), integers(1))
            return f.op("Add", total, f.op("Abs", f.op("Sub", column, f.op("Gather", columns, feature))))

        shape = b.op("Concat", b.op("Shape", x, end=1), b.op("Shape", own, end=1), axis=0)
        zeros = b.op("Expand", np.array(0, dtype=np.float32), shape)
        distances = b.repeat(np.array(n_features), zeros, FLOAT, add)
        return b.op("Exp", b.op("Mul", distances, b.slice_rows(scales, begin, end)))

    return kernel
