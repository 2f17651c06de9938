"""Command lines of the benchmarks: `python -m benchmarks.NAME`, with the module's docstring as help."""

from __future__ import annotations

import argparse
from pathlib import Path


def command_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of a benchmark."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_run_options(parser: argparse.ArgumentParser, results: Path) -> None:
    """Add the options of benchmarks that store their runs."""
    parser.add_argument("--again", action="store_true", help="repeat runs that are stored already")
    parser.add_argument("--show", action="store_true", help="run nothing, print the tables only")
    metavar = "CSV" if results.suffix else "FOLDER"
    parser.add_argument("--results", type=Path, default=results, metavar=metavar, help="where runs are stored")
