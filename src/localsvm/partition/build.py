"""The choice of a partition by name, or a user's own object.

Enters: scaled rows and a `PartitionPlan`. Leaves: a partition and the training rows of its cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localsvm.data.content import content_hash
from localsvm.data.rows import ModelRows, ScaledRows
from localsvm.errors import InvalidData, InvalidParameter
from localsvm.partition.base import Members, Partition, ThreadMap
from localsvm.partition.chunks import ChunkPartition, build_chunks
from localsvm.partition.coarse import CoarseCells
from localsvm.partition.overlap import OverlapPartition, build_overlap
from localsvm.partition.voronoi import SplitLimit, VoronoiPartition, build_voronoi
from localsvm.partition.whole import build_whole

NAMES = ("voronoi", "chunks", "radius", "overlap", "none")

# Of cells whose size is not given; docs/decisions.md has the figures.
AUTO_SIZES = (2000, 5000)
_WORK = 250_000_000  # rows times the size of a cell, to which seconds are proportional


@dataclass(frozen=True)
class PartitionPlan:
    """How to cut the input space: one of `NAMES` or a partition, and its sizes."""

    kind: Any = "voronoi"
    cell_size: int | None = None
    """The most rows of a cell; None leaves it to the number of rows."""
    cell_radius: float | None = None

    def __post_init__(self) -> None:
        """Refuse a kind that is not there, and a radius that is missing."""
        if isinstance(self.kind, CoarseCells):
            return
        if not isinstance(self.kind, str):
            missing = [name for name in ("centers", "radii", "assign") if not hasattr(self.kind, name)]
            if missing:
                raise InvalidParameter(
                    f"partition={self.kind!r} has no {' and no '.join(missing)}; give one of "
                    f"{', '.join(map(repr, NAMES))}, or an object with centers, radii and assign."
                )
        elif self.kind not in NAMES:
            raise InvalidParameter(
                f"partition={self.kind!r} is not available; use one of {', '.join(map(repr, NAMES))}, or an object "
                "with centers, radii and assign."
            )
        if self.kind == "radius" and self.cell_radius is None:
            raise InvalidParameter("partition='radius' needs cell_radius: the largest radius of a cell, after scaling.")

    def sized(self, n_rows: int) -> PartitionPlan:
        """Return the plan for so many rows: cells are large where rows are few, as more rows should not take less time.

        Examples
        --------
        >>> from localsvm.partition import PartitionPlan
        >>> [PartitionPlan().sized(n_rows).size for n_rows in (1000, 50_000, 100_000, 1_000_000)]
        [5000, 5000, 2500, 2000]
        """
        if self.cell_size is not None:
            return self
        return replace(self, cell_size=int(np.clip(_WORK // max(n_rows, 1), *AUTO_SIZES)))

    @property
    def size(self) -> int:
        """The most rows of a cell of a plan that is `sized`."""
        assert self.cell_size is not None, "the number of rows is not known yet"
        return self.cell_size

    def largest_cell(self, n_rows: int) -> int | None:
        """Return how many rows a cell can have, unless they are equal; None if that is not known."""
        if self.kind == "none":
            return n_rows
        by_size = isinstance(self.kind, str | CoarseCells) and self.kind != "radius"
        return min(self.sized(n_rows).size, n_rows) if by_size else None


def build_partition(
    plan: PartitionPlan, rows: ModelRows, hashes: NDArray[np.uint64], seed: int, thread_map: ThreadMap = map
) -> tuple[Partition, Members]:
    """Cut the rows into cells."""
    if isinstance(plan.kind, CoarseCells):
        return build_voronoi(rows, hashes, SplitLimit(plan.size), thread_map, plan.kind.nodes)
    if not isinstance(plan.kind, str):
        return plan.kind, _members_of(plan.kind, rows)
    if plan.kind == "none":
        return build_whole(rows)
    if plan.kind == "chunks":
        return build_chunks(rows, plan.size, seed, thread_map)
    if plan.kind == "overlap":
        return build_overlap(rows, hashes, plan.size, thread_map)
    radius = np.inf if plan.kind == "voronoi" or plan.cell_radius is None else plan.cell_radius
    return build_voronoi(rows, hashes, SplitLimit(plan.size, radius), thread_map)


def voronoi_partition(
    X: ArrayLike, cell_size: int = 2000, *, cell_radius: float | None = None, random_state: int = 0
) -> VoronoiPartition:
    """Cut rows into Voronoi cells of at most `cell_size` rows, or of at most `cell_radius`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows on comparable scales.
    cell_size : int, default=2000
        Largest number of rows in a cell; only equal rows may be more.
    cell_radius : float, optional
        Largest distance of a row from the center of its cell; `cell_size` is ignored then.
    random_state : int, default=0
        Seed of the start and of subsamples, which depend on the rows' content, not on their order.

    Returns
    -------
    VoronoiPartition
        Centers, radii and `assign`.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.partition import voronoi_partition
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> cells = voronoi_partition(X, cell_size=100)
    >>> sizes = np.bincount(cells.assign(X))
    >>> bool(sizes.max() <= 100), int(sizes.sum())
    (True, 1000)
    """
    rows = _rows_of(X)
    limit = SplitLimit(cell_size, np.inf if cell_radius is None else cell_radius)
    return build_voronoi(rows, content_hash(rows.X, random_state), limit)[0]


def chunk_partition(X: ArrayLike, cell_size: int = 2000, *, random_state: int = 0) -> ChunkPartition:
    """Cut rows into random chunks of nearly equal size, at most `cell_size` rows; equal rows share a chunk.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    cell_size : int, default=2000
        Largest number of rows in a chunk.
    random_state : int, default=0
        Seed; a row's chunk depends on its content, not on its place.

    Returns
    -------
    ChunkPartition
        Centers, radii and `assign`.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.partition import chunk_partition
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> sizes = np.bincount(chunk_partition(X, cell_size=300).assign(X))
    >>> len(sizes), bool(sizes.max() <= 300)
    (4, True)
    """
    return build_chunks(_rows_of(X), cell_size, random_state)[0]


def overlap_partition(X: ArrayLike, cell_size: int = 2000, *, random_state: int = 0) -> OverlapPartition:
    """Cut rows into Voronoi cells of half the size, each with a ball of at most `cell_size` rows to train on.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows on comparable scales.
    cell_size : int, default=2000
        Largest number of rows that a cell trains on.
    random_state : int, default=0
        Seed of the start and of subsamples.

    Returns
    -------
    OverlapPartition
        Centers, radii of the balls, and `assign`, which gives the cell that predicts a row.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.partition import overlap_partition
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> bool(np.bincount(overlap_partition(X, cell_size=200).assign(X)).max() <= 100)
    True
    """
    rows = _rows_of(X)
    return build_overlap(rows, content_hash(rows.X, random_state), cell_size)[0]


def _rows_of(X: ArrayLike) -> ScaledRows:
    """Return a user's rows as they are, in single precision."""
    with np.errstate(over="ignore"):
        data = np.ascontiguousarray(X, dtype=np.float32)
    if data.ndim != 2 or data.size == 0:
        raise InvalidData(f"X has shape {data.shape}: rows of at least one feature are needed.")
    if not np.isfinite(data).all():
        raise InvalidData("X has values that are NaN or infinite in single precision. Drop or rescale these rows.")
    return ScaledRows(data)


def _members_of(partition: Any, rows: ModelRows) -> Members:
    """Assign the rows to the cells of a user's partition, and check the result."""
    n_cells = len(partition.centers)
    labels = np.empty(len(rows), dtype=np.int64)
    for block in rows.blocks(0, len(rows)):
        labels[block] = check_assignment(partition.assign(rows.take(block)), block.stop - block.start, n_cells)
    return Members.of_labels(labels, n_cells)


def check_assignment(labels: Any, n_rows: int, n_cells: int) -> NDArray[np.integer]:
    """Refuse what cannot be the cells of `n_rows` rows."""
    cells = np.asarray(labels)
    if cells.shape != (n_rows,) or cells.dtype.kind not in "iu":
        raise InvalidParameter(
            f"partition.assign returned an array of shape {cells.shape} and type {cells.dtype} for {n_rows} rows: "
            "it must return one cell number per row."
        )
    if n_rows == 1 and 0 <= cells[0] < n_cells:  # in less time than the ends of an array take
        return cells
    if len(cells) and not (cells.min() >= 0 and cells.max() < n_cells):
        raise InvalidParameter(
            f"partition.assign returned cell numbers from {cells.min()} to {cells.max()}, but there are {n_cells} "
            "centers: numbers must run from 0 to one less than that."
        )
    return cells
