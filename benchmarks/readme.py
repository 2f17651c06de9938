"""The table of the README: errors and seconds beside other programs, from benchmarks/results/accuracy.csv.

python -m benchmarks.readme            print it
python -m benchmarks.readme --write    put it there
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.csv_store import RESULTS
from benchmarks.marked import replace_marked
from benchmarks.results_page import accuracy_lines
from benchmarks.tables import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "README.md"
MARK = "benchmarks.readme"


def table() -> str:
    """Return the table, a column for every program that has been run: its loss, and the seconds of its training."""
    header, *rows = accuracy_lines(pd.read_csv(RESULTS / "accuracy.csv"))
    programs = [name for name in header if f"{name}, s" in header]
    of_set = header[: header.index(programs[0])]
    kept = [name for name in programs if any(row[header.index(f"{name}, s")] != "-" for row in rows)]
    lines = [_line(dict(zip(header, row, strict=True)), of_set, kept) for row in rows]
    return markdown_table([*of_set, *kept], lines) + "\n"


def _line(values: dict[str, str], of_set: list[str], programs: list[str]) -> list[str]:
    return [*(values[name] for name in of_set), *(_reached(values[name], values[f"{name}, s"]) for name in programs)]


def _reached(loss: str, seconds: str) -> str:
    """Return the loss with the seconds, or how long a program was waited for in vain."""
    if loss == "-":
        return "-" if seconds == "-" else f"{seconds} s"
    return f"{loss} ({seconds} s)"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.readme", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    if parser.parse_args().write:
        replace_marked(PAGE, MARK, table())
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
