"""Voronoi partitions (Sec. 2, App.): cells of bounded size, or of bounded radius.

Enters: scaled rows and their hashes. Leaves: a `VoronoiPartition`, a tree of centers, and the rows of every cell.

A node of at most 50 000 rows finds its centers by farthest-first traversal on all of them; a larger one on a random
subsample, to make children that are small enough, and every child is split again. A row goes from the root to the
nearest center of every node it meets:

    root: 250 centers from a sample  ->  node: 30 centers from all its rows  ->  cell
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm import _native
from localsvm.data.rows import ModelRows, smallest_hashes
from localsvm.partition.base import Members, ThreadMap, for_each
from localsvm.partition.tree import Node, is_leaf, leaf_code, pack_nodes

LARGEST_TRAVERSAL = 50_000
"""Rows of a farthest-first traversal (App.)."""

_TINY_SHARE = 1 / 8  # of the largest size: cells below are dissolved; more dissolving makes cells large and slow
CHILD_SHARE = 0.8
"""Target size of the children of a subsample, as a fraction of the largest one allowed: a margin for its error."""

_FEWEST_SAMPLED = 40  # rows of the subsample in a child; fewer are too few to estimate its size


@dataclass(frozen=True)
class VoronoiPartition:
    """A tree of Voronoi partitions; its leaves are the cells."""

    centers: NDArray[np.float32]
    radii: NDArray[np.float64]
    nodes: tuple[Node, ...]

    def assign(self, X: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the cell of every row: the nearest center in every node from the root down, ties to the first.

        Examples
        --------
        >>> import numpy as np
        >>> from localsvm.partition import voronoi_partition
        >>> X = np.array([[0.0], [0.1], [1.0], [1.1]], dtype=np.float32)
        >>> cells = voronoi_partition(X, cell_size=2)
        >>> cells.assign(X).tolist(), cells.assign(np.array([[5.0]], dtype=np.float32)).tolist()
        ([0, 0, 1, 1], [1])
        """
        return self._tree.descend(np.ascontiguousarray(X, dtype=np.float32))[0]

    @cached_property
    def _tree(self) -> _native.CenterTree:
        return pack_nodes(self.nodes)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without what is packed."""
        return {name: value for name, value in self.__dict__.items() if name != "_tree"}


@dataclass(frozen=True)
class SplitLimit:
    """The limit of a cell."""

    size: float
    """Number of rows; ignored if there is a largest radius."""
    radius: float = np.inf

    def allows(self, size: int, radius: float) -> bool:
        """Return whether rows may be one cell; equal rows are, however many."""
        within = radius <= self.radius if np.isfinite(self.radius) else size <= self.size
        return within or radius == 0


def build_voronoi(
    rows: ModelRows,
    hashes: NDArray[np.uint64],
    limit: SplitLimit,
    thread_map: ThreadMap = map,
    upper: Sequence[Node] = (),
) -> tuple[VoronoiPartition, Members]:
    """Cut the rows into cells within the limit; a cell of equal rows may exceed it."""
    builder = _TreeBuilder(rows, hashes, limit, thread_map, upper)
    try:
        return builder.build()
    except BaseException:
        builder.token.cancel()  # threads that split a node stop at once
        raise


def sample_centers(
    X: NDArray[np.float32],
    counts: NDArray[np.integer],
    n_rows: int,
    size: float,
    token: _native.CancelToken | None = None,
) -> NDArray[np.float32]:
    """Return centers for a large node of `n_rows` rows, which make children of about `size` rows at most.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.partition.voronoi import sample_centers
    >>> X = np.arange(400, dtype=np.float32)[:, None]
    >>> centers = sample_centers(X, np.ones(400, dtype=np.int64), 4000, size=2500)
    >>> len(centers)
    2
    """
    fraction = int(counts.sum()) / n_rows
    limit = max(fraction * size, _FEWEST_SAMPLED)
    # Children are split again, so the fewer there are the better: any of them is dissolved that can be.
    chosen, _, _ = _native.farthest_first(X, counts.astype(np.float64), limit, tiny_size=np.inf, token=token)
    return np.asarray(X[chosen])


@dataclass(frozen=True)
class _Split:
    """A node's centers and the rows of its children, which stand in the node's range in this order."""

    centers: NDArray[np.float32]
    sizes: NDArray[np.intp]
    radii: NDArray[np.float64]


@dataclass(frozen=True)
class _Branch:
    """A range of rows to split: by a node that is given, or by centers that are to be found."""

    begin: int
    end: int
    node: Node | None = None

    @property
    def is_large(self) -> bool:
        return self.node is not None or self.end - self.begin > LARGEST_TRAVERSAL


class _TreeBuilder:
    # `order` holds all row numbers; a branch is a range of it. Splitting one sorts its range by child, so that in
    # the end every cell is a range.

    def __init__(
        self,
        rows: ModelRows,
        hashes: NDArray[np.uint64],
        limit: SplitLimit,
        thread_map: ThreadMap,
        upper: Sequence[Node],
    ) -> None:
        self.rows, self.hashes, self.limit, self.map, self.upper = rows, hashes, limit, thread_map, upper
        self.order = np.arange(len(rows))
        self.token = _native.CancelToken()

    def build(self) -> tuple[VoronoiPartition, Members]:
        centers: list[NDArray[np.float32]] = []
        children: list[NDArray[np.int64]] = []
        leaves: list[tuple[int, int, NDArray[np.float32], float]] = []  # begin, end, center, radius
        level = [_Branch(0, len(self.rows), self.upper[0] if self.upper else None)]
        n_nodes = 1
        while level:
            next_level: list[_Branch] = []
            for branch, split in zip(level, self._split_level(level), strict=True):
                to = np.empty(len(split.sizes), dtype=np.int64)
                ends = branch.begin + np.cumsum(split.sizes)
                for c, (size, end) in enumerate(zip(split.sizes, ends, strict=True)):
                    below = self._below(branch, split, c, int(end - size), int(end))
                    if below is None:
                        to[c] = leaf_code(len(leaves))
                        leaves.append((int(end - size), int(end), split.centers[c], split.radii[c]))
                    else:
                        to[c] = n_nodes + len(next_level)
                        next_level.append(below)
                centers.append(split.centers)
                children.append(to)
            n_nodes += len(next_level)
            level = next_level
        return self._finish(centers, children, leaves)

    def _below(self, branch: _Branch, split: _Split, c: int, begin: int, end: int) -> _Branch | None:
        """Return what is to be split next of a branch's child; None: it is a cell."""
        if branch.node is not None and not is_leaf(int(branch.node.children[c])):
            return _Branch(begin, end, self.upper[int(branch.node.children[c])])
        stuck = branch.node is None and len(split.sizes) == 1
        return None if stuck or self.limit.allows(end - begin, split.radii[c]) else _Branch(begin, end)

    def _split_level(self, level: Sequence[_Branch]) -> list[_Split]:
        """Split all branches of a level: large ones one after the other, in blocks; small ones side by side."""
        large = [self._split_large(branch) if branch.is_large else None for branch in level]
        if any(large):
            self.rows.arrange(self.order)  # a branch is a range, and read at one go from now on
        small = self.map(self._split_small, [branch for branch in level if not branch.is_large])
        return [next(small) if split is None else split for split in large]

    def _split_small(self, branch: _Branch) -> _Split:
        members = self.order[branch.begin : branch.end]
        # One row of each content, in the order of the hashes; its count stands for the others.
        _, first, inverse, counts = np.unique(
            self.hashes[members], return_index=True, return_inverse=True, return_counts=True
        )
        X = self.rows.take(members[first])
        centers, labels, distances = _native.farthest_first(
            X, counts.astype(np.float64), self.limit.size, self.limit.radius, _TINY_SHARE * self.limit.size, self.token
        )
        return self._sort_range(branch, X[centers], labels[inverse], distances[inverse])

    def _split_large(self, branch: _Branch) -> _Split:
        members = self.order[branch.begin : branch.end]
        if branch.node is not None:
            return self._sort_range(branch, branch.node.centers, *self._nearest(members, branch.node.centers))
        sampled = members[smallest_hashes(self.hashes[members], LARGEST_TRAVERSAL)]
        _, first, counts = np.unique(self.hashes[sampled], return_index=True, return_counts=True)
        size = max(CHILD_SHARE * LARGEST_TRAVERSAL, 0.9 * self.limit.size)
        centers = sample_centers(self.rows.take(sampled[first]), counts, len(members), size, self.token)
        labels, distances = self._nearest(members, centers)
        if len(centers) == 1 and distances.max() > 0:
            # The sample is one point, the node is not: split it by its farthest row.
            farthest = members[distances == distances.max()]
            other = self.rows.take(farthest[[int(self.hashes[farthest].argmin())]])
            centers = np.concatenate([centers, other])
            labels, distances = self._nearest(members, centers)
        return self._sort_range(branch, centers, labels, distances)

    def _nearest(
        self, members: NDArray[np.intp], centers: NDArray[np.float32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        labels = np.empty(len(members), dtype=np.int32)
        distances = np.empty(len(members), dtype=np.float32)

        def fill(block: slice) -> None:
            labels[block], distances[block] = _native.nearest_centers(self.rows.take(members[block]), centers)

        for_each(self.map, fill, self.rows.blocks(0, len(members)))
        return labels, distances

    def _sort_range(
        self,
        branch: _Branch,
        centers: NDArray[np.float32],
        labels: NDArray[np.integer],
        distances: NDArray[np.float32],
    ) -> _Split:
        groups = Members.of_labels(labels, len(centers))
        here = slice(branch.begin, branch.end)
        self.order[here] = self.order[here][groups.order]
        # A center that was found is one of the rows; only the groups of given ones may be empty.
        squared, filled = np.zeros(len(centers)), groups.sizes > 0
        if filled.any():
            squared[filled] = np.maximum.reduceat(distances[groups.order], (groups.ends - groups.sizes)[filled])
        return _Split(centers, groups.sizes, np.sqrt(squared))

    def _finish(
        self,
        centers: list[NDArray[np.float32]],
        children: list[NDArray[np.int64]],
        leaves: list[tuple[int, int, NDArray[np.float32], float]],
    ) -> tuple[VoronoiPartition, Members]:
        # Leaves were found level by level; their ranges are put one after the other in that order.
        order = np.concatenate([self.order[begin:end] for begin, end, _, _ in leaves])
        ends = np.cumsum([end - begin for begin, end, _, _ in leaves])
        partition = VoronoiPartition(
            centers=np.stack([center for _, _, center, _ in leaves]),
            radii=np.array([radius for _, _, _, radius in leaves]),
            nodes=tuple(Node(c, to) for c, to in zip(centers, children, strict=True)),
        )
        return partition, Members(order, ends)
