"""Work on rows by group: every group's rows with its own part of a table, a bounded number of rows at a time.

Enters: rows in the order of their groups. Leaves: what a function makes of them. A row costs what its own group's part
costs, however many groups there are, and memory is bounded by the rows of a block.

    order = [ rows of group 0 | rows of group 1 | ... ],  each cut into blocks; one trip of the loop is one block
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localsvm.data.types import IndexArray
from localsvm.export.graph import INT, Graph, Value, integers

_BLOCK_ROWS = 256  # their kernel values at 2000 support vectors are a few MB


@dataclass(frozen=True)
class Grouped:
    """Numbers of rows in the order of their groups, and how many each group has."""

    order: Value
    counts: Value


def group_rows(g: Graph, rows: Value | None, groups: str, n_groups: int) -> Grouped:
    """Sort rows (None: 0, 1, ...) by their groups."""
    count = g.op("Shape", groups)
    _, order = g.ops("TopK", (None, None), groups, count, largest=0, sorted=1)
    ones = g.op("Expand", integers(1), count)
    counts = g.op("ScatterElements", np.zeros(n_groups, dtype=np.int64), groups, ones, axis=0, reduction="add")
    return Grouped(order if rows is None else g.op("Gather", rows, order), counts)


def number_rows(g: Graph, points: str) -> tuple[str, str]:
    """Return the number of rows, and 0, 1, ... of them."""
    count = g.op("Gather", g.op("Shape", points), np.array(0))
    return count, g.op("Range", np.array(0), count, np.array(1))


def by_group(
    g: Graph, points: str, grouped: Grouped, none: Value, kind: int, evaluate: Callable[[Graph, str, str], str]
) -> str:
    """Return what `evaluate` makes of blocks of points and their group, below one another in the order of the groups.

    `none` is a result of no rows, `kind` its type; `evaluate` receives the group as a vector of one item.
    """
    ends = g.op("CumSum", grouped.counts, np.array(0))
    begins = g.op("Sub", ends, grouped.counts)
    blocks = g.op("Div", g.op("Add", grouped.counts, integers(_BLOCK_ROWS - 1)), integers(_BLOCK_ROWS))
    last_blocks = g.op("CumSum", blocks, np.array(0))
    first_blocks = g.op("Sub", last_blocks, blocks)

    def block(b: Graph, number: str) -> str:
        passed = b.cast(b.op("LessOrEqual", last_blocks, number), INT)
        group = b.op("ReduceSum", passed, integers(0), keepdims=1)
        place = b.op("Sub", number, b.op("Gather", first_blocks, group))
        begin = b.op("Add", b.op("Gather", begins, group), b.op("Mul", place, integers(_BLOCK_ROWS)))
        end = b.op("Min", b.op("Add", begin, integers(_BLOCK_ROWS)), b.op("Gather", ends, group))
        rows = b.slice_rows(grouped.order, begin, end)
        return evaluate(b, b.op("Gather", points, rows), group)

    return g.collect(g.op("ReduceSum", blocks, keepdims=0), none, kind, block)


@dataclass(frozen=True)
class Ranges:
    """Where the part of each group begins and ends in a table."""

    begins: IndexArray
    ends: IndexArray

    @staticmethod
    def of(sizes: list[int]) -> Ranges:
        """Return the ranges of consecutive parts."""
        ends = np.cumsum(sizes, dtype=np.int64)
        return Ranges(ends - np.array(sizes, dtype=np.int64), ends)

    def part(self, b: Graph, group: str) -> tuple[str, str]:
        """Return begin and end of a group's part."""
        return b.op("Gather", self.begins, group), b.op("Gather", self.ends, group)
