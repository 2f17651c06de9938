"""The runs behind Fig. 3, the time-error figure and most tables: a set, a training size, a partition, a cell size.

Each is a process of its own and a line of runs.csv; what is there is not run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.csv_store import CsvStore, Figures
from benchmarks.paper.scales import SETTINGS, Scale, Series
from benchmarks.scale.problems import Files
from benchmarks.scale.programs import measure
from benchmarks.scale.store import LAYOUT, Run

PARTITIONS = {"voronoi": "cells", "chunks": "random chunks"}


@dataclass(frozen=True)
class Runs:
    """All runs of a scale, measured when they are first asked for."""

    scale: Scale
    store: CsvStore[Run]

    def get(self, series: Series, n_train: int, partition: str, cell_size: int) -> Figures | None:
        """Return the figures of a run; None if the scale leaves it out."""
        smallest = cell_size == self.scale.cell_sizes[0]
        if n_train not in series.sizes_for(partition, cell_size, smallest=smallest):
            return None
        settings = {"partition": partition, "cell_size": cell_size, **SETTINGS}
        return self.store.get(Run(series.problem(n_train), "localsvm", settings))

    def curve(self, series: Series, partition: str, cell_size: int) -> dict[int, Figures]:
        """Return the figures by training size."""
        found = {n: self.get(series, n, partition, cell_size) for n in series.sizes}
        return {n: figures for n, figures in found.items() if figures is not None}


@contextmanager
def runs_of(scale: Scale, *, again: bool = False) -> Iterator[Runs]:
    """Yield the runs of a scale; files of rows are there as long as they are needed."""
    with Files() as files:
        yield Runs(scale, CsvStore(LAYOUT, scale.folder / "runs.csv", partial(measure, files=files), again=again))
