"""The paper's own numbers, from published.csv: Tables 1 to 5, and Table 6 of the supplement.

Units are the paper's: Table 2 minutes; Table 3 a ratio; Table 4 seconds, of prediction for 100 000 rows, and GB;
Table 5 hours; Table 6 seconds times 1e9 divided by rows, cell size and features. Its figures are not given as
numbers.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("published.csv")


def published(source: str, name: str, quantity: str | int) -> float | None:
    """Return a number of the paper: of which table, set and column; None if it has none."""
    return _numbers().get((source, name, str(quantity)))


@cache
def _numbers() -> dict[tuple[str, str, str], float]:
    with FILE.open(newline="") as file:
        return {(line["source"], line["set"], line["quantity"]): float(line["value"]) for line in csv.DictReader(file)}
