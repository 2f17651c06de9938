"""The comparison as tables: on the terminal, and as a page, docs/peers.md."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.csv_store import machine
from benchmarks.peers.compared import Compared, Result, frontier
from benchmarks.peers.problems import TITLES
from benchmarks.tables import markdown_table, print_table

DOCS = Path(__file__).resolve().parents[2] / "docs"
_FORMS = {"loss": ".4f", "train": ".2f", "predict": ".3f", "peak": ".2f"}
_HEADINGS = {
    "train": "Fitting time in seconds, including tuning",
    "predict": "Prediction time in seconds",
    "peak": "Peak memory in GB",
}
_HEAD = """# Comparison with other programs

`python -m benchmarks.peers` generates this page. All programs get the same rows, a fifth of which are for testing, and
all cores. Each program runs in its own process and environment. Fitting times include all tuning. An entry such as
`> 60 s` is a run that was stopped after that many seconds. Machine: {machine}.

- **localsvm**: defaults. **liquidSVM**: defaults, with cells of 2000 rows.
- **SVC** (scikit-learn, its Intel extension, ThunderSVM on the CPU): standardized features, C and gamma selected by
  3-fold cross-validation on 2000 rows, then trained on all rows; SVR for regression. **SVC on 10 000 rows** is the same
  on a subsample.
- **Nystroem + linear**: 1000 components; gamma and C or alpha are selected in the same way.
- **LightGBM**, **XGBoost**, **HistGradientBoosting**: learning rate 0.05, up to 3000 trees, early stopping on a tenth
  of the rows after 50 trees without improvement. **xRFM**: defaults, standardized features, a fifth of the rows for
  validation.

![Loss against fitting time, one panel per data set; a line joins the programs on the Pareto frontier]({picture})
"""


def show(compared: dict[str, Compared]) -> None:
    """Print the tables of losses and times."""
    for title, header, lines in _tables(compared):
        print_table(title, header, lines)


def write(compared: dict[str, Compared], folder: Path, *, published: bool) -> None:
    """Write the page; for the committed results it is part of the documentation."""
    file = DOCS / "peers.md" if published else folder / "peers.md"
    picture = Path(os.path.relpath(folder / "pareto.png", file.parent)).as_posix()
    parts = [_HEAD.format(machine=machine(), picture=picture)]
    for title, header, lines in _tables(compared):
        parts.append(f"## {title}\n\n{markdown_table(header, lines)}\n")
    file.write_text("\n".join(parts))
    print(f"  {file}", flush=True)


def _tables(compared: dict[str, Compared]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield title, header and lines: the losses of each task, then times and memory of all sets."""
    for task, loss in TITLES.items():
        of_task = {name: found for name, found in compared.items() if found.problem.task == task}
        if of_task:
            yield f"{task.capitalize()}: {loss} (* marks the best)", *_table(of_task, "loss")
    for name, heading in _HEADINGS.items():
        yield heading, *_table(compared, name)
    yield "Pareto frontier of fitting time and loss, over the sets that a program finished", *_frontiers(compared)


def _table(compared: dict[str, Compared], figure: str) -> tuple[list[str], list[list[str]]]:
    programs = list(next(iter(compared.values())).results)
    lines = []
    for name, found in compared.items():
        best = min((figures[figure] for figures in found.finished.values()), default=None)
        values = [_text(found.results[program], figure, best) for program in programs]
        lines.append([name, f"{found.problem.n_train:,}", *values])
    return ["set", "rows", *programs], lines


def _text(result: Result, figure: str, best: float | None) -> str:
    if result.figures is None:
        return result.why
    value = result.figures[figure]
    star = "*" if figure == "loss" and value == best else ""
    return format(value / 1e9 if figure == "peak" else value, _FORMS[figure]) + star


def _frontiers(compared: dict[str, Compared]) -> tuple[list[str], list[list[str]]]:
    programs = list(next(iter(compared.values())).results)
    lines = []
    for program in programs:
        finished = [found for found in compared.values() if program in found.finished]
        ahead = sum(program in frontier(found.finished) for found in finished)
        best = sum(program == min(f.finished, key=lambda name: f.finished[name]["loss"]) for f in finished)
        lines.append([program, str(len(finished)), str(ahead), str(best)])
    return ["program", "sets", "on the frontier", "lowest loss"], lines
