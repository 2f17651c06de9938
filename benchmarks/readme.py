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
    """Return the table; programs that have not been run are no columns."""
    header, *rows = accuracy_lines(pd.read_csv(RESULTS / "accuracy.csv"))
    kept = [column for column in range(len(header)) if any(row[column] != "-" for row in rows)]
    header, *rows = ([line[column] for column in kept] for line in (header, *rows))
    return markdown_table(header, rows) + "\n"


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
