"""Sums of kernels by the core's evaluation."""

import numpy as np

from localsvm._native import PackedCell


def evaluate(points, support_vectors, coefficients, kernel, width):
    """Return f(x_p) = sum_s coefficients[o, s] k(x_p, s): (n_points, n_outputs)."""
    n_outputs = len(coefficients)
    cell = PackedCell(points.shape[1], np.zeros(n_outputs), np.tile([-np.inf, np.inf], (n_outputs, 1)))
    cell.add_sum(support_vectors, coefficients, list(range(n_outputs)), kernel, width)
    return cell.values(points)
