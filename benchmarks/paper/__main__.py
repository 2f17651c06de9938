"""The paper's figures and tables: a CSV and a picture each, in benchmarks/results/paper/SCALE.

    python -m benchmarks.paper all --scale small      everything at about a tenth, on bundled rows: minutes
    python -m benchmarks.paper all --scale full       as the paper, about two and a half hours on two cores
    python -m benchmarks.paper fig2 --scale full      one of them
    python -m benchmarks.paper runs --scale full --sets skin    what Fig. 3 and the tables need of a set
    python -m benchmarks.paper page --scale full      docs/paper.md from what has been measured
    python -m benchmarks.paper all --results /tmp/try --scale small    committed results stay as they are

The full scale reads real sets from the folder $LOCALSVM_DATA. What has been run is a line of a CSV and is not run again
without --again; a run that is stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.command_line import command_parser
from benchmarks.csv_store import machine, revision
from benchmarks.paper import check, fig1, fig2, fig3, page, tables
from benchmarks.paper.runs import runs_of
from benchmarks.paper.scales import SCALES, Scale


def _fig3(scale: Scale, again: bool) -> None:
    with runs_of(scale, again=again) as runs:
        fig3.make(runs)


def _runs(scale: Scale, again: bool) -> None:
    with runs_of(scale, again=again) as runs:
        for series in scale.series:
            fig3.curves_of(runs, series)


def _tables(scale: Scale, again: bool) -> None:
    with runs_of(scale, again=again) as runs:
        tables.make(runs)


def _all(scale: Scale, again: bool) -> None:
    fig1.make(scale)
    fig2.make(scale, again=again)
    with runs_of(scale, again=again) as runs:  # one session: with --again, what the tables need is run once
        fig3.make(runs)
        tables.make(runs)
    page.make(scale)
    check.make(scale)


PARTS: dict[str, Callable[[Scale, bool], None]] = {
    "all": _all,
    "fig1": lambda scale, _: fig1.make(scale),
    "fig2": lambda scale, again: fig2.make(scale, again=again),
    "fig3": _fig3,
    "tables": _tables,
    "runs": _runs,
    "page": lambda scale, _: page.make(scale),
    "check": lambda scale, _: check.make(scale),
}


def main() -> None:
    parser = command_parser("paper", __doc__)
    parser.add_argument("part", choices=tuple(PARTS), help="what to make; fig3 is also the time-error figure")
    parser.add_argument("--scale", choices=tuple(SCALES), default="small", help="small (default) or full")
    parser.add_argument("--again", action="store_true", help="run what has been run before, too")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="where CSVs and pictures go")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="of runs; all by default")
    given = parser.parse_args()
    print(f"{machine()}; revision {revision()}")
    PARTS[given.part](_chosen(given, parser), given.again)


def _chosen(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Scale:
    """Return the scale, with other results or fewer sets if that is wanted."""
    scale = SCALES[given.scale]
    if given.results:
        scale = replace(scale, results=given.results)
    if given.sets is None:
        return scale
    by_name = {series.name: series for series in scale.series}
    if given.part != "runs" or not by_name.keys() >= set(given.sets):
        parser.error(f"--sets is for runs, and the {scale.name} scale has {', '.join(by_name)}")
    return replace(scale, series=tuple(by_name[name] for name in given.sets))


if __name__ == "__main__":
    main()
