"""Scaled rows on disk, put into the order in which they are read.

Enters: scaled rows, too many for the memory. Leaves: `ArrangedRows`, which the stages read like `ScaledRows`; when a
stage knows how rows belong together it has them arranged, so that those of a cell are read at one go.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from localsvm.data.disk import RowFile
from localsvm.data.rows import ModelRows, ScaledRows
from localsvm.data.source import row_blocks


class ArrangedRows(ModelRows):
    """Rows that were scaled when they were written."""

    def __init__(self, rows: ScaledRows, directory: str | os.PathLike[str], buffer_bytes: int = 64 << 20) -> None:
        self._directory, self._buffer_bytes = directory, buffer_bytes
        self._file = RowFile((len(rows), rows.n_features), np.float32, directory)
        self._position: NDArray[np.unsignedinteger] | None = None  # of every row in the file; None: where it was
        for block in rows.blocks(0, len(rows)):
            self._file.write(block.start, rows.take(block))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._file)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._file.shape[1]

    def take(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Return some rows, given by a slice or by their numbers."""
        return self._file[rows if self._position is None else self._position[rows]]

    def arrange(self, order: NDArray[np.intp]) -> None:
        """Put the rows into this order in the file; their numbers stay what they are.

        The file is read from first to last, and every row goes to the bucket that its new place is in; a bucket fits
        in memory, where its rows are put in order.
        """
        place = self._numbers(len(order))
        place[order] = np.arange(len(order), dtype=place.dtype)
        goes_to = place  # of the row that is first in the file, and so on
        if self._position is not None:
            goes_to = self._numbers(len(order))
            goes_to[self._position] = place
        if len(order) > self._at_once:
            goes_to = self._deal(goes_to)
        for bucket in row_blocks(0, len(order), self._at_once):
            rows = self._file.read(bucket.start, bucket.stop)
            rows[goes_to[bucket] - bucket.start] = rows.copy()
            self._file.write(bucket.start, rows)
        self._position = place

    @property
    def _at_once(self) -> int:
        """Rows that fit into the buffer, twice."""
        return max(1, self._buffer_bytes // (8 * self.n_features))

    @staticmethod
    def _numbers(count: int) -> NDArray[np.unsignedinteger]:
        """Return an empty array for as many row numbers."""
        return np.empty(count, dtype=np.uint32 if count < 1 << 32 else np.uint64)

    def _deal(self, goes_to: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
        """Rewrite the file bucket by bucket, in each the rows in the order in which they came; tell where they go."""
        dealt, dealt_to = RowFile((len(self), self.n_features), np.float32, self._directory), np.empty_like(goes_to)
        cursor = np.arange(0, len(goes_to), self._at_once)  # where the next row of each bucket is put
        for block in row_blocks(0, len(goes_to), self._at_once):
            bucket = goes_to[block] // self._at_once
            order = np.argsort(bucket, kind="stable")
            rows, to = self._file.read(block.start, block.stop)[order], goes_to[block][order]
            found, begins, counts = np.unique(bucket[order], return_index=True, return_counts=True)
            for number, begin, count in zip(found.tolist(), begins.tolist(), counts.tolist(), strict=True):
                put = int(cursor[number])
                dealt.write(put, rows[begin : begin + count])
                dealt_to[put : put + count] = to[begin : begin + count]
                cursor[number] += count
        self._file.close()
        self._file = dealt
        return dealt_to
