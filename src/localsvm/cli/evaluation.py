"""An evaluation as tables in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from localsvm.evaluation import Confusion, Evaluation, Measure

_MOST_CLASSES = 12  # with more, a confusion matrix does not fit on the screen


def show_evaluation(evaluation: Evaluation, worst: int) -> None:
    """Print the measures, the confusion matrix and the worst cells."""
    console = Console(highlight=False)
    console.print(f"{evaluation.n_rows:,} rows\n")
    console.print(_measures(evaluation.measures))
    if evaluation.confusion is not None:
        console.print(_confusion(evaluation.confusion))
    if worst and evaluation.worst_cells:
        console.print(_worst(evaluation, worst))


def _measures(measures: tuple[Measure, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("value", justify="right")
    table.add_column("95 % interval", justify="right")
    for measure in measures:
        interval = "" if measure.low is None or measure.high is None else f"{measure.low:.4g} to {measure.high:.4g}"
        table.add_row(measure.title, f"{measure.value:.4g}", interval)
    return table


def _confusion(confusion: Confusion) -> Table | str:
    labels = confusion.labels
    if len(labels) > _MOST_CLASSES:
        return f"\nThe confusion matrix of {len(labels)} classes does not fit on the screen; use --json."
    table = Table(title="\nConfusion matrix", title_justify="left", box=None, pad_edge=False)
    table.add_column("true \\ predicted")
    for label in labels:
        table.add_column(str(label), justify="right")
    for label, counts in zip(labels, confusion.counts, strict=True):
        table.add_row(str(label), *(f"{count:,.6g}" for count in counts))
    if confusion.n_unknown:
        example = repr(confusion.unknown_labels[0])
        table.caption = f"{confusion.n_unknown} rows have labels that the model does not know, such as {example}."
    return table


def _worst(evaluation: Evaluation, count: int) -> Table:
    table = Table(title="\nWorst cells", title_justify="left", box=None, pad_edge=False)
    for name in ("cell", "rows", "loss", "training rows", "CV risk"):
        table.add_column(name, justify="right")
    table.add_column("distinguishing features")
    for cell in evaluation.worst_cells[:count]:
        risk = "" if cell.cv_risk is None else f"{cell.cv_risk:.4g}"
        row = (str(cell.cell), f"{cell.n_rows:,}", f"{cell.loss:.4g}", f"{cell.size:,}", risk, "; ".join(cell.place))
        table.add_row(*row)
    return table
