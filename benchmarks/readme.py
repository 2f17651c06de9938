"""The README's table of errors and training times of localsvm and others, from benchmarks/results/learned_metric.csv.

python -m benchmarks.readme            print it
python -m benchmarks.readme --write    write it to README.md
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.command_line import command_parser
from benchmarks.csv_store import RESULTS
from benchmarks.marked import replace_marked
from benchmarks.results_page import learned_metric_lines
from benchmarks.tables import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "README.md"
MARK = "benchmarks.readme"


def table() -> str:
    """Return the table: one column per program that has been run, with its loss and training seconds."""
    header, *rows = learned_metric_lines(pd.read_csv(RESULTS / "learned_metric.csv"))
    programs = [name for name in header if f"{name}, s" in header]
    of_set = header[: header.index(programs[0])]
    kept = [name for name in programs if any(row[header.index(f"{name}, s")] != "-" for row in rows)]
    lines = [_line(dict(zip(header, row, strict=True)), of_set, kept) for row in rows]
    return markdown_table([*of_set, *kept], lines) + "\n"


def _line(values: dict[str, str], of_set: list[str], programs: list[str]) -> list[str]:
    return [*(values[name] for name in of_set), *(_reached(values[name], values[f"{name}, s"]) for name in programs)]


def _reached(loss: str, seconds: str) -> str:
    """Return the loss and the seconds, or the time limit if the program was stopped."""
    if loss == "-":
        return "-" if seconds == "-" else f"{seconds} s"
    return f"{loss} ({seconds} s)"


def main() -> None:
    parser = command_parser("readme", __doc__)
    parser.add_argument("--write", action="store_true", help="write the table to README.md")
    if parser.parse_args().write:
        replace_marked(PAGE, MARK, table())
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
