"""How much work a fit may take, in one word: the size of the ensemble and of the grid.

Enters: the parameters `effort`, `members` and `grid` of an estimator. Leaves: their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from localsvm.cell.grid import Grid
from localsvm.data.table import Table
from localsvm.errors import InvalidParameter
from localsvm.estimators.columns import MemberColumns
from localsvm.estimators.parameters import check_choice, check_integer
from localsvm.tasks import Probabilities, Reduction
from localsvm.tasks.losses import Squared


@dataclass(frozen=True)
class _Effort:
    members: int
    grid: Grid


# Lams of least squares come from one Krylov space: more of them cost little. Widths cost a kernel matrix each.
_COARSE, _FINE = Grid(n_widths=5, n_lams=9), Grid(n_widths=10, n_lams=17)
_EFFORTS = {"fast": _Effort(1, _COARSE), "default": _Effort(4, _COARSE), "best": _Effort(8, _FINE)}
_WAYS_OF_TABLES = (
    MemberColumns("log", True, "standard"),
    MemberColumns("rank", False, "standard"),
    MemberColumns("log", False, "standard"),
    MemberColumns("rank", True, "standard"),
)
_WAYS_OF_NUMBERS = (
    MemberColumns("log", True, "standard"),
    MemberColumns("rank", True, "standard"),
    MemberColumns("plain", True, "minmax"),
)
_MOST_TRANSFORMED = 1000  # columns of numbers: more are words or pixels
_MOST_CLASSES_OF_ENSEMBLES = 100  # a member of 300 classes in 3000 rows takes 90 processor seconds
_GRID_ALONE = Grid()  # of losses that are not averaged over an ensemble
EFFORTS = tuple(_EFFORTS)


def check_effort(estimator: Any) -> None:
    """Refuse values that make no sense, before the data are read."""
    check_choice("effort", estimator.effort, EFFORTS)
    if estimator.members is not None:
        check_integer("members", estimator.members, 1)
    if estimator.grid is not None:
        Grid.of(estimator.grid)


def is_averaged(reduction: Reduction) -> bool:
    """Return whether ensembles are the default: of the logistic and of the squared loss."""
    return isinstance(reduction, Probabilities) or (
        not reduction.is_classification and isinstance(reduction.loss, Squared)
    )


def count_members(estimator: Any, reduction: Reduction) -> int:
    """Return the number of members of an ensemble."""
    averaged = is_averaged(reduction)
    if estimator.members is None:
        by_effort = _EFFORTS[estimator.effort].members if averaged else 1
        return 1 if estimator.effort == "default" and _has_many_classes(reduction) else by_effort
    if estimator.members > 1 and reduction.is_classification and not averaged:
        raise InvalidParameter(
            f"members={estimator.members}: the scores of the {reduction.loss.name} loss are not averaged over members. "
            "Pass members=1, or loss='logistic'."
        )
    return int(estimator.members)


def _has_many_classes(reduction: Reduction) -> bool:
    return isinstance(reduction, Probabilities) and reduction.n_classes > _MOST_CLASSES_OF_ENSEMBLES


def member_columns(scaling: str | None, count: int, table: Table) -> list[MemberColumns]:
    """Return how every member takes the columns: in turn in several ways, as far as nothing is given."""
    if count == 1:
        return [MemberColumns("plain", True, scaling)]
    if scaling != "auto" or (table.has_only_numbers and table.n_columns > _MOST_TRANSFORMED):
        return [MemberColumns("plain", number % 2 == 0, scaling) for number in range(count)]
    ways = _WAYS_OF_NUMBERS if table.has_only_numbers else _WAYS_OF_TABLES
    return [ways[number % len(ways)] for number in range(count)]


def choose_grid(estimator: Any, reduction: Reduction) -> Grid:
    """Return the grid of a fit."""
    if estimator.grid is not None:
        return Grid.of(estimator.grid)
    return _EFFORTS[estimator.effort].grid if is_averaged(reduction) else _GRID_ALONE
