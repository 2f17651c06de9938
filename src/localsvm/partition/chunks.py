"""Random chunks, the paper's baseline: every chunk predicts every row, and the mean of their values counts.

Enters: scaled rows. Leaves: a `ChunkPartition`: a row's chunk is the range that its hash falls into.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.content import content_hash
from localsvm.data.rows import ModelRows, mean_ball
from localsvm.partition.base import Members, ThreadMap, hash_blocks


@dataclass(frozen=True)
class ChunkPartition:
    """Ranges of the hash; `centers` are the means of the chunks."""

    centers: NDArray[np.float32]
    radii: NDArray[np.float64]
    last_hashes: NDArray[np.uint64]
    seed: int

    def assign(self, X: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the chunk of every row."""
        return _chunk_of(content_hash(X, self.seed), self.last_hashes)

    def voters(self, X: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return that every chunk predicts every row."""
        return np.ones((len(X), len(self.centers)), dtype=np.bool_)


def build_chunks(
    rows: ModelRows, cell_size: int, seed: int, thread_map: ThreadMap = map
) -> tuple[ChunkPartition, Members]:
    """Cut the rows into chunks of nearly equal size; equal rows share a chunk."""
    hashes = hash_blocks(rows.take, (len(rows), rows.n_features), seed, thread_map)
    last_hashes = _equal_ranges(hashes, cell_size)
    members = Members.of_labels(_chunk_of(hashes, last_hashes), len(last_hashes))
    chunks = list(thread_map(lambda j: mean_ball(rows.take(_by_hash(members.rows(j), hashes))), range(len(members))))
    centers = np.stack([center.astype(np.float32) for center, _ in chunks])
    return ChunkPartition(centers, np.array([radius for _, radius in chunks]), last_hashes, seed), members


def _by_hash(members: NDArray[np.intp], hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    # Sums over rows in this order round alike for any order of the input.
    return members[np.argsort(hashes[members], kind="stable")]


def _chunk_of(hashes: NDArray[np.uint64], last_hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
    # A row that is not a training row may lie behind the last one; it belongs to the last chunk.
    return np.searchsorted(last_hashes[:-1], hashes).astype(np.int32)


def _equal_ranges(hashes: NDArray[np.uint64], cell_size: int) -> NDArray[np.uint64]:
    """Return the last hash of every chunk: few chunks of nearly equal size, none above `cell_size`.

    Equal rows stay together, so a chunk that is too large may need the others to be smaller; one of equal rows is what
    it is.
    """
    distinct, counts = np.unique(hashes, return_counts=True)
    ends = np.cumsum(counts)
    n_chunks = -(-len(hashes) // cell_size)
    while True:
        cuts = len(hashes) * np.arange(1, n_chunks + 1) / n_chunks
        last = np.unique(np.searchsorted(ends, cuts))
        sizes, contents = np.diff(ends[last], prepend=0), np.diff(last, prepend=-1)
        if ((sizes <= cell_size) | (contents == 1)).all():
            return distinct[last]
        n_chunks += max(1, n_chunks // 50)
