"""Learning an encoding from training rows.

Enters: a `Table`, targets, weights. Leaves: `LearnedEncoding`: an `Encoding` for new rows, and what training rows need
so that no row is encoded with its own target.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding.categories import Category, make_category
from localsvm.data.encoding.cycles import learn_cycles
from localsvm.data.encoding.distinct import Inputs, Units, distinct_inputs, distinct_units
from localsvm.data.encoding.encoding import EncodedRows, Encoding, FoldMeans, Kind, View
from localsvm.data.encoding.folds import content_folds
from localsvm.data.encoding.levels import Levels, code_slots
from localsvm.data.encoding.nesting import coarser_slots, find_coarser, is_nested
from localsvm.data.encoding.numbers import TRANSFORMS, learn_numbers, numbers_as_given
from localsvm.data.encoding.signature import Signatures, sign
from localsvm.data.encoding.target_means import FoldedTargets, Nesting, TargetMeans, learn_means
from localsvm.data.table import Table, each_column
from localsvm.data.ties import Ties
from localsvm.data.types import FloatArray, IndexArray
from localsvm.errors import InvalidData


@dataclass(frozen=True, eq=False)
class LearnedEncoding:
    """An encoding, and the folds of the rows that it was learned from."""

    encoding: Encoding
    training: FoldMeans

    def encode_training(self, table: Table, view: View) -> EncodedRows:
        """Return the training rows in the columns of a view: target means are those of the other folds."""
        new = self.encoding.encode(table, view)
        return EncodedRows(new.source, new.encoding, new.view, new.slots, self.training)


def learn_encoding(
    table: Table,
    targets: FloatArray,
    weight: FloatArray,
    *,
    impute: bool = True,
    ties: Ties | None = None,
    transforms: Collection[str] = TRANSFORMS,
    seed: int = 0,
) -> LearnedEncoding:
    """Learn how to encode the columns of a table.

    Parameters
    ----------
    table : Table
        Training rows.
    targets : ndarray of shape (n_rows, n_targets)
        Numbers whose means are used for levels: see `class_indicators` for classes.
    weight : ndarray of shape (n_rows,)
        Weights of the rows; those of weight 0 are as if absent.
    impute : bool
        Whether values may be missing in rows that are encoded later.
    ties : Ties, optional
        Rows of a group share a fold, or those of a block of time. By default each row has its own, with its duplicates.
    transforms : collection of {"plain", "log", "rank"}
        Transforms of numbers that views will use.
    seed : int
        Seed of the folds.

    Returns
    -------
    LearnedEncoding
        The encoding, and the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from localsvm.data.encoding import learn_encoding
    >>> from localsvm.data.table import Table
    >>> rows = np.column_stack([np.arange(90.0), np.repeat([0.0, 1.0, 2.0], [40, 30, 20])])
    >>> table = Table(rows, {1: ("a", "b", "c")})
    >>> learned = learn_encoding(table, targets=(rows[:, 1:] == 1).astype(float), weight=np.ones(90))
    >>> view = learned.encoding.view("rank")
    >>> view.names(["size", "letter"])
    ['size', 'letter: target mean', 'letter = a', 'letter = b', 'letter = c']
    >>> learned.encode_training(table, view)[:2].round(2).tolist()
    [[0.0, -0.75, 2.01, 0.0, 0.0], [0.01, -0.71, 2.01, 0.0, 0.0]]
    """
    inputs = distinct_inputs(table.X, weight)
    units = distinct_units(inputs, targets, weight, None if ties is None else ties.number)
    signatures = sign(table, inputs, units)
    numbers = learn_numbers(table, inputs.rows, inputs.weight, signatures.columns, transforms)
    cycles = learn_cycles(table, inputs.rows, inputs.weight, signatures.columns)
    fold = content_folds(inputs, signatures.inputs, ties, seed)
    categories = _learn_categories(table, inputs, units, signatures, fold)
    encoding = Encoding(
        kinds=tuple(_kind(table, j, signatures.empty) for j in range(table.n_columns)),
        numbers=numbers,
        cycles=cycles,
        categories=tuple(category for category, _ in categories),
        imputes=impute,
    )
    if all(kind == "empty" for kind in encoding.kinds):
        raise InvalidData("all values of all columns are missing: there is nothing to learn from.")
    return LearnedEncoding(encoding, FoldMeans(fold, tuple(means for _, means in categories)))


def encode_as_given(table: Table, weight: FloatArray) -> Encoding:
    """Return the encoding of numbers none of which is missing: they stay as they are.

    Medians are learned for values that are missing later.
    """
    kinds: list[Kind] = ["number"] * table.n_columns
    return Encoding(tuple(kinds), numbers_as_given(table, weight), (), (), imputes=True)


def _kind(table: Table, column: int, empty: frozenset[int]) -> Kind:
    if column in empty:
        return "empty"
    return "category" if column in table.names else "date" if column in table.dates else "number"


def _learn_categories(
    table: Table, inputs: Inputs, units: Units, signatures: Signatures, fold: NDArray[np.uint8]
) -> list[tuple[Category, FloatArray]]:
    """Return the categories with at least two levels, in the order of their signatures, with their means by fold."""
    levels = {j: found for j, found in signatures.levels.items() if found.n_seen > 1}
    if not levels:
        return []
    targets = FoldedTargets.of(units, fold[units.rows])
    coarser = find_coarser(levels, signatures.sampled, signatures.columns)
    found: dict[int, tuple[Category, FloatArray]] = {}
    means: dict[int, TargetMeans] = {}
    for j in sorted(levels, key=lambda j: (levels[j].n_seen, signatures.columns[j])):  # coarser ones first
        nesting = _nesting(table, inputs, levels[j], levels[coarser[j]], means) if j in coarser else None
        learned = learn_means(targets, _slots(table, levels[j], units.rows), levels[j].n_slots, nesting)
        found[j] = make_category(levels[j], learned, None if nesting is None else nesting.column)
        if j in coarser.values():
            means[j] = learned
    return [found[j] for j in sorted(found, key=signatures.columns.__getitem__)]


def _nesting(
    table: Table, inputs: Inputs, fine: Levels, coarse: Levels, means: Mapping[int, TargetMeans]
) -> Nesting | None:
    """Return the coarser level of each finer one, unless they are nested in the sample only."""
    fine_slots, coarse_slots = _slots(table, fine, inputs.rows), _slots(table, coarse, inputs.rows)
    if not is_nested(fine_slots, coarse_slots):
        return None
    slots = coarser_slots(fine_slots, coarse_slots, inputs.weight, fine.n_slots, coarse.n_slots)
    return Nesting(coarse.column, slots, means[coarse.column].means[:, slots])


def _slots(table: Table, levels: Levels, rows: IndexArray) -> IndexArray:
    (codes,) = each_column(table.X, [levels.column])
    return levels.slots[code_slots(codes[rows], len(levels.slots) - 1)]
