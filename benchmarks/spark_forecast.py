"""What 32 million rows of 631 features would take on 11 workers, from the rates in benchmarks/results/spark.csv.

python -m benchmarks.spark_forecast            the tables of docs/scaling.md
python -m benchmarks.spark_forecast --write    put them there
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command_line import command_parser
from benchmarks.ecbdl import N_FEATURES
from benchmarks.marked import replace_marked
from benchmarks.spark_scale import FILE

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scaling.md"
# The paper's set and machines: two processors of six cores each.
N_TRAIN, N_TEST, WORKERS, CORES = 32_000_000, 2_900_000, 11, 12
PAPER_HOURS = {10_000: "4.8 (7 workers)"}


@dataclass(frozen=True)
class Measured:
    """A run of the generated set."""

    cell_size: int
    grid: int
    rows: int
    n_test: int
    cores: int
    train: float
    predict: float
    shuffle: float
    score: float

    @property
    def core_seconds(self) -> float:
        """Of training, for a thousand rows."""
        return 1000 * self.train * self.cores / self.rows

    @property
    def hours(self) -> float:
        return self.core_seconds * N_TRAIN / 1000 / (WORKERS * CORES) / 3600

    @property
    def minutes_of_prediction(self) -> float:
        return self.predict * self.cores / self.n_test * N_TEST / (WORKERS * CORES) / 60

    @property
    def shuffled(self) -> float:
        """Gigabytes that the one shuffle of all rows moves."""
        return self.shuffle / self.rows * N_TRAIN / 1e9


def read(file: Path) -> list[Measured]:
    """Return the last measurement of each setting, on as many rows as there are."""
    if not file.exists():
        return []
    found: dict[tuple[int, int], Measured] = {}
    with file.open(newline="") as lines:
        for line in csv.DictReader(lines):
            if line["set"] == "ecbdllike" and line["program"] == "spark":
                run = _measured(line)
                known = found.get((run.cell_size, run.grid))
                if known is None or run.rows >= known.rows:
                    found[run.cell_size, run.grid] = run
    return [found[key] for key in sorted(found, key=lambda key: (key[1], key[0]))]


def _measured(line: dict[str, str]) -> Measured:
    settings = dict(word.split("=") for word in line["settings"].split())
    return Measured(
        cell_size=int(settings["cell_size"]),
        grid=int(settings["grid"]),
        rows=int(line["n_train"]),
        n_test=int(line["n_test"]),
        cores=int(line["cores"]),
        train=float(line["train"]),
        predict=float(line["predict"]),
        shuffle=float(line["shuffle"]),
        score=float(line["tpr"]) * float(line["tnr"]),
    )


def tables(runs: list[Measured]) -> str:
    """Return what was measured, and the arithmetic, as Markdown."""
    if not runs:
        return "No run is in `benchmarks/results/spark.csv` yet.\n"
    measured = [
        (f"{run.cell_size}", f"{run.grid}x{run.grid}", f"{run.rows}", f"{run.train:.0f}", f"{run.core_seconds:.2f}",
         f"{run.score:.3f}")
        for run in runs
    ]  # fmt: skip
    forecast = [
        (f"{run.cell_size}", f"{run.grid}x{run.grid}", f"{run.core_seconds * N_TRAIN / 3.6e6:.0f}", f"{run.hours:.2f}",
         PAPER_HOURS.get(run.cell_size, ""), f"{run.minutes_of_prediction:.1f}", f"{run.shuffled:.0f}",
         f"{run.shuffled / WORKERS:.1f}")
        for run in runs
    ]  # fmt: skip
    columns = (
        "cell size",
        "grid",
        "core hours",
        "hours",
        "paper's hours",
        "minutes of prediction",
        "GB",
        "GB a worker",
    )
    return "\n".join(
        [
            *_table(("cell size", "grid", "rows", "seconds", "core seconds for 1000 rows", "TPR x TNR"), measured),
            "",
            f"For {N_TRAIN:,} rows x {N_FEATURES} on {WORKERS} workers of {CORES} cores, {N_TEST:,} test rows:",
            "",
            *_table(columns, forecast),
            "",
        ]
    )


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *lines)]


def main() -> None:
    parser = command_parser("spark_forecast", __doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scaling.md")
    parser.add_argument("--results", type=Path, default=FILE, metavar="CSV")
    given = parser.parse_args()
    text = tables(read(given.results))
    if given.write:
        replace_marked(PAGE, "benchmarks.spark_forecast", text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
