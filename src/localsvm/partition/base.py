"""What a partition is, and which rows train which cell.

A partition has `centers` (n_cells, n_features), `radii` (n_cells,) and `assign`, which gives every row
the number of the cell that predicts it. Rows are those of the model: scaled, float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from localsvm.data.content import content_hash
from localsvm.data.source import block_rows, row_blocks

ThreadMap = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""`map`, or one that works in threads."""


@contextmanager
def thread_map(n_threads: int) -> Iterator[ThreadMap]:
    """Give a map that works in so many threads; with one it is `map`."""
    if n_threads == 1:
        yield map
    else:
        with ThreadPoolExecutor(max_workers=n_threads) as pool:
            yield pool.map


def for_each(thread_map: ThreadMap, work: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Do the work for all items; raise what it raises."""
    for _ in thread_map(work, items):
        pass


def hash_blocks(
    take: Callable[[slice], NDArray[np.floating]], shape: tuple[int, ...], seed: int, thread_map: ThreadMap
) -> NDArray[np.uint64]:
    """Return the content hashes of rows that are taken a block at a time."""
    n_rows, n_features = shape
    hashes = np.empty(n_rows, dtype=np.uint64)

    def fill(block: slice) -> None:
        hashes[block] = content_hash(take(block), seed)

    for_each(thread_map, fill, row_blocks(0, n_rows, block_rows(n_features)))
    return hashes


@runtime_checkable
class Partition(Protocol):
    """Cells of the input space. Objects of a user's own need no more than this.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm import LocalSVR
    >>> class LeftAndRight:
    ...     centers = np.array([[-1.0], [1.0]], dtype=np.float32)
    ...     radii = np.array([1.0, 1.0])
    ...
    ...     def assign(self, X):
    ...         return (X[:, 0] >= 0).astype(int)
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> model = LocalSVR(partition=LeftAndRight(), scaling=None).fit(X, np.abs(X[:, 0]))
    >>> model.apply([[-0.5], [0.5]]).tolist()
    [0, 1]
    """

    @property
    def centers(self) -> NDArray[np.float32]:
        """One center per cell."""

    @property
    def radii(self) -> NDArray[np.float64]:
        """Largest distance of a training row of the cell from the center."""

    def assign(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        """Return the cell of every row."""


def averages(partition: Partition) -> bool:
    """Return whether several cells predict a row: the partition has `voters`, and the mean of their values counts.

    ``partition.voters(X)`` says which cells predict which rows, (n_rows, n_cells); at least one each.
    """
    return hasattr(partition, "voters")


@dataclass(frozen=True)
class Members:
    """The training rows of every cell: those of cell j are order[ends[j-1]:ends[j]]."""

    order: NDArray[np.intp]
    ends: NDArray[np.intp]

    @classmethod
    def of_labels(cls, labels: NDArray[np.integer], n_cells: int) -> Members:
        """Group rows by their label."""
        # NumPy sorts numbers of 16 bits by radix, a dozen times as fast as others.
        keys = labels.astype(np.uint16) if n_cells <= 1 << 16 else labels
        return cls(np.argsort(keys, kind="stable"), np.cumsum(np.bincount(labels, minlength=n_cells)))

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.ends)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of rows by cell."""
        return np.diff(self.ends, prepend=0)

    def rows(self, cell: int) -> NDArray[np.intp]:
        """Return the rows of one cell."""
        return self.order[int(self.ends[cell - 1]) if cell else 0 : int(self.ends[cell])]

    def within(self, part: slice) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield the cells that have rows in a part of `order`, each with these rows."""
        begin, cell = part.start, int(np.searchsorted(self.ends, part.start, side="right"))
        while begin < part.stop:
            end = min(int(self.ends[cell]), part.stop)
            if begin < end:
                yield cell, self.order[begin:end]
            begin, cell = end, cell + 1
