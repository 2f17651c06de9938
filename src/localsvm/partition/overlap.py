"""Overlapping cells: each trains on a ball that reaches into its neighbours, so that functions meet more smoothly.

Enters: scaled rows. Leaves: an `OverlapPartition`: Voronoi cells of half the size, whose training rows are their own
and the nearest ones of the neighbouring cells, `cell_size` in all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.rows import ModelRows
from localsvm.partition.base import Members, ThreadMap
from localsvm.partition.near import nearest_rows
from localsvm.partition.voronoi import SplitLimit, VoronoiPartition, build_voronoi

_OWN_SHARE = 0.5  # of the training rows of a cell, at most, are its own
_NEIGHBOURS = 16  # cells that a ball may reach into


@dataclass(frozen=True)
class OverlapPartition:
    """Voronoi cells that predict; `radii` are those of the balls that train."""

    cells: VoronoiPartition
    radii: NDArray[np.float64]

    @property
    def centers(self) -> NDArray[np.float32]:
        """One center per cell."""
        return self.cells.centers

    def assign(self, X: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the cell of every row."""
        return self.cells.assign(X)


def build_overlap(
    rows: ModelRows, hashes: NDArray[np.uint64], cell_size: int, thread_map: ThreadMap = map
) -> tuple[OverlapPartition, Members]:
    """Cut the rows into cells and let each reach out for its nearest neighbours."""
    own_size = max(1.0, np.floor(_OWN_SHARE * cell_size))
    cells, own = build_voronoi(rows, hashes, SplitLimit(own_size), thread_map)
    neighbours = _nearest_cells(cells.centers)

    def reach(cell: int) -> tuple[NDArray[np.intp], float]:
        candidates = np.concatenate([own.rows(other) for other in neighbours[cell]] or [own.rows(cell)[:0]])
        free = cell_size - len(own.rows(cell))
        near, radius = nearest_rows(rows.take(candidates), cells.centers[cell], free)
        return np.concatenate([own.rows(cell), candidates[near]]), max(radius, float(cells.radii[cell]))

    reached = list(thread_map(reach, range(len(own))))
    order = np.concatenate([members for members, _ in reached])
    ends = np.cumsum([len(members) for members, _ in reached])
    return OverlapPartition(cells, np.array([radius for _, radius in reached])), Members(order, ends)


def _nearest_cells(centers: NDArray[np.float32]) -> list[NDArray[np.intp]]:
    """Return the numbers of the cells with the nearest centers, for every cell."""
    count = min(_NEIGHBOURS, len(centers) - 1)
    found = []
    for cell, center in enumerate(centers):
        squared = np.square(centers.astype(np.float64) - center).sum(axis=1)
        squared[cell] = np.inf
        found.append(np.argsort(squared, kind="stable")[:count])
    return found
