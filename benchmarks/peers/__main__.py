"""localsvm beside other programs: error, seconds and memory on real sets, in a table and a plot.

    python -m benchmarks.peers                                    everything; some hours
    python -m benchmarks.peers --sets magic bike-mean --peers localsvm LightGBM
    python -m benchmarks.peers --rows 1000 --results /tmp/try     to try it out
    python -m benchmarks.peers --show                             tables and plot of what has been measured

Every program gets an environment of its own under .bench/ when it is first needed. Every run is a process of its own
and a line of benchmarks/results/peers/runs.csv; what is there is not run again without --again, except what was given
up at a smaller limit.
"""

from __future__ import annotations

import argparse
from functools import partial

from benchmarks.command_line import add_run_options, command_parser
from benchmarks.csv_store import RESULTS, CsvStore, Layout, machine, revision
from benchmarks.peers import page, pareto
from benchmarks.peers.compared import compare
from benchmarks.peers.problems import PROBLEMS
from benchmarks.peers.programs import PROGRAMS, measure
from benchmarks.tasks.store import Run

FOLDER = RESULTS / "peers"
LAYOUT = Layout(
    keys=("set", "task", "n_train", "n_test", "split", "program", "settings"),
    figures=("loss", "train", "predict", "peak", "limit", "failed"),
)


def _arguments() -> argparse.Namespace:
    parser = command_parser("peers", __doc__)
    add = parser.add_argument
    add("--sets", nargs="+", choices=tuple(PROBLEMS), default=list(PROBLEMS), metavar="SET", help="all by default")
    add("--peers", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), metavar="PEER", help="all by default")
    add("--splits", type=int, default=1, help="random splits of each set (1)")
    add("--limit", type=float, default=300.0, metavar="SECONDS", help="of a run (300); longer ones are given up")
    add("--rows", type=int, metavar="N", help="train on at most N rows, to try it out")
    add_run_options(parser, FOLDER)
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    print(f"{machine()}; revision {revision()}")
    measured = None if given.show else partial(measure, seconds=given.limit)
    file = given.results / "runs.csv"
    store: CsvStore[Run] = CsvStore(LAYOUT, file, measured, again=given.again, limit=given.limit)
    problems = {name: PROBLEMS[name].at_most(given.rows) for name in given.sets}
    compared = compare(store, problems, given.peers, given.splits)
    results = {name: found for name, found in compared.items() if found.is_measured}
    if not results:
        raise SystemExit(f"{file} has no runs of these sets.")
    page.show(results)
    pareto.draw(results, given.results / "pareto.png")
    page.write(results, given.results, published=given.results == FOLDER)


if __name__ == "__main__":
    main()
