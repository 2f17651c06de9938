"""Learning tasks: localsvm against liquidSVM, its probabilities, and rare classes.

    python -m benchmarks.tasks all --again                        everything, measured now
    python -m benchmarks.tasks peers --sets bike --programs localsvm
    python -m benchmarks.tasks peers --sets covtype7 --full       all of its rows, one split
    python -m benchmarks.tasks all --rows 3000 --splits 2 --results /tmp/try.csv
    python -m benchmarks.tasks all --show                         tables of what has been measured

Real sets are read from the folder $LOCALSVM_DATA. Every run is a process of its own and a line of
benchmarks/results/tasks.csv; what is there is not measured again without --again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from benchmarks.command_line import add_run_options, command_parser
from benchmarks.csv_store import machine, revision
from benchmarks.tasks import imbalance, peers, probabilities
from benchmarks.tasks.problems import IMBALANCE, PEERS, PROBABILITIES
from benchmarks.tasks.programs import measure
from benchmarks.tasks.store import FILE, LAYOUT, Store
from benchmarks.workers import CELL_SIZE

PROGRAMS = ("liquidsvm", "localsvm")


def _peers(store: Store, given: argparse.Namespace) -> None:
    chosen = (peers.problem_of(name, full=given.full) for name in given.sets)
    problems = {problem.at_most(given.rows): given.splits or n_splits for problem, n_splits in chosen}
    peers.compare(store, problems, given.programs, given.threads, given.cell_size)


def _probabilities(store: Store, given: argparse.Namespace) -> None:
    n_splits = given.splits or probabilities.N_SPLITS
    probabilities.compare(store, {problem.at_most(given.rows): n_splits for problem in PROBABILITIES.values()})


def _imbalance(store: Store, given: argparse.Namespace) -> None:
    imbalance.compare(store, IMBALANCE.at_most(given.rows), given.splits or imbalance.N_SPLITS)


PARTS: dict[str, Callable[[Store, argparse.Namespace], None]] = {
    "peers": _peers,
    "probabilities": _probabilities,
    "imbalance": _imbalance,
}


def _arguments() -> argparse.Namespace:
    parser = command_parser("tasks", __doc__)
    add = parser.add_argument
    add("part", choices=("all", *PARTS), help="what to measure")
    add("--sets", nargs="+", choices=tuple(PEERS), default=list(PEERS), help="of peers (all)")
    add("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), help="of peers (both)")
    add("--threads", nargs="+", type=int, default=list(peers.THREADS), help="of liquidSVM, the best counts (1 2)")
    add("--cell-size", type=int, default=CELL_SIZE, help="of localsvm in peers (2000)")
    add("--full", action="store_true", help="all rows of covtype7, instead of 100 000 to train on")
    add("--splits", type=int, help="random splits of each set (3 or 5)")
    add("--rows", type=int, metavar="N", help="train on at most N rows, to try it out")
    add_run_options(parser, FILE)
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    print(f"{machine()}; revision {revision()}")
    store = Store(LAYOUT, given.results, None if given.show else measure, again=given.again)
    for part in PARTS if given.part == "all" else (given.part,):
        PARTS[part](store, given)


if __name__ == "__main__":
    main()
