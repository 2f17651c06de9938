"""Warnings after a fit: hyper-parameters at the edge of the grid, chosen solves that stopped early.

Enters: trained cells and the settings they were trained with. Leaves: sentences with the number of cells and a better
grid, and warnings of them. What concerns few rows, or solves that were not chosen, is no reason to act.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.grid import Grid
from localsvm.cell.path import STATUS
from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import TrainedCell
from localsvm.data.ties import Ties
from localsvm.data.types import FloatArray
from localsvm.decision.decide import Decision
from localsvm.errors import GridEdgeWarning, PrecisionWarning, RareClassWarning, SingleGroupWarning

_MOST_ROWS = 0.05  # in the cells concerned: of fewer rows the model is hardly better after a change
_UNCONVERGED = (STATUS.index("max_steps"), STATUS.index("precision"))
_FACTOR = 5  # by which an advised range is wider than the one that was too narrow


def warn_of_grid(cells: Iterable[TrainedCell], settings: CellSettings, stacklevel: int) -> None:
    """Warn of cells whose best width or lam is an end of the grid, and of choices that could not be certified."""
    choices = grid_choices(cells)
    for sentence in edge_sentences(choices, settings):
        warnings.warn(sentence, GridEdgeWarning, stacklevel)
    for sentence in precision_sentences(choices, settings):
        warnings.warn(sentence, PrecisionWarning, stacklevel)


def warn_of_rare_class(decision: Decision | None, objective: str, stacklevel: int) -> None:
    """Warn of an objective that cannot be estimated from the samples of the rarer class."""
    if decision is not None and decision.too_few is not None:
        warnings.warn(
            f"objective={objective!r} cannot be estimated from {decision.too_few:g} samples of the rarer class; "
            "decisions maximize accuracy instead. Give more samples of that class, or pass false_alarm=.",
            RareClassWarning,
            stacklevel,
        )


def warn_of_single_groups(cells: Sequence[TrainedCell], ties: Ties | None, stacklevel: int) -> None:
    """Warn of cells that were trained without validation, because their samples are all of one group or time."""
    if ties is None:
        return
    what = "time" if ties.ordered else "group"
    count = sum(cell.n_samples > 0 and not np.isfinite(cell.risk) for cell in cells)
    if count:
        warnings.warn(
            f"{count} of {len(cells)} cells have samples of a single {what}: nothing was left to validate them on. "
            f"Give a larger cell_size, so that cells have several {what}s.",
            SingleGroupWarning,
            stacklevel,
        )


@dataclass(frozen=True)
class GridChoice:
    """What a cell has chosen from its grid."""

    kernel: str
    n_samples: int
    edge: str | None
    widths: FloatArray
    lams: FloatArray
    unconverged: NDArray[np.bool_]
    """Which lams have a solve that could not be certified, at any width."""
    gap: float
    """Largest size of a gap that could not be certified; NaN if no such solve was chosen."""


def grid_choices(cells: Iterable[TrainedCell]) -> list[GridChoice]:
    """Return the choices of cells, which are read one after the other."""
    return [_choice(cell) for cell in cells]


def _choice(cell: TrainedCell) -> GridChoice:
    found = cell.certificates
    unconverged = np.asarray(np.isin(found.status, _UNCONVERGED))
    gap = np.nan
    if found.status.size and (
        found.refit_status in _UNCONVERGED or _is_chosen(np.asarray(unconverged.any(axis=2)), cell)
    ):
        gap = float(np.nanmax(np.abs(np.append(found.gap[unconverged], found.refit_gap))))
    lams = np.asarray(unconverged.any(axis=(0, 2)))
    return GridChoice(cell.functions.kernel, cell.n_samples, cell.edge, cell.widths, cell.lams, lams, gap)


def _is_chosen(points: NDArray[np.bool_], cell: TrainedCell) -> bool:
    """Return whether a problem of the cell has chosen one of some points (n_widths, n_lams)."""
    return any(
        bool(points[_nearest(cell.widths, width), _nearest(cell.lams, lam)])
        for width, lam in zip(cell.width, cell.lam, strict=True)
    )


def _nearest(candidates: FloatArray, chosen: float) -> int:
    """Return the place of a choice; the candidates are those of the first problem, which others are close to."""
    return int(np.abs(np.log(candidates / chosen)).argmin())


def edge_sentences(choices: Sequence[GridChoice], settings: CellSettings) -> list[str]:
    """Return which ends of the grid cells with more than a few rows chose, and a grid that goes beyond all of them.

    Smaller lams are no advice where single precision did not suffice for the smallest.
    """
    found: dict[str, list[GridChoice]] = {}
    for choice in choices:
        if choice.edge is not None and not (choice.edge == "smallest lam" and choice.unconverged[-1]):
            found.setdefault(choice.edge, []).append(choice)
    edges = {edge: concerned for edge, concerned in sorted(found.items()) if _is_much(concerned, choices)}
    if not edges:
        return []
    counts = " and ".join(
        f"{len(concerned)} of {len(choices)} cells chose the {edge}" for edge, concerned in edges.items()
    )
    advised = settings.grid
    for edge, some in edges.items():
        advised = _wider(advised, replace(settings, kernel=some[0].kernel).own_grid, edge, some[0])
    return [f"{counts} of the grid; a wider one may predict better: grid={grid_text(advised)}."]


def precision_sentences(choices: Sequence[GridChoice], settings: CellSettings) -> list[str]:
    """Return how many cells with more than a few rows chose solves that could not be certified, and what to do."""
    found = [choice for choice in choices if not np.isnan(choice.gap)]
    if not _is_much(found, choices):
        return []
    gap = max(choice.gap for choice in found)
    advised = _narrower(settings.grid, replace(settings, kernel=found[0].kernel).own_grid, found)
    advice = "" if advised is None else f" It does without the smallest lams: grid={grid_text(advised)}."
    return [
        f"{len(found)} of {len(choices)} cells chose a lam for which single precision does not suffice (duality gaps "
        f"of up to {gap:.2g} in size).{advice}"
    ]


def _is_much(concerned: Sequence[GridChoice], choices: Sequence[GridChoice]) -> bool:
    rows = sum(choice.n_samples for choice in choices)
    return sum(choice.n_samples for choice in concerned) > _MOST_ROWS * rows


def _wider(grid: Grid, used: Grid, edge: str, choice: GridChoice) -> Grid:
    """Return the user's grid with candidates beyond an edge; the others stay what they are."""
    end, name = edge.split()
    candidates = choice.widths if name == "width" else choice.lams
    ratio = float(candidates[0] / candidates[-1]) ** (1 / (len(candidates) - 1))
    more = max(1, math.ceil(math.log(_FACTOR) / math.log(ratio)))
    factor = ratio**more if end == "largest" else ratio**-more
    listed, (low, high) = _ranges(grid, used)[name]
    if listed is not None:
        beyond = _rounded((max(listed) if end == "largest" else min(listed)) * factor)
        values = tuple(sorted((*listed, beyond)))
        return replace(grid, widths=values) if name == "width" else replace(grid, lams=values)
    ends = (_rounded(low), _rounded(high * factor)) if end == "largest" else (_rounded(low * factor), _rounded(high))
    if name == "width":
        return replace(grid, n_widths=grid.n_widths + more, width=ends)
    return replace(grid, n_lams=grid.n_lams + more, lam=ends)


def _ranges(grid: Grid, used: Grid) -> dict[str, tuple[tuple[float, ...] | None, tuple[float, float]]]:
    """Return the listed values, if any, and the ends of widths and lams: those given, else those that were used."""
    return {
        "width": (grid.widths, grid.width or used._width_ends()),
        "lam": (grid.lams, grid.lam or used._lam_ends()),
    }


def _narrower(grid: Grid, ends: Grid, choices: Sequence[GridChoice]) -> Grid | None:
    """Return the user's grid without the lams that could not be certified; None if that are all."""
    smallest = [choice.lams[~choice.unconverged].min(initial=np.inf) for choice in choices]
    if not np.isfinite(smallest).all() or not any(choice.unconverged.any() for choice in choices):
        return None
    if grid.lams is not None:
        return replace(grid, lams=tuple(lam for lam in grid.lams if lam >= max(smallest)))
    low, high = ends._lam_ends()
    low *= max(lam / choice.lams[-1] for lam, choice in zip(smallest, choices, strict=True))
    return replace(grid, lam=(_rounded(low), max(_rounded(high), _rounded(low))))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def grid_text(grid: Grid) -> str:
    """Return a grid as it is written, without what is the default.

    Examples
    --------
    >>> from localsvm import Grid
    >>> from localsvm.estimators.warn import grid_text
    >>> grid_text(Grid(n_widths=5, lam=(0.001, 0.01)))
    'Grid(n_widths=5, lam=(0.001, 0.01))'
    """
    given = [
        f"{field.name}={getattr(grid, field.name)!r}"
        for field in fields(grid)
        if getattr(grid, field.name) != field.default
    ]
    return f"Grid({', '.join(given)})"
