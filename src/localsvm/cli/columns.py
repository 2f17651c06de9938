"""Notes on columns that number the rows: a model that learns from them learns the order of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from localsvm.data.files.loading import Loaded, Roles
from localsvm.data.files.table import Schema
from localsvm.data.source import read_blocks

_FEWEST_ROWS = 20  # fewer rise by chance


def column_notes(schema: Schema, roles: Roles, loaded: Loaded) -> Iterator[str]:
    """Yield a sentence on the columns that are left out as an index, and one on those that look like one."""
    without = roles.left_out(schema)
    if without:
        yield f"left out as the index of a data frame: {_quoted(without)}. To use it, name all features by --feature."
    numbering = _row_numbers(loaded)
    if numbering:
        options = " ".join(f"--ignore {name}" for name in numbering)
        yield (
            f"rising from row to row, as a row number or an id does: {_quoted(numbering)}. New rows do not follow the "
            f"order of the file; if it is an id, train without it: {options}."
        )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(repr(name) if name else "the column without a name" for name in names)


def _row_numbers(loaded: Loaded) -> list[str]:
    """Return the numeric columns of whole numbers that rise in every row."""
    table = loaded.table
    if len(table) < _FEWEST_ROWS or table.shown is None:
        return []
    plain = [j for j in range(table.n_columns) if j not in table.names and j not in table.dates]
    rising = np.array(plain, dtype=np.intp)
    last = np.full(table.n_columns, -np.inf)
    for block in read_blocks(table.X):
        if len(rising) == 0:
            break
        values = np.vstack([last[rising], block[:, rising]])
        whole = (block[:, rising] == np.floor(block[:, rising])).all(axis=0)
        rising = rising[whole & (np.diff(values, axis=0) > 0).all(axis=0)]
        last = block[-1].astype(np.float64)
    return [str(table.shown[j]) for j in rising.tolist()]
