"""Warnings after a fit: hyper-parameters at the edge of the grid, solves that stopped early.

Enters: trained cells and the settings they were trained with. Leaves: sentences with the number of cells or solves and
a better grid, and warnings of them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np

from localsvm.cell.grid import Grid
from localsvm.cell.settings import CellSettings
from localsvm.cell.trained import TrainedCell
from localsvm.data.ties import Ties
from localsvm.decision.decide import Decision
from localsvm.errors import GridEdgeWarning, PrecisionWarning, RareClassWarning, SingleGroupWarning

_FEW = 0.002  # of the solves: in a corner of the grid single precision may not suffice, which does no harm
_FACTOR = 5  # by which an advised range is wider than the one that was too narrow


def warn_of_edges(cells: Sequence[TrainedCell], settings: CellSettings, stacklevel: int) -> None:
    """Warn of cells whose best width or lam is an end of the grid."""
    for sentence in edge_sentences(cells, settings):
        warnings.warn(sentence, GridEdgeWarning, stacklevel)


def warn_of_precision(cells: Sequence[TrainedCell], settings: CellSettings, stacklevel: int) -> None:
    """Warn of solves that could not be certified."""
    for sentence in precision_sentences(cells, settings):
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


def edge_sentences(cells: Sequence[TrainedCell], settings: CellSettings) -> list[str]:
    """Return how many cells chose which end of the grid, and what to do."""
    counts = Counter(cell.edge for cell in cells if cell.edge is not None)
    return [
        f"{count} of {len(cells)} cells chose the {edge}; {_wider(settings.own_grid, edge)}."
        for edge, count in sorted(counts.items())
    ]


def precision_sentences(cells: Sequence[TrainedCell], settings: CellSettings) -> list[str]:
    """Return how many solves could not be certified, if they are more than a few, and what to do."""
    unconverged = sum(cell.certificates.n_unconverged for cell in cells)
    solves = sum(int(np.isfinite(cell.certificates.gap).sum()) * len(cell.width) for cell in cells)
    if unconverged <= _FEW * solves:
        return []
    # Cells of one class have no solves.
    gap = max(float(np.nanmax(np.abs(cell.certificates.gap))) for cell in cells if cell.certificates.gap.size)
    return [
        f"{unconverged} of {solves} solves could not be certified (gaps of up to {gap:.2g} in size); this "
        f"happens at very small lam. Leave such lams out{_narrower(settings.own_grid)}."
    ]


def _wider(grid: Grid, edge: str) -> str:
    """Return the advice for an edge, with a range of the user's own rule."""
    end, name = edge.split()
    if getattr(grid, f"{name}s") is not None:
        return f"add {'larger' if end == 'largest' else 'smaller'} values to Grid({name}s=...)"
    low, high = grid._width_ends() if name == "width" else grid._lam_ends()
    low, high = (low, high * _FACTOR) if end == "largest" else (low / _FACTOR, high)
    rule = "" if grid.rule == "default" else f", rule={grid.rule!r}"
    return f"widen it with Grid({name}=({low:g}, {high:g}){rule})"


def _narrower(grid: Grid) -> str:
    if grid.lams is not None:
        return " of Grid(lams=...)"
    low, high = grid._lam_ends()
    return f", for example with Grid(lam=({low * _FACTOR:g}, {max(high, low * _FACTOR):g}))"
