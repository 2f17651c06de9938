"""Trees of Voronoi cells: nodes of centers, and the way of rows from the root to a leaf.

Nodes and leaves are numbered apart, from 0. A child of a node is one integer: the number of another node, or the code
-1 - number of a leaf. Only this module knows the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from localsvm import _native

Child = TypeVar("Child", int, NDArray[np.int64])


@dataclass(frozen=True)
class Node:
    """Centers, and the child that each leads to."""

    centers: NDArray[np.float32]
    children: NDArray[np.int64]


@overload
def is_leaf(child: int) -> bool: ...
@overload
def is_leaf(child: NDArray[np.int64]) -> NDArray[np.bool_]: ...
def is_leaf(child: int | NDArray[np.int64]) -> bool | NDArray[np.bool_]:
    """Return whether a child is a leaf, or which ones are."""
    return child < 0


def leaf_number(child: Child) -> Child:
    """Return the number of a leaf from its code."""
    return -1 - child


def leaf_code(number: Child) -> Child:
    """Return the code of a leaf from its number."""
    return -1 - number


def pack_nodes(nodes: Sequence[Node]) -> _native.CenterTree:
    """Return nodes as the core descends them."""
    arrays = [(np.ascontiguousarray(node.centers, dtype=np.float32), node.children) for node in nodes]
    return _native.CenterTree(nodes[0].centers.shape[1], arrays)


def descend(nodes: Sequence[Node], X: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the leaf that every row reaches from the first node, and its squared distance from the center."""
    return pack_nodes(nodes).descend(np.ascontiguousarray(X, dtype=np.float32))


def wrong_children(children: NDArray[np.int64], node: NDArray[np.int64], n_leaves: int) -> NDArray[np.bool_]:
    """Return which children of nodes lead nowhere, or back: nodes come after their parents, so that every path ends."""
    inner = ~is_leaf(children)
    leads_down = (children > node) & (children <= node.max())
    return np.where(inner, ~leads_down, leaf_number(children) >= n_leaves)
