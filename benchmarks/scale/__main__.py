"""Many cells: localsvm against liquidSVM, on millions of rows, by cell size, against chunks and LightGBM.

    python -m benchmarks.scale all --again                        everything, measured now
    python -m benchmarks.scale peers --sets skin --programs localsvm
    python -m benchmarks.scale seeds --sets cod-rna               errors over random seeds
    python -m benchmarks.scale millions --n 100000 1000000
    python -m benchmarks.scale all --show                         tables of what has been measured

Real sets are read from the folder $LOCALSVM_DATA. Every run is a process of its own and a line of
benchmarks/results/scale.csv; what is there is not measured again without --again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from benchmarks.command_line import add_run_options, command_parser
from benchmarks.csv_store import machine, revision
from benchmarks.scale import boosting, cell_sizes, chunks, difficulty, millions, peers, seeds
from benchmarks.scale.problems import ALL, Files
from benchmarks.scale.programs import measure
from benchmarks.scale.store import FILE, LAYOUT, Store

Part = Callable[[Store, argparse.Namespace], None]
PROGRAMS = ("liquidsvm", "localsvm")
PARTS: dict[str, Part] = {
    "peers": lambda store, given: peers.compare(store, given.sets, given.programs, given.threads, given.partition),
    "seeds": lambda store, given: seeds.compare(store, given.sets, given.partition),
    "millions": lambda store, given: millions.measure(store, given.n, given.partition),
    "cell-sizes": lambda store, given: cell_sizes.measure(store, given.partition),
    "chunks": lambda store, given: chunks.compare(store, given.sets, given.partition),
    "lightgbm": lambda store, given: boosting.compare(store, given.partition),
    "check-generators": lambda _, given: None if given.show else difficulty.compare(given.cells),
}


def _arguments() -> argparse.Namespace:
    parser = command_parser("scale", __doc__)
    add = parser.add_argument
    add("part", choices=("all", *PARTS), help="what to measure")
    add("--sets", nargs="+", choices=tuple(ALL), default=list(ALL), help="of peers, seeds and chunks (all)")
    add("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), help="of peers (both)")
    add("--threads", nargs="+", type=int, default=list(peers.THREADS), help="of liquidSVM, the best counts (1 2)")
    add("--n", nargs="+", type=int, default=list(millions.SIZES), help="rows of millions (1e5, 1e6, 1e7)")
    add("--cells", type=int, default=5, help="cells a set of check-generators (5)")
    add("--partition", default="voronoi", help="localsvm's spatial partition (voronoi)")
    add_run_options(parser, FILE)
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    print(f"{machine()}; revision {revision()}")
    with Files() as files:
        measured = None if given.show else partial(measure, files=files)
        store = Store(LAYOUT, given.results, measured, again=given.again)
        for part in PARTS if given.part == "all" else (given.part,):
            PARTS[part](store, given)


if __name__ == "__main__":
    main()
