"""The lines behind a figure or a table, as a CSV that says on which machine and revision they were made."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.csv_store import machine, revision


def write_lines(file: Path, columns: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """Write all lines, in place of those that are there; six digits of what is not whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow((*columns, "revision", "machine"))
        writer.writerows((*map(_text, line), revision(), machine()) for line in lines)
    print(f"  {file}", flush=True)


def read_lines(file: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV, none if it is not there."""
    if not file.exists():
        return []
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.6g}"
    return str(value)
