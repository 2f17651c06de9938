"""Coarse cells: the upper nodes of a Voronoi tree, found before the rest of it, wherever that grows.

Enters: nodes, and a tree for each of their leaves. Leaves: `CoarseCells`, which an estimator takes as a partition and
cuts into cells, and one tree of all, numbered as if it had been built in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.partition.tree import Node, descend, is_leaf, leaf_code, leaf_number
from localsvm.partition.voronoi import VoronoiPartition


@dataclass(frozen=True)
class CoarseCells:
    """Upper nodes of a tree; what comes to a leaf is cut on, into cells of bounded size.

    Centers are given in the space of the model: scaled, and weighted where relevance is learned.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm import LocalSVR
    >>> from localsvm.partition import CoarseCells
    >>> halves = CoarseCells.around(np.array([[0.2], [0.7]], dtype=np.float32))
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = LocalSVR(partition=halves, cell_size=30, scaling=None).fit(X, X[:, 0] ** 2)
    >>> [cell["size"] for cell in model.cells_]
    [23, 27]
    """

    nodes: tuple[Node, ...] = ()
    """None: one leaf, of all rows."""

    @classmethod
    def around(cls, centers: NDArray[np.float32]) -> CoarseCells:
        """Return one coarse cell for every center."""
        return cls((Node(np.ascontiguousarray(centers, dtype=np.float32), leaf_code(np.arange(len(centers)))),))

    def __len__(self) -> int:
        """Return the number of coarse cells."""
        return sum(int(is_leaf(node.children).sum()) for node in self.nodes) or 1

    def assign(self, X: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the coarse cell of every row."""
        return descend(self.nodes, X)[0] if self.nodes else np.zeros(len(X), dtype=np.int32)

    def center(self, cell: int) -> NDArray[np.float32]:
        """Return the center of a coarse cell."""
        leaf = leaf_code(cell)
        (found,) = (node.centers[node.children == leaf] for node in self.nodes if leaf in node.children)
        return np.asarray(found[0])

    def split(self, cell: int, centers: NDArray[np.float32]) -> CoarseCells:
        """Return these cells with one of them split: its first part has its number, the others follow the last."""
        children = leaf_code(np.append([cell], np.arange(len(self), len(self) + len(centers) - 1)))
        if not self.nodes:
            return CoarseCells((Node(centers, children),))
        above = [
            Node(node.centers, np.where(node.children == leaf_code(cell), len(self.nodes), node.children))
            for node in self.nodes
        ]
        return CoarseCells((*above, Node(centers, children)))


@dataclass(frozen=True)
class _Place:
    """A node or a cell, in the upper tree (None) or in that of a coarse cell."""

    tree: int | None
    number: int


def join_trees(
    upper: CoarseCells, trees: Sequence[VoronoiPartition]
) -> tuple[VoronoiPartition, list[NDArray[np.int64]]]:
    """Return one tree of the upper nodes and those of all coarse cells, and the numbers that their cells have in it.

    A tree without nodes is one cell. Nodes and cells are numbered level by level, as `build_voronoi` does it.
    """
    numbers = [np.empty(len(tree.centers), dtype=np.int64) for tree in trees]
    cells: list[_Place] = []
    nodes: list[Node] = []
    level = [_Place(None, 0) if upper.nodes else _Place(0, 0)]
    n_nodes = 1
    while level:
        next_level: list[_Place] = []
        for place in level:
            node = upper.nodes[place.number] if place.tree is None else trees[place.tree].nodes[place.number]
            to = np.empty(len(node.children), dtype=np.int64)
            for c, child in enumerate(node.children.tolist()):
                found, is_cell = _follow(place.tree, child, trees)
                if is_cell:
                    assert found.tree is not None
                    to[c] = leaf_code(len(cells))
                    numbers[found.tree][found.number] = len(cells)
                    cells.append(found)
                else:
                    to[c] = n_nodes + len(next_level)
                    next_level.append(found)
            nodes.append(Node(node.centers, to))
        n_nodes += len(next_level)
        level = next_level
    centers = np.stack([trees[cell.tree or 0].centers[cell.number] for cell in cells])
    radii = np.array([trees[cell.tree or 0].radii[cell.number] for cell in cells])
    return VoronoiPartition(centers, radii, tuple(nodes)), numbers


def _follow(tree: int | None, child: int, trees: Sequence[VoronoiPartition]) -> tuple[_Place, bool]:
    """Return where a child is, and whether that is a cell."""
    if not is_leaf(child):
        return _Place(tree, child), False
    if tree is not None:
        return _Place(tree, leaf_number(child)), True
    coarse = leaf_number(child)
    return _Place(coarse, 0), not trees[coarse].nodes
