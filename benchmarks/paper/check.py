"""Whether everything is there: CSVs with a machine and lines that parse, pictures, slopes as steep as the theorem's."""

from __future__ import annotations

from pathlib import Path

from matplotlib.image import imread

from benchmarks.paper.fig3 import COLUMNS
from benchmarks.paper.scales import Scale
from benchmarks.paper.written import read_lines

TABLES = ("table1-sets", "table2-training", "table3-prediction", "table4-phases", "table6-work")
PICTURES = ("fig1", "fig2", "size-error", "time-error")
_FIGURES = COLUMNS[COLUMNS.index("n_train") :]


def make(scale: Scale) -> None:
    """Say what is wrong with the results of a scale, and end with it; say that all is well otherwise."""
    missing = [name for name in ("fig1", "fig2", "fig3", *TABLES) if not _is_table(scale.folder / f"{name}.csv")]
    missing += [name for name in PICTURES if not _is_picture(scale.folder / f"{name}.png")]
    if missing:
        raise SystemExit(f"{scale.folder}: not there, empty or damaged: {', '.join(missing)}.")
    for line in read_lines(scale.folder / "fig3.csv"):
        if not (0 <= float(line["error"]) <= 1 and all(float(line[name]) > 0 for name in _FIGURES if name != "error")):
            raise SystemExit(f"{scale.folder / 'fig3.csv'}: {line} cannot be.")
    flat = [line for line in read_lines(scale.folder / "fig2.csv") if line["as_steep"] != "True"]
    if flat:
        raise SystemExit(f"{scale.folder / 'fig2.csv'}: not as steep as the theorem says: {flat}.")
    n_tables, n_pictures = 3 + len(TABLES), len(PICTURES)
    print(f"{scale.folder}: {n_tables} CSVs and {n_pictures} pictures; slopes at least as steep as Theorem 3.2's")


def _is_table(file: Path) -> bool:
    lines = read_lines(file)
    return bool(lines) and all(line["machine"] and None not in line.values() for line in lines)


def _is_picture(file: Path) -> bool:
    return file.exists() and imread(file).ndim == 3
