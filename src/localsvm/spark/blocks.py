"""Rows on their way between tasks: those of a batch that belong to the same coarse cell travel as one row of bytes.

Enters: rows with their hashes and coarse cells. Leaves: rows of a frame, and back: the rows of a coarse cell. A shuffle
has thousands of these to move instead of millions of vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from localsvm.data.scaling import Scaling
from localsvm.partition.base import Members
from localsvm.spark.columns import TrainingRows

SCHEMA = "part int, X binary, y binary, weight binary, hashes binary, copies binary"


@dataclass(frozen=True)
class Block:
    """Rows with the hashes of what they were before scaling; each may stand for several copies."""

    rows: TrainingRows
    hashes: NDArray[np.uint64]
    copies: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of rows, copies not counted."""
        return len(self.hashes)

    def __getitem__(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Block:
        """Return some rows."""
        return Block(self.rows[rows], self.hashes[rows], self.copies[rows])

    def smallest(self, count: int) -> Block:
        """Return the rows of so many smallest distinct hashes, with all their copies; all rows if there are fewer."""
        distinct = np.unique(self.hashes)
        return self if len(distinct) <= count else self[self.hashes <= distinct[count - 1]]

    def scaled(self, scaling: Scaling) -> Block:
        """Return the block with scaled features."""
        rows = TrainingRows(scaling.apply(self.rows.X), self.rows.y, self.rows.weight)
        return Block(rows, self.hashes, self.copies)

    def merged(self) -> Block:
        """Return the block with copies of a row counted instead of repeated."""
        keys = np.rec.fromarrays([self.hashes, self.rows.y, self.rows.weight])
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        copies = np.bincount(inverse.ravel(), weights=self.copies, minlength=len(first)).astype(np.int64)
        return Block(self.rows[first], self.hashes[first], copies)


def write_blocks(block: Block, parts: NDArray[np.integer], n_parts: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of every part; nothing if there are none."""
    groups = Members.of_labels(parts, n_parts)
    found = np.flatnonzero(groups.sizes).tolist()
    if len(found) == 0:
        return
    of_parts = [block[groups.rows(part)] for part in found]
    arrays = {
        "X": [np.ascontiguousarray(own.rows.X) for own in of_parts],
        "y": [own.rows.y for own in of_parts],
        "weight": [own.rows.weight for own in of_parts],
        "hashes": [own.hashes for own in of_parts],
        "copies": [own.copies for own in of_parts],
    }
    columns = {name: pa.array([part.tobytes() for part in values], pa.binary()) for name, values in arrays.items()}
    yield pa.RecordBatch.from_pydict({"part": pa.array(found, pa.int32()), **columns})


def read_blocks(batches: Iterable[pa.RecordBatch], n_features: int, dtype: type[np.floating]) -> dict[int, Block]:
    """Return the rows of every part."""
    pieces: dict[int, list[Block]] = {}
    for batch in batches:
        for values in batch.to_pylist():
            pieces.setdefault(values["part"], []).append(_read_block(values, n_features, dtype))
    return {part: _joined(blocks) for part, blocks in pieces.items()}


def _read_block(values: dict[str, bytes], n_features: int, dtype: type[np.floating]) -> Block:
    X = np.frombuffer(values["X"], dtype=dtype).reshape(-1, n_features)
    y, weight = (np.frombuffer(values[name], dtype=np.float64) for name in ("y", "weight"))
    hashes, copies = np.frombuffer(values["hashes"], np.uint64), np.frombuffer(values["copies"], np.int64)
    return Block(TrainingRows(X, y, weight), hashes, copies)


def _joined(blocks: list[Block]) -> Block:
    X, y, weight = (np.concatenate([getattr(block.rows, name) for block in blocks]) for name in ("X", "y", "weight"))
    hashes, copies = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("hashes", "copies"))
    return Block(TrainingRows(X, y, weight), hashes, copies)
