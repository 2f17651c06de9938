"""Probabilities, ranking and regression on mixed and numeric data sets: localsvm and gradient boosting.

    python -m benchmarks.accuracy                                      all development sets and programs; many hours
    python -m benchmarks.accuracy --sets adult kc_house --programs localsvm CatBoost
    python -m benchmarks.accuracy --rows 2000 --splits 1 --results /tmp/try.csv
    python -m benchmarks.accuracy --sets reserve --programs CatBoost   the reserve, without localsvm
    python -m benchmarks.accuracy --show                               tables of what has been measured

Measures: ROC-AUC and log-loss of two classes, log-loss of more, RMSE in standard deviations of the target on the
training rows; classification and calibration error, processor seconds of the fit, seconds, prediction time, memory.
All programs have the same training and test rows and two threads. Every run is a process of its own and a line of
benchmarks/results/accuracy.csv; runs that are there are not repeated, and a program that has exceeded the limit on the
first split of a set is not run on the others. Sets are read from $LOCALSVM_DATA and from packages. Reserve sets are for
a final comparison: localsvm runs on them only with --reserve.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import pandas as pd

from benchmarks.accuracy.programs import LAYOUT, OURS, PEERS, PROGRAMS, run
from benchmarks.accuracy.sets import SETS, DataSet, read_split
from benchmarks.accuracy.tables import tables
from benchmarks.command_line import add_run_options, command_parser
from benchmarks.csv_store import RESULTS, CsvStore, Figures, Key, machine, revision
from benchmarks.tables import print_table

FILE = RESULTS / "accuracy.csv"
LIMIT = 900.0
GROUPS = {
    "development": [name for name, chosen in SETS.items() if not chosen.reserve],
    "reserve": [name for name, chosen in SETS.items() if chosen.reserve],
}


@dataclass(frozen=True)
class Run:
    """What is measured: a program on a split of a set."""

    chosen: DataSet
    number: int
    program: str
    most_train: int | None

    def __str__(self) -> str:
        return f"{self.chosen.name}, split {self.number}, {self.program}"

    @property
    def key(self) -> Key:
        n_train, n_test = self.chosen.sizes(self.most_train)
        return (self.chosen.name, self.chosen.kind, str(n_train), str(n_test), str(self.number), self.program)


def measure_all(store: CsvStore[Run], given: argparse.Namespace) -> None:
    """Measure what is missing: small sets first, and the first split of all sets before the others."""
    by_size = sorted((SETS[name] for name in given.sets), key=lambda chosen: chosen.n_train)
    most_splits = given.splits or max(chosen.n_splits for chosen in by_size)
    for number in range(most_splits):
        for chosen in by_size:
            for program in given.programs if number < (given.splits or chosen.n_splits) else ():
                first = store.known(Run(chosen, 0, program, given.rows)) if number else None
                if not (first and "limit" in first):
                    store.get(Run(chosen, number, program, given.rows))


def _arguments() -> argparse.Namespace:
    parser = command_parser("accuracy", __doc__)
    add = parser.add_argument
    named = {"nargs": "+", "metavar": "NAME"}
    add("--sets", **named, default=["development"], help=f"{', '.join([*GROUPS, *SETS])}")
    default = [name for name in [*OURS, *PEERS] if name != "xRFM"]
    add("--programs", **named, default=default, help=f"of {', '.join(PROGRAMS)}; default: {', '.join(default)}")
    add("--splits", type=int, help="the first splits of each set (3, or 1 with 50 000 training rows and more)")
    add("--rows", type=int, metavar="N", help="train on at most N rows, to try it out")
    add("--limit", type=float, default=LIMIT, metavar="SECONDS", help="processor seconds of a run (900)")
    add("--reserve", action="store_true", help="run localsvm on reserve sets, too, and show its results there")
    add_run_options(parser, FILE)
    given = parser.parse_args()
    given.sets = [name for each in given.sets for name in GROUPS.get(each, [each])]
    _check(parser, given)
    return given


def _check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    for option, known in (("sets", SETS), ("programs", PROGRAMS)):
        unknown = [name for name in getattr(given, option) if name not in known]
        if unknown:
            parser.error(f"--{option}: {', '.join(unknown)} unknown; there are {', '.join(known)}.")
    kept = [name for name in given.sets if SETS[name].reserve]
    ours = [name for name in given.programs if PROGRAMS[name].is_ours]
    if kept and ours and not (given.reserve or given.show):
        parser.error(
            f"{', '.join(kept)}: reserve sets, on which {', '.join(ours)} may not be tuned. "
            "Choose other --programs, or pass --reserve for the final comparison."
        )


def main() -> None:
    given = _arguments()
    print(f"{machine()}; revision {revision()}")
    if not given.show:

        def measure(one: Run) -> Figures:
            split = read_split(one.chosen, one.number, one.most_train)
            return run(one.program, one.chosen, split, given.limit)

        measure_all(CsvStore(LAYOUT, given.results, measure, again=given.again, limit=given.limit), given)
    if not given.results.exists():
        raise SystemExit(f"{given.results}: no such file; nothing has been measured.")
    runs = pd.read_csv(given.results)
    chosen = runs["set"].isin(given.sets) & (runs["split"] < (given.splits or len(runs)))
    for table in tables(runs[chosen], reserve=given.reserve):
        header, *lines = table.lines
        print_table(f"{table.title}. {table.note}".removesuffix(". "), header, lines)


if __name__ == "__main__":
    main()
