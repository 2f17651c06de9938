"""The columns of models: training rows encoded as the members of an ensemble take them.

Enters: a table with checked targets and weights. Leaves: an `Encoding`, or None for numbers that are used as they are,
and the rows as each member takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localsvm.data.encoding import Encoding, View, class_indicators, encode_as_given, learn_encoding
from localsvm.data.source import RowSource, block_rows, row_blocks
from localsvm.data.table import Table
from localsvm.data.ties import Ties
from localsvm.data.types import FloatArray


@dataclass(frozen=True)
class MemberColumns:
    """The columns of a member of an ensemble: a view of the encoding, and the scaling of its numbers."""

    numbers: str
    levels: bool
    scaling: str | None


MemberEncoding = tuple[View | None, RowSource]


def encode_training_rows(
    table: Table,
    target: FloatArray,
    weight: FloatArray,
    classes: NDArray[Any] | None,
    members: Sequence[MemberColumns],
    *,
    impute: bool,
    seed: int,
    ties: Ties | None = None,
) -> tuple[Encoding | None, list[MemberEncoding]]:
    """Learn the encoding of training rows, and encode them for every member.

    Numbers none of which is missing are used as they are, in their order, by members that do not transform them; if
    values may be missing later, with medians.
    """
    if table.has_only_numbers and all(member.numbers == "plain" for member in members):
        if not impute:
            return None, [(None, table.X) for _ in members]
        if not _has_missing(table, weight):
            return _as_given(table, weight, members)
    targets = target.reshape(len(target), -1)
    if classes is not None:  # two classes are -1 and 1, more are 0, 1, 2, ...
        targets = class_indicators(np.maximum(target, 0).astype(np.intp), len(classes), weight)
    transforms = {member.numbers for member in members}
    learned = learn_encoding(table, targets, weight, impute=impute, transforms=transforms, seed=seed, ties=ties)
    if table.has_only_numbers and learned.encoding.is_empty and not _has_missing(table, weight):
        return _as_given(table, weight, members)
    views = [learned.encoding.view(member.numbers, member.levels) for member in members]
    return learned.encoding, [(view, learned.encode_training(table, view)) for view in views]


def _as_given(
    table: Table, weight: FloatArray, members: Sequence[MemberColumns]
) -> tuple[Encoding, list[MemberEncoding]]:
    encoding = encode_as_given(table, weight)
    view = encoding.view("plain", levels=True)
    return encoding, [(view, encoding.encode(table, view)) for _ in members]


def _has_missing(table: Table, weight: FloatArray) -> bool:
    """Return whether rows of positive weight have missing values."""
    blocks = row_blocks(0, len(table), block_rows(table.n_columns))
    return any(np.isnan(table.X[block][weight[block] > 0]).any() for block in blocks)
