"""Rows to predict as the members of a fitted estimator take them.

Enters: what users give. Leaves: `MemberRows`, checked and encoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from localsvm.data.content import Keys, content_hash
from localsvm.data.encoding import CodedRows, Encoding
from localsvm.data.source import RowSource
from localsvm.data.table import Table
from localsvm.estimators.features import check_features
from localsvm.model.ensemble import Member, MemberRows

if TYPE_CHECKING:
    from localsvm.estimators.base import LocalEstimator

RowsLike = ArrayLike | Table | MemberRows
"""What users give: arrays, sparse matrices, data frames; or what was read from a file."""


def check_rows(estimator: LocalEstimator, X: RowsLike) -> RowSource:
    """Return rows to predict as the first member of a fitted estimator takes them."""
    return _encoded(estimator, check_features(estimator, X, reset=False), estimator.members_[0])


def member_rows(estimator: LocalEstimator, X: RowsLike) -> MemberRows:
    """Return rows to predict as each member takes them; those that are prepared stay what they are."""
    return X if isinstance(X, MemberRows) else checked_rows(estimator, check_features(estimator, X, reset=False))


def checked_rows(estimator: LocalEstimator, features: Table) -> MemberRows:
    """Return the rows of a table that was checked as each member takes them."""
    of_members = tuple(_encoded(estimator, features, member) for member in estimator.members_)
    return MemberRows(of_members, _hashes(estimator, features))


def rows_by_content(features: Table, columns: Encoding | None) -> RowSource:
    """Return rows by which duplicates are found."""
    return features.X if columns is None else CodedRows.of(features, columns)


def _hashes(estimator: LocalEstimator, features: Table) -> Keys | None:
    """Return the hashes by which duplicates in training are found, if they count."""
    if estimator._duplicates is None:
        return None
    return content_hash(rows_by_content(features, estimator.columns_), estimator._duplicates.seed)


def _encoded(estimator: LocalEstimator, features: Table, member: Member) -> RowSource:
    if estimator.columns_ is None or member.view is None:
        return features.X
    return estimator.columns_.encode(features, member.view)
