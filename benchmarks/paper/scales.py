"""What is run at each scale, and the paper's settings: the one place where they are.

`full` is the paper, with the sets that are to be had, and a generated set of HIGGS's shape for the millions. `small` is
about a tenth of it on bundled and generated rows: everything, within minutes, on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.csv_store import RESULTS
from benchmarks.scale.problems import PAPER, Problem
from benchmarks.workers import PLAIN

SETTINGS: dict[str, Any] = {**PLAIN, "grid": "paper", "scaling": "minmax"}
"""Of `LocalSVC`, as JSON can hold them: what the paper did, where localsvm's defaults do otherwise."""


@dataclass(frozen=True)
class Series:
    """A set at growing training sizes, the last one all there is; the test rows are the same for all."""

    name: str
    sizes: tuple[int, ...]
    n_test: int
    stands_for: str
    """The set of the paper."""
    n_features: int
    origin: str
    streamed: bool = False
    most_work: float = float("inf")
    """Rows times cell size that are still trained on; beyond that, only the smallest cells are."""
    most_chunked: int = 10**9
    """Rows that are still cut into random chunks: all of them predict every test row."""

    def problem(self, n_train: int) -> Problem:
        return Problem(self.name, n_train, self.n_test, streamed=self.streamed)

    def sizes_for(self, partition: str, cell_size: int, *, smallest: bool) -> list[int]:
        """Return the training sizes that are run with cells, or chunks, of this size."""
        most = self.most_chunked if partition == "chunks" else self.sizes[-1]
        return [n for n in self.sizes if cell_size <= n <= most and (smallest or n * cell_size <= self.most_work)]


@dataclass(frozen=True)
class Rates:
    """The toy problem of Fig. 2: sizes by dimension, runs of each, and rows that measure the risk."""

    sizes: dict[int, tuple[int, ...]]
    n_runs: int
    n_test: int


@dataclass(frozen=True)
class Scale:
    """What a scale runs, and where its results are."""

    name: str
    toy_rows: int
    toy_cell: int
    rates: Rates
    cell_sizes: tuple[int, ...]
    series: tuple[Series, ...]
    n_compared: int
    """Training rows at which the times of prediction are compared."""
    results: Path = RESULTS / "paper"

    @property
    def folder(self) -> Path:
        """Where its CSVs and pictures are."""
        return self.results / self.name


def _paper_set(name: str, origin: str, n_features: int, *sizes: int) -> Series:
    problem = PAPER[name]
    sizes = (*sizes, problem.n_train)
    return Series(name, sizes, problem.n_test, name, n_features, origin, most_chunked=250_000)


def _rates(largest: int, n_runs: int, n_test: int) -> Rates:
    sizes = tuple(500 * 2**step for step in range(12) if 500 * 2**step <= largest)
    return Rates({d: sizes for d in (4, 8, 16)}, n_runs, n_test)


FULL = Scale(
    name="full",
    toy_rows=20_000,
    toy_cell=2000,
    rates=_rates(32_000, n_runs=20, n_test=50_000),
    cell_sizes=(2000, 5000, 10_000, 15_000),
    series=(
        Series(
            "higgslike",
            (50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000),
            n_test=100_000,
            stands_for="higgs",
            n_features=28,
            origin="generated",
            streamed=True,
            most_work=2.5e9,
            most_chunked=100_000,
        ),
        Series("higgs_26k", (5000, 10_000, 20_000), 5970, "higgs", 28, "UCI, some rows"),
        Series("susy_10k", (2000, 4000, 8000), 2000, "susy", 18, "UCI, some rows"),
        _paper_set("covtype", "UCI", 54, 50_000, 100_000, 250_000),
        _paper_set("cod-rna", "LIBSVM", 8, 50_000, 100_000),
        _paper_set("skin", "UCI", 3, 50_000, 100_000),
    ),
    n_compared=100_000,
)
SMALL = Scale(
    name="small",
    toy_rows=10_000,
    toy_cell=1500,
    rates=_rates(4000, n_runs=5, n_test=10_000),
    cell_sizes=(200, 500, 1000, 1500),
    series=(
        Series("higgslike", (2500, 5000, 10_000, 25_000), 10_000, "higgs", 28, "generated", streamed=True),
        Series("covtype_sample", (2500, 5000, 10_000, 15_000), 5000, "covtype", 54, "UCI, bundled rows"),
    ),
    n_compared=10_000,
)
SCALES = {scale.name: scale for scale in (SMALL, FULL)}
