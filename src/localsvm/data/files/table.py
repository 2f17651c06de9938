"""A file as its readers see it: columns, and batches of rows as often as they are asked for.

Enters: a function that reads some columns of a format. Leaves: `TableFile`, the same for all formats.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa

from localsvm.data.files.damage import explained
from localsvm.data.files.schema import Schema
from localsvm.errors import InvalidParameter

BATCH_ROWS = 1 << 16

Read = Callable[[tuple[str, ...], int], Iterator[Any]]
"""From names of columns and a number of rows to batches of about so many rows, in the order of the file."""

_AHEAD = 2
_END = object()


@dataclass(frozen=True)
class TableFile:
    """A table that is read in batches; each reading starts anew."""

    name: str
    """For errors: the path as it was given."""
    schema: Schema
    n_rows: int | None
    """None where only reading to the end can tell."""
    read: Read = field(repr=False)

    def batches(self, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Read some columns from the first row to the last.

        Parameters
        ----------
        columns : sequence of str, optional
            Names of columns; the batches have them in this order. Default: all.
        rows : int, default=65536
            The most rows of a batch.

        Yields
        ------
        pyarrow.RecordBatch
            At least one row. The next batches are read in the background while the caller works on this one.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from localsvm.data.files import open_file
        >>> file = open_file(pa.table({"size": [1.5, 2.5, 3.5], "colour": ["red", None, "blue"]}))
        >>> [batch.to_pydict() for batch in file.batches(["size"], rows=2)]
        [{'size': [1.5, 2.5]}, {'size': [3.5]}]
        """
        names = self.schema.names if columns is None else tuple(dict.fromkeys(columns))
        if not names or rows < 1:
            raise InvalidParameter(f"columns={columns!r}, rows={rows}: give at least one of each.")
        self.schema.require(names, self.name)
        return self._batches(names, rows)

    def _batches(self, names: tuple[str, ...], rows: int) -> Iterator[Any]:
        with explained(self.name):
            yield from read_ahead(resized(self.read(names, rows), rows))


def read_ahead(source: Generator[Any, None, None], count: int = _AHEAD) -> Iterator[Any]:
    """Yield what a generator yields; a thread has the next `count` items read meanwhile."""
    with closing(source), ThreadPoolExecutor(1, thread_name_prefix="localsvm-read") as reader:
        waiting = deque(reader.submit(next, source, _END) for _ in range(count))
        try:
            while (item := waiting.popleft().result()) is not _END:
                waiting.append(reader.submit(next, source, _END))
                yield item
        finally:
            for future in waiting:
                future.cancel()


def map_ahead(work: Callable[[Any], Any], items: Iterator[Any], n_threads: int) -> Iterator[Any]:
    """Yield the results of work on items in their order; so many threads are at work on the next ones.

    Examples
    --------
    >>> from localsvm.data.files.table import map_ahead
    >>> list(map_ahead(len, iter(["a", "bcd", "ef"]), 2))
    [1, 3, 2]
    """
    with ThreadPoolExecutor(n_threads, thread_name_prefix="localsvm-read") as pool:
        waiting = deque(pool.submit(work, item) for item in islice(items, n_threads + 1))
        try:
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(pool.submit(work, item) for item in islice(items, 1))
                yield result
        finally:
            for future in waiting:
                future.cancel()


def resized(batches: Iterator[Any], rows: int) -> Generator[Any, None, None]:
    """Cut batches that have more rows, and join small ones as long as they have no more together.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from localsvm.data.files.table import resized
    >>> batches = (pa.record_batch({"a": range(count)}) for count in (5, 1, 1, 1))
    >>> [batch.num_rows for batch in resized(batches, 3)]
    [3, 3, 2]
    """
    held: list[Any] = []
    count = 0
    for batch in batches:
        for begin in range(0, batch.num_rows, rows):
            part = batch.slice(begin, rows)
            if count + part.num_rows > rows:
                yield from _joined(held)
                held, count = [], 0
            held.append(part)
            count += part.num_rows
    yield from _joined(held)


def _joined(batches: list[Any]) -> list[Any]:
    if len(batches) < 2:
        return batches
    joined: list[Any] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
