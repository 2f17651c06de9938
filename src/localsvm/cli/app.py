"""The commands, as typer sees them: parse -> call -> print."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import localsvm
from localsvm.cli.demo import run_demo
from localsvm.cli.failures import sentences
from localsvm.cli.files import run_convert, run_evaluate, run_inspect, run_predict, run_report
from localsvm.cli.output import Output
from localsvm.cli.train import TrainOptions, run_advice, run_forecast, run_train

app = typer.Typer(
    help="Kernel machines for millions of rows that tune themselves.",
    epilog="Exit codes: 0 done, 2 bad options, 3 bad data or model, 4 disk or memory, 130 stopped with Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Task = StrEnum("Task", ["auto", "classify", "regress", "quantile", "expectile"])
Scaling = StrEnum("Scaling", ["auto", "minmax", "standard", "quantile", "none"])
Kernel = StrEnum("Kernel", ["auto", "gauss", "laplace", "manhattan"])
Partition = StrEnum("Partition", ["voronoi", "chunks", "radius", "overlap", "none"])
Missing = StrEnum("Missing", ["error", "impute"])

_READING = "How the file is read"
_LEARNING = "What is learned"
_CELLS = "Cells"
_RUNNING = "Running"

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of a table.", rich_help_panel=_RUNNING)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.", rich_help_panel=_RUNNING)]
Jobs = Annotated[int | None, typer.Option(min=1, help="Threads; all cores by default.", rich_help_panel=_RUNNING)]
CellSize = Annotated[
    int | None,
    typer.Option(
        min=1, help="The most rows of a cell; otherwise 5000, and 2000 for many rows.", rich_help_panel=_CELLS
    ),
]
Format = Annotated[
    str | None,
    typer.Option(help="csv, libsvm, parquet, arrow, npz or npy; by the ending of the name.", rich_help_panel=_READING),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Between the values of a csv file; found out by default.", rich_help_panel=_READING)
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line has names; found out.", rich_help_panel=_READING),
]
Encoding = Annotated[str | None, typer.Option(help="Of a csv file; UTF-8 by default.", rich_help_panel=_READING)]
MissingValues = Annotated[
    list[str] | None,
    typer.Option(
        "--missing-value", help="Another word for a missing value; may be repeated.", rich_help_panel=_READING
    ),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category", help="A column of categories, whatever it looks like; may be repeated.", rich_help_panel=_READING
    ),
]
Model = Annotated[Path, typer.Argument(help="A model file.", exists=True)]
Data = Annotated[str, typer.Argument(help="csv, LIBSVM, parquet, Arrow or npz; - is csv from standard input.")]


def _file(
    format: str | None,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    missing: list[str] | None,
    categories: list[str] | None = None,
) -> dict[str, Any]:
    given = {
        "format": format,
        "delimiter": "\t" if delimiter == "\\t" else delimiter,
        "header": header,
        "encoding": encoding,
        "missing_values": tuple(missing or ()),
        "categories": tuple(categories or ()),
    }
    return {name: value for name, value in given.items() if value not in (None, ())}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"localsvm {localsvm.__version__}")
        raise typer.Exit


@app.callback()
def _commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, max=15000, help="Training rows of each data set.")] = 15000,
    keep: Annotated[Path | None, typer.Option(help="A folder for the models and a report of each.")] = None,
    jobs: Jobs = None,
) -> None:
    """Train on bundled forest data and on the paper's toy mixture, and show what came out.

    Examples
    --------
        localsvm demo
        localsvm demo --rows 2000 --keep demo/
    """
    with sentences():
        run_demo(rows, jobs, keep)


@app.command()
def train(
    data: Data,
    target: Annotated[
        str, typer.Option("--target", "-t", help="The column to be predicted.", rich_help_panel=_LEARNING)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file.", rich_help_panel=_RUNNING)] = Path(
        "model.lsvm"
    ),
    task: Annotated[
        Task, typer.Option(help="auto: by the target: text and few integers are classes.", rich_help_panel=_LEARNING)
    ] = Task.auto,
    weight: Annotated[
        str | None, typer.Option(help="A column with the weights of the rows.", rich_help_panel=_LEARNING)
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--feature",
            help="A column to learn from; may be repeated. All others by default.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="A column that is not to be learned from; may be repeated.", rich_help_panel=_LEARNING),
    ] = None,
    levels: Annotated[
        str | None, typer.Option(help="Of quantiles or expectiles, like 0.1,0.5,0.9.", rich_help_panel=_LEARNING)
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(help='"balanced": rare classes count as much as frequent ones.', rich_help_panel=_LEARNING),
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="accuracy, balanced_accuracy, tpr_tnr or f1.", rich_help_panel=_LEARNING)
    ] = None,
    false_alarm: Annotated[
        float | None, typer.Option(help="The largest false-alarm rate.", rich_help_panel=_LEARNING)
    ] = None,
    missing: Annotated[
        Missing, typer.Option(help="What to do with missing values.", rich_help_panel=_LEARNING)
    ] = Missing.error,
    scaling: Annotated[Scaling, typer.Option(help="Of the features.", rich_help_panel=_LEARNING)] = Scaling.auto,
    relevance: Annotated[
        bool, typer.Option(help="Learn how much each feature matters.", rich_help_panel=_LEARNING)
    ] = True,
    kernel: Annotated[Kernel, typer.Option(help="Of the distance.", rich_help_panel=_LEARNING)] = Kernel.auto,
    cell_size: CellSize = None,
    partition: Annotated[
        Partition, typer.Option(help="How space is cut into cells.", rich_help_panel=_CELLS)
    ] = Partition.voronoi,
    cell_radius: Annotated[float | None, typer.Option(help="With --partition radius.", rich_help_panel=_CELLS)] = None,
    grid: Annotated[
        int, typer.Option(min=1, help="Candidates for the width, and for lambda.", rich_help_panel=_CELLS)
    ] = 10,
    folds: Annotated[int, typer.Option(min=1, help="Of the cross-validation.", rich_help_panel=_CELLS)] = 5,
    seed: Annotated[int, typer.Option(help="Another seed, another partition.", rich_help_panel=_CELLS)] = 0,
    max_memory: Annotated[
        str | None, typer.Option(help="Like 8GB. Rows that do not fit are kept on disk.", rich_help_panel=_RUNNING)
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A directory that keeps every finished cell.", rich_help_panel=_RUNNING)
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option(help="A directory for rows on disk; that of the model file by default.", rich_help_panel=_RUNNING),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Train a few cells, and forecast time and memory.", rich_help_panel=_RUNNING),
    ] = False,
    advise: Annotated[
        bool,
        typer.Option("--advise", help="Compare ways to train, and say which one to take.", rich_help_panel=_RUNNING),
    ] = False,
    jobs: Jobs = None,
    format: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    encoding: Encoding = None,
    missing_values: MissingValues = None,
    categories: Categories = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a file.

    Everything is tuned by itself: the kernel width and lambda in every cell by cross-validation, scaling, kernel and
    the relevance of the features on a sample. A file that is larger than the memory is kept on disk while cells train
    one after the other.

    Examples
    --------
        localsvm train flights.parquet --target delay -o delay.lsvm
        localsvm train flights.csv.gz -t delay --task quantile --levels 0.1,0.5,0.9
        localsvm train big.parquet -t label --max-memory 8GB --checkpoint cells/
        localsvm train big.parquet -t label --dry-run
        localsvm train big.parquet -t label --advise
    """
    parameters = {
        "cell_size": cell_size or "auto",
        "partition": partition.value,
        "cell_radius": cell_radius,
        "grid": grid,
        "n_folds": folds,
        "random_state": seed,
        "scaling": None if scaling is Scaling.none else scaling.value,
        "relevance": "auto" if relevance else None,
        "kernel": kernel.value,
        "missing": missing.value,
        "max_memory": max_memory,
        "n_jobs": jobs,
    }
    extra = {"class_weight": class_weight, "objective": objective, "false_alarm": false_alarm}
    parameters |= {name: value for name, value in extra.items() if value is not None}
    with sentences():
        options = TrainOptions(
            data=data,
            target=target,
            output=str(output),
            task=task.value,
            weight=weight,
            features=tuple(features) if features else None,
            ignore=tuple(ignore or ()),
            levels=_levels(levels),
            parameters=parameters,
            file=_file(format, delimiter, header, encoding, missing_values, categories),
            checkpoint=None if checkpoint is None else str(checkpoint),
            workspace=None if workspace is None else str(workspace),
        )
        run = run_advice if advise else run_forecast if dry_run else run_train
        run(options, Output(json, quiet))


def _levels(text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise typer.BadParameter(f"{text!r}: give numbers like 0.1,0.5,0.9.", param_hint="--levels") from None


@app.command()
def resume(
    checkpoint: Annotated[
        Path, typer.Argument(help="The directory that `train --checkpoint` kept cells in.", exists=True)
    ],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a training that was stopped or killed; finished cells are not trained again.

    Examples
    --------
        localsvm resume cells/
    """
    with sentences():
        run_train(TrainOptions.read(checkpoint), Output(json, quiet))


@app.command()
def predict(
    model: Model,
    data: Data,
    output: Annotated[
        str, typer.Option("--output", "-o", help="csv, parquet, ...; - is csv to standard output.")
    ] = "-",
    keep: Annotated[
        list[str] | None, typer.Option(help="A column of the data to pass through; may be repeated.")
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="A column for every class.")] = False,
    jobs: Jobs = None,
    format: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    encoding: Encoding = None,
    missing_values: MissingValues = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a file, in their order; a file of any size takes the same memory.

    Examples
    --------
        localsvm predict delay.lsvm new.parquet -o predicted.parquet
        localsvm predict delay.lsvm new.csv --keep id --probabilities > predicted.csv
    """
    with sentences():
        file = _file(format, delimiter, header, encoding, missing_values)
        run_predict(model, data, output, tuple(keep or ()), probabilities, jobs, file, Output(json, quiet))


@app.command()
def evaluate(
    model: Model,
    data: Data,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column with the truth; as in training by default.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="A column with the weights of the rows.")] = None,
    worst: Annotated[int, typer.Option(min=0, help="Cells to list.")] = 5,
    jobs: Jobs = None,
    format: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    encoding: Encoding = None,
    missing_values: MissingValues = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare predictions with the truth: errors with their confidence intervals, and the worst cells.

    Examples
    --------
        localsvm evaluate delay.lsvm test.parquet
        localsvm evaluate delay.lsvm test.parquet --json
    """
    with sentences():
        file = _file(format, delimiter, header, encoding, missing_values)
        run_evaluate(model, data, target, weight, worst, jobs, file, Output(json, quiet))


@app.command()
def inspect(
    model: Model,
    verify: Annotated[bool, typer.Option("--verify", help="Read the whole file and compare all checksums.")] = False,
    json: Json = False,
) -> None:
    """Show what is in a model file.

    Examples
    --------
        localsvm inspect delay.lsvm
        localsvm inspect delay.lsvm --verify
    """
    with sentences():
        run_inspect(model, verify, Output(json))


@app.command()
def report(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    data: Annotated[
        str | None, typer.Option(help="Rows with the truth, for errors on data that was not trained on.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column with the truth; as in training by default.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    jobs: Jobs = None,
    format: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    encoding: Encoding = None,
    missing_values: MissingValues = None,
    quiet: Quiet = False,
) -> None:
    """Write a page that shows a model: its cells, what was chosen in them, where it errs.

    Examples
    --------
        localsvm report delay.lsvm
        localsvm report delay.lsvm --data test.parquet -o delay.html
    """
    with sentences():
        file = _file(format, delimiter, header, encoding, missing_values)
        run_report(model, output, data, target, title, jobs, file, Output(quiet=quiet))


@app.command()
def convert(
    source: Data,
    destination: Annotated[str, typer.Argument(help="The ending says the format.")],
    format: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    encoding: Encoding = None,
    missing_values: MissingValues = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert a file to another format: csv, LIBSVM, parquet, Arrow, npz.

    Examples
    --------
        localsvm convert flights.csv.gz flights.parquet
    """
    with sentences():
        file = _file(format, delimiter, header, encoding, missing_values)
        run_convert(source, destination, file, Output(json, quiet))
