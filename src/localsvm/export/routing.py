"""The cell of every row: the nearest center in every node of the tree, from the root down, ties to the first.

Enters: points and a partition. Leaves: the number of the cell of every point. A product of matrices finds the few
nearest centers; among these, squares are summed in single precision, feature after feature, as the partition does it.
So points that are equally far from two centers go where they went in training.
"""

from __future__ import annotations

import numpy as np

from localsvm.errors import InvalidParameter
from localsvm.export.distances import lifted_references
from localsvm.export.graph import FLOAT, INT, Graph, Value, integers
from localsvm.export.groups import Grouped, Ranges, by_group, group_rows, number_rows
from localsvm.partition import ChunkPartition, OverlapPartition, Partition, VoronoiPartition, WholePartition
from localsvm.partition.tree import Node, is_leaf, leaf_number

_CANDIDATES = 8
"""Nearest centers whose distances are compared exactly."""


def check_partition(partition: Partition) -> None:
    """Refuse a partition that is not one of the package."""
    if not isinstance(partition, VoronoiPartition | OverlapPartition | WholePartition | ChunkPartition):
        raise InvalidParameter(
            f"the partition is an object of your own ({type(partition).__name__}), and ONNX cannot run its Python "
            "code. Train with one of the partitions of localsvm, such as partition='voronoi' or CoarseCells."
        )


def find_cells(g: Graph, points: str, lifted: str, partition: Partition, name: str) -> str:
    """Return the cells (n,) of points under this name."""
    tree = partition.cells if isinstance(partition, OverlapPartition) else partition
    if not isinstance(tree, VoronoiPartition) or not tree.nodes:
        count, _ = number_rows(g, points)
        return g.op("Expand", integers(0), g.op("Reshape", count, integers(1)), name=name)
    return _descend(g, lifted, tree.nodes, name)


def _descend(g: Graph, lifted: str, nodes: tuple[Node, ...], name: str) -> str:
    references = np.concatenate([node.centers for node in nodes])
    centers, lifted_centers = g.constant(references), lifted_references(g, references, np.ones(len(references)))
    children = g.constant(np.concatenate([node.children for node in nodes]).astype(np.int64))
    ranges = Ranges.of([len(node.centers) for node in nodes])

    def nearest(b: Graph, x: str, node: str) -> str:
        begin, end = ranges.part(b, node)
        squared = b.op("Gemm", x, b.slice_rows(lifted_centers, begin, end), transB=1)
        count = b.op("Min", b.op("Sub", end, begin), integers(_CANDIDATES))
        _, near = b.ops("TopK", (None, None), squared, count, largest=0)
        near, _ = b.ops("TopK", (None, None), near, count, largest=0, sorted=1)  # the first of equally near ones
        place = b.op("ArgMin", _exact(b, x, b.op("Gather", b.slice_rows(centers, begin, end), near)), axis=1)
        first = b.op("Reshape", b.op("GatherElements", near, place, axis=1), integers(-1))
        return b.op("Gather", children, b.op("Add", first, begin))

    none: Value = np.zeros(0, dtype=np.int64)
    count, rows = number_rows(g, lifted)
    all_at_root = g.op("Pad", g.op("Reshape", count, integers(1)), integers(0, len(nodes) - 1))
    at = by_group(g, lifted, Grouped(rows, all_at_root), none, INT, nearest)
    for _ in range(_depth(nodes) - 1):
        inner = g.op("Reshape", g.op("NonZero", g.op("GreaterOrEqual", at, integers(0))), integers(-1))
        grouped = group_rows(g, inner, g.op("Gather", at, inner), len(nodes))
        at = g.op("ScatterElements", at, grouped.order, by_group(g, lifted, grouped, none, INT, nearest), axis=0)
    return g.op("Sub", integers(int(leaf_number(0))), at, name=name)


def _exact(b: Graph, lifted: str, centers: str) -> str:
    """Return squared distances (n, k) of points from centers (n, k, n_features), summed feature after feature."""
    x = b.cast(b.op("Slice", lifted, integers(0), integers(-2), integers(1)), FLOAT)
    gap = b.op("Sub", b.op("Unsqueeze", x, integers(1)), centers)
    sums = b.op("CumSum", b.op("Mul", gap, gap), np.array(2))
    return b.op("Gather", sums, np.array(-1), axis=2)


def _depth(nodes: tuple[Node, ...]) -> int:
    """Return the number of nodes on the longest way to a leaf."""
    depth = np.ones(len(nodes), dtype=np.int64)
    for number, node in enumerate(nodes):  # nodes come after their parents
        inner = node.children[~is_leaf(node.children)]
        depth[inner] = depth[number] + 1
    return int(depth.max())
