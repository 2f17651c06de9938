"""The page about the paper: every figure and table, ours beside its own numbers, and why they differ.

Of the full scale it is docs/paper.md, with pictures in docs/images/paper; of the small one it stands beside the CSVs.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.csv_store import RESULTS
from benchmarks.paper.scales import FULL, SETTINGS, Scale
from benchmarks.paper.tables import shown
from benchmarks.paper.written import read_lines
from benchmarks.tables import markdown_table

DIFFERENCES = Path(__file__).with_name("differences.md")
DOCS = Path(__file__).resolve().parents[2] / "docs"
_ASIDE = ("revision", "machine")

_HEAD = """# The paper, reproduced

Every figure and table of P. Thomann, I. Blaschzyk, M. Meister, I. Steinwart, *Spatial Decompositions for Large Scale
SVMs*, AISTATS 2017, made by `python -m benchmarks.paper all --scale {scale}` with the paper's settings ({settings}, 5
folds); columns that begin with `paper_` are its own numbers. This page is written by that command.

Machine: {machine}. The paper's: two Xeon E5-2640 of six cores at 2.5 GHz, 64 GB; kernels and tests in threads, the
rest in one.
"""


def make(scale: Scale) -> None:
    """Write the page from the CSVs that are there."""
    published = scale.name == FULL.name and scale.results == RESULTS / "paper"
    file = DOCS / "paper.md" if published else scale.folder / "paper.md"
    pictures = DOCS / "images" / "paper" if published else scale.folder
    parts = [_head(scale), *_figures(scale, file, pictures), *_tables(scale), DIFFERENCES.read_text()]
    file.write_text("\n".join(parts))
    print(f"  {file}", flush=True)


def _head(scale: Scale) -> str:
    lines = read_lines(scale.folder / "runs.csv")
    settings = ", ".join(f"{name} {value}" for name, value in SETTINGS.items())
    return _HEAD.format(scale=scale.name, settings=settings, machine=lines[-1]["machine"] if lines else "not run yet")


def _figures(scale: Scale, file: Path, pictures: Path) -> list[str]:
    shown_here = []
    for heading, picture, text in (
        ("Fig. 1: the toy mixture", "fig1.png", "Dotted: the cells, with their centres."),
        ("Fig. 2: excess risk against n", "fig2.png", "Dashed: the rates of Theorem 3.2, through the first point."),
        ("Fig. 3: test error against training size", "size-error.png", "Dashed: random chunks."),
        ("Supplement: test error against training time", "time-error.png", "Each line grows by training rows."),
    ):
        source = scale.folder / picture
        if source.exists():
            pictures.mkdir(parents=True, exist_ok=True)
            if pictures != scale.folder:
                shutil.copyfile(source, pictures / picture)
            where = (pictures / picture).relative_to(file.parent)
            shown_here.append(f"## {heading}\n\n![{heading}]({where})\n\n{text}\n")
            shown_here += [_BELOW[picture](scale)] if picture in _BELOW else []
    return shown_here


def _slopes(scale: Scale) -> str:
    lines = read_lines(scale.folder / "fig2.csv")
    steep = sum(line["as_steep"] == "True" for line in lines)
    verdict = f"{steep} of {len(lines)} slopes are at least as steep as the theorem's, within two standard errors.\n"
    return _markdown(lines) + "\n" + verdict


def _winners(scale: Scale) -> str:
    """Return who errs least on each set, at the largest training size that both cells and chunks have."""
    errors: dict[tuple[str, int], dict[str, float]] = {}
    for line in read_lines(scale.folder / "fig3.csv"):
        by_partition = errors.setdefault((line["set"], int(line["n_train"])), {})
        error = float(line["error"])
        by_partition[line["partition"]] = min(error, by_partition.get(line["partition"], error))
    both = {name: (n, found) for (name, n), found in sorted(errors.items()) if len(found) == 2}
    told = [
        f"{name}, {n:,} rows: cells {found['voronoi']:.4f}, chunks {found['chunks']:.4f}"
        for name, (n, found) in both.items()
    ]
    ahead = [name for name, (_, found) in both.items() if found["voronoi"] < found["chunks"]]
    won = f"Of the best sizes, cells err less than chunks on {len(ahead)} of {len(both)} sets"
    return f"{won} ({', '.join(ahead) or 'none'}).\n\n" + "\n".join(f"- {line}" for line in told) + "\n"


_BELOW: dict[str, Callable[[Scale], str]] = {"fig2.png": _slopes, "size-error.png": _winners}


def _tables(scale: Scale) -> list[str]:
    headings = {
        "table1-sets": "Table 1: data sets",
        "table2-training": "Table 2: minutes of training",
        "table3-prediction": "Table 3: prediction with random chunks over prediction with cells",
        "table4-phases": f"Table 4: seconds by phase, cells of {scale.cell_sizes[0]:,}",
        "table5-spark": "Table 5: ECBDL's shape on Spark",
        "table6-work": "Supplement: nanoseconds of training by row, cell size and feature",
    }
    found = {name: read_lines(scale.folder / f"{name}.csv") for name in headings}
    return [f"## {headings[name]}\n\n{_markdown(lines)}" for name, lines in found.items() if lines]


def _markdown(lines: Sequence[dict[str, str]]) -> str:
    columns = [name for name in lines[0] if name not in _ASIDE and any(line[name] for line in lines)]
    rows = [[_value(line[name]) for name in columns] for line in lines]
    return markdown_table(columns, rows) + "\n"


def _value(text: str) -> str:
    if not text:
        return shown(None)
    try:
        number = float(text)
    except ValueError:
        return text
    return shown(int(number) if number.is_integer() else number)
