"""Signatures: hashes of rows, columns and levels that depend on content only.

Enters: a table and its distinct rows. Leaves: `Signatures`. Neither the order of rows and columns nor the names of
levels matter, and targets matter only where nothing else tells two levels apart.

A value has the hash of its bits, a level at first that of its weight. Then, as in color refinement of graphs
(Weisfeiler and Leman), whatever belongs together is hashed together: a column is the sum of its values, a row the sum
of its values, each mixed with its column; a level becomes the sum of its rows, a column the sum of its values, each
mixed with its row, and the rows are summed once more. Sums of integers modulo 2^64 have no order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.distinct import Inputs, Units
from localsvm.data.encoding.levels import Levels, code_slots, level_weights
from localsvm.data.rows import smallest_hashes
from localsvm.data.table import Table, each_column
from localsvm.data.types import FloatArray, IndexArray

Hashes = NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SAMPLED_INPUTS = 4096


@dataclass(frozen=True)
class Signatures:
    """Hashes of the distinct rows of a table and of its columns, and the levels of its categories."""

    inputs: Hashes
    columns: dict[int, int]
    levels: dict[int, Levels]
    sampled: dict[int, IndexArray]
    """The levels of a few inputs, by column of categories: the same inputs for all of them."""
    empty: frozenset[int]
    """Columns without any value."""


def sign(table: Table, inputs: Inputs, units: Units) -> Signatures:
    """Hash the content of a table."""
    first, weights = _sign_by_weights(table, inputs)
    sample = smallest_hashes(first, _SAMPLED_INPUTS)
    second = np.zeros(len(inputs), dtype=np.uint64)
    signatures = Signatures(second, {}, {}, {}, frozenset())
    empty = set()
    seen: Counter[int] = Counter()
    for j, column in _columns(table, inputs.rows):
        if np.isnan(column).all():
            empty.add(j)
        if j in table.names:
            slots = code_slots(column, len(table.names[j]))
            hashes = mix(weights[j].view(np.uint64) ^ mix(_sums(first, slots, len(weights[j]))))
            hashes = _split_ties(hashes, weights[j] > 0, table, j, units)
            levels = Levels.sorted(j, table.names[j], weights[j], hashes)
            signatures.levels[j], signatures.sampled[j] = levels, levels.slots[slots[sample]]
            values = hashes[slots]
        else:
            values = mix(_bits(column))
        own = mix(_sum(mix(values ^ first)))
        seen[int(own[0])] += 1
        own = mix(own + np.uint64(seen[int(own[0])]))  # equal columns are told apart by their position
        signatures.columns[j] = int(own[0])
        second += _varying(values, own)
    return replace(signatures, inputs=mix(second), empty=frozenset(empty))


def _sign_by_weights(table: Table, inputs: Inputs) -> tuple[Hashes, dict[int, FloatArray]]:
    """Return hashes of rows in which a level is known by its weight only, and the weights of levels by column."""
    rows = np.zeros(len(inputs), dtype=np.uint64)
    weights = {}
    for j, column in _columns(table, inputs.rows):
        if j in table.names:
            slots = code_slots(column, len(table.names[j]))
            weights[j] = level_weights(slots, inputs.weight, len(table.names[j]) + 1)
            values = mix(weights[j].view(np.uint64))[slots]
        else:
            values = mix(_bits(column))
        rows += _varying(values, mix(_sum(values)))
    return rows, weights


def mix(h: Hashes) -> Hashes:
    """Return hashes of integers: the finalizer of splitmix64."""
    h = h + _MULTIPLIER
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(h ^ (h >> np.uint64(31)))


def _varying(values: Hashes, column: Hashes) -> Hashes:
    """Return what values add to the hashes of their rows: nothing if they are all equal."""
    return mix(values ^ column) if (values != values[0]).any() else np.zeros_like(values)


def _columns(table: Table, rows: IndexArray) -> Iterator[tuple[int, FloatArray]]:
    wanted = range(table.n_columns)
    for j, column in zip(wanted, each_column(table.X, wanted), strict=True):
        yield j, column[rows].astype(np.float64)


def _bits(numbers: FloatArray) -> Hashes:
    """Return the bits of numbers; -0 has those of 0, and all missing numbers the same."""
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)


def _sum(hashes: Hashes) -> Hashes:
    """Return the sum modulo 2^64."""
    return np.asarray(hashes.sum(keepdims=True, dtype=np.uint64))


def _sums(hashes: Hashes, slots: IndexArray, count: int) -> Hashes:
    """Return sums modulo 2^64 by slot, of three parts of the bits that floats can sum exactly up to 2^31 rows."""
    total = np.zeros(count, dtype=np.uint64)
    for shift in (0, 22, 44):
        part = (hashes >> np.uint64(shift)) & np.uint64((1 << 22) - 1)
        total += np.bincount(slots, part.astype(np.float64), count).astype(np.uint64) << np.uint64(shift)
    return total


def _split_ties(hashes: Hashes, occurs: NDArray[np.bool_], table: Table, column: int, units: Units) -> Hashes:
    """Return hashes in which equal ones are told apart by the targets of their levels, then by their names."""
    if len(np.unique(hashes[occurs])) == occurs.sum():
        return hashes
    names = table.names[column]
    (codes,) = each_column(table.X, [column])
    slots = code_slots(codes[units.rows], len(names))
    sums = [np.bincount(slots, units.weight * target, len(hashes)) for target in units.targets.T]
    by_name = np.empty(len(hashes), dtype=np.intp)
    by_name[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    by_name[len(names) :] = len(names)
    order = np.lexsort((by_name, *sums[::-1], hashes))
    is_new = np.concatenate([[True], np.diff(hashes[order]) != 0])
    begin = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
    split = np.empty_like(hashes)
    split[order] = mix(hashes[order] + (np.arange(len(order)) - begin).astype(np.uint64))
    return split
