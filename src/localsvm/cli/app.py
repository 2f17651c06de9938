"""The commands and their options, declared with typer; the work is done in the modules beside this one.

These are imported by the command that needs them: help and completion, at every TAB, do without scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

import localsvm
from localsvm.cli.failures import failures_as_messages
from localsvm.cli.help import Command
from localsvm.cli.output import Output

app = typer.Typer(
    help="Support vector machines for millions of rows, tuned automatically.",
    epilog="Exit codes: 0 success, 2 invalid options, 3 invalid data or model, 4 disk or memory, 130 interrupted.",
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
Objective = StrEnum("Objective", ["accuracy", "log_loss", "balanced_accuracy", "tpr_tnr", "f1"])
ClassWeight = StrEnum("ClassWeight", ["balanced"])
Format = StrEnum("Format", ["csv", "libsvm", "parquet", "arrow", "npz", "npy"])
Precision = StrEnum("Precision", ["float32", "float64"])
Duplicates = StrEnum("Duplicates", ["error", "ignore"])
Effort = StrEnum("Effort", ["fast", "default", "best"])

_READING = "File format"
_LEARNING = "Learning"
_CELLS = "Cells"
_RUNNING = "Running"

Json = Annotated[bool, typer.Option("--json", help="Print a JSON object instead of a table.", rich_help_panel=_RUNNING)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Hide progress, notes and the summary.", rich_help_panel=_RUNNING)
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Number of threads; all cores by default.", rich_help_panel=_RUNNING)
]
CellSize = Annotated[
    int | None,
    typer.Option(
        min=1, help="Largest number of rows in a cell; by default 5000, or 2000 for large data.", rich_help_panel=_CELLS
    ),
]
Categories = Annotated[
    list[str] | None,
    typer.Option("--category", help="Column to treat as categorical; repeatable.", rich_help_panel=_READING),
]
Model = Annotated[Path, typer.Argument(help="Model file.", exists=True)]
Data = Annotated[str, typer.Argument(help="csv, LIBSVM, parquet, Arrow or npz file; - reads csv from standard input.")]


def file_options(
    format: Annotated[
        Format | None, typer.Option(help="By default from the file name.", rich_help_panel=_READING)
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Delimiter of a csv file; detected by default.", rich_help_panel=_READING)
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a csv file has column names; detected by default.",
            rich_help_panel=_READING,
        ),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of a csv file; UTF-8 by default.", rich_help_panel=_READING)
    ] = None,
    missing_values: Annotated[
        list[str] | None,
        typer.Option(
            "--missing-value",
            help="Text that stands for a missing value in a csv file; repeatable.",
            rich_help_panel=_READING,
        ),
    ] = None,
) -> dict[str, Any]:
    """Return the arguments of `FileOptions` that were given."""
    given = {
        "format": None if format is None else format.value,
        "delimiter": "\t" if delimiter == "\\t" else delimiter,
        "header": header,
        "encoding": encoding,
        "missing_values": tuple(missing_values) if missing_values else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def reads_file(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `file_options`; it receives their result as the argument `file`."""
    own = signature(command, eval_str=True)
    options = signature(file_options, eval_str=True).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        file = file_options(**{name: given.pop(name) for name in options})
        command(**given, file=file)

    visible = [parameter for name, parameter in own.parameters.items() if name != "file"]
    run.__signature__ = own.replace(parameters=[*visible, *options.values()])  # type: ignore[attr-defined]
    return run


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


@app.command(cls=Command)
@failures_as_messages()
def demo(
    rows: Annotated[int, typer.Option(min=100, max=15000, help="Training rows per data set.")] = 15000,
    keep: Annotated[Path | None, typer.Option(help="Folder to save the models and their reports in.")] = None,
    jobs: Jobs = None,
) -> None:
    """Train on bundled forest data and on the paper's toy mixture, and print the results.

    Examples
    --------
        localsvm demo
        localsvm demo --rows 2000 --keep demo/
    """
    from localsvm.cli.demo import run_demo

    run_demo(rows, jobs, keep)


@app.command(cls=Command)
@failures_as_messages()
@reads_file
def train(
    data: Data,
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict.", rich_help_panel=_LEARNING)],
    file: dict[str, Any],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model file to write.", rich_help_panel=_RUNNING)
    ] = Path("model.lsvm"),
    task: Annotated[
        Task,
        typer.Option(
            help="auto: classify if the target is text or has few distinct integers, else regress.",
            rich_help_panel=_LEARNING,
        ),
    ] = Task.auto,
    weight: Annotated[str | None, typer.Option(help="Column with sample weights.", rich_help_panel=_LEARNING)] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Column with groups, which share a fold; not a feature unless --feature names it.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column with times, whose blocks are folds; not a feature unless --feature names it.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--feature",
            help="Column to use as a feature; repeatable. All other columns by default.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Column not to use as a feature; repeatable.", rich_help_panel=_LEARNING),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(help="Levels of quantiles or expectiles, such as 0.1,0.5,0.9.", rich_help_panel=_LEARNING),
    ] = None,
    class_weight: Annotated[
        ClassWeight | None,
        typer.Option(
            help="balanced: rare classes have the same total weight as frequent ones.", rich_help_panel=_LEARNING
        ),
    ] = None,
    objective: Annotated[
        Objective | None,
        typer.Option(help="What the classifier is for; log_loss: probabilities.", rich_help_panel=_LEARNING),
    ] = None,
    false_alarm: Annotated[
        float | None, typer.Option(help="Upper bound on the false alarm rate.", rich_help_panel=_LEARNING)
    ] = None,
    effort: Annotated[
        Effort,
        typer.Option(help="fast: one model; default: four; best: eight, on finer grids.", rich_help_panel=_LEARNING),
    ] = Effort.default,
    members: Annotated[
        int | None, typer.Option(min=1, help="Number of models that predict together.", rich_help_panel=_LEARNING)
    ] = None,
    missing: Annotated[
        Missing, typer.Option(help="Refuse or impute missing values.", rich_help_panel=_LEARNING)
    ] = Missing.error,
    scaling: Annotated[
        Scaling, typer.Option(help="Scaling of the features.", rich_help_panel=_LEARNING)
    ] = Scaling.auto,
    relevance: Annotated[bool, typer.Option(help="Learn a weight for each feature.", rich_help_panel=_LEARNING)] = True,
    kernel: Annotated[Kernel, typer.Option(help="Kernel function.", rich_help_panel=_LEARNING)] = Kernel.auto,
    cell_size: CellSize = None,
    partition: Annotated[
        Partition, typer.Option(help="How the input space is partitioned into cells.", rich_help_panel=_CELLS)
    ] = Partition.voronoi,
    cell_radius: Annotated[
        float | None, typer.Option(help="Largest radius of a cell, for --partition radius.", rich_help_panel=_CELLS)
    ] = None,
    grid: Annotated[
        int | None,
        typer.Option(min=1, help="Number of candidates for the kernel width and for lambda.", rich_help_panel=_CELLS),
    ] = None,
    folds: Annotated[int, typer.Option(min=1, help="Number of cross-validation folds.", rich_help_panel=_CELLS)] = 5,
    seed: Annotated[int, typer.Option(help="Random seed of partition and folds.", rich_help_panel=_CELLS)] = 0,
    max_memory: Annotated[
        str | None,
        typer.Option(help="Memory limit such as 8GB; rows that exceed it are kept on disk.", rich_help_panel=_RUNNING),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Directory to save every finished cell in, for `resume`.", rich_help_panel=_RUNNING),
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option(help="Directory for rows on disk; by default that of the model file.", rich_help_panel=_RUNNING),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Train a few cells and forecast time and memory.", rich_help_panel=_RUNNING),
    ] = False,
    advise: Annotated[
        bool,
        typer.Option("--advise", help="Compare partitions and recommend one.", rich_help_panel=_RUNNING),
    ] = False,
    jobs: Jobs = None,
    categories: Categories = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a file.

    All hyper-parameters are tuned automatically: kernel width and lambda by cross-validation in every cell; scaling,
    kernel and feature weights on a sample. Data larger than memory stay on disk, and cells are trained one by one.

    Examples
    --------
        localsvm train flights.parquet --target delay -o delay.lsvm
        localsvm train flights.csv.gz -t delay --task quantile --levels 0.1,0.5,0.9
        localsvm train big.parquet -t label --max-memory 8GB --checkpoint cells/
        localsvm train big.parquet -t label --dry-run
        localsvm train big.parquet -t label --advise
        localsvm train visits.parquet -t cost --groups patient
        localsvm train load.csv -t megawatts --time day --folds 1
    """
    from localsvm.cli.train import TrainOptions, run_advice, run_forecast, run_train

    parameters = {
        "effort": effort.value,
        "members": members,
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
    extra = {
        "class_weight": None if class_weight is None else class_weight.value,
        "objective": None if objective is None else objective.value,
        "false_alarm": false_alarm,
    }
    parameters |= {name: value for name, value in extra.items() if value is not None}
    options = TrainOptions(
        data=data,
        target=target,
        output=str(output),
        task=task.value,
        weight=weight,
        groups=groups,
        time=time,
        features=tuple(features) if features else None,
        ignore=tuple(ignore or ()),
        levels=_levels(levels),
        parameters=parameters,
        file=file | ({"categories": tuple(categories)} if categories else {}),
        checkpoint=None if checkpoint is None else str(checkpoint),
        workspace=None if workspace is None else str(workspace),
    )
    run = run_advice if advise else run_forecast if dry_run else run_train
    run(options, Output(json, quiet))


@app.command(cls=Command)
@failures_as_messages()
@reads_file
def advise(
    data: Data,
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict.", rich_help_panel=_LEARNING)],
    file: dict[str, Any],
    task: Annotated[
        Task, typer.Option(help="auto: as `train` infers it from the target.", rich_help_panel=_LEARNING)
    ] = Task.auto,
    weight: Annotated[str | None, typer.Option(help="Column with sample weights.", rich_help_panel=_LEARNING)] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Column not to use as a feature; repeatable.", rich_help_panel=_LEARNING)
    ] = None,
    missing: Annotated[
        Missing, typer.Option(help="Refuse or impute missing values.", rich_help_panel=_LEARNING)
    ] = Missing.error,
    grid: Annotated[
        int | None,
        typer.Option(min=1, help="Number of candidates for the kernel width and for lambda.", rich_help_panel=_CELLS),
    ] = None,
    cell_size: CellSize = None,
    jobs: Jobs = None,
    categories: Categories = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare ways to partition the rows on held-out ones, and recommend one. No model is trained.

    Examples
    --------
        localsvm advise flights.parquet --target delay
    """
    from localsvm.cli.train import TrainOptions, run_advice

    options = TrainOptions(
        data=data,
        target=target,
        output="model.lsvm",
        task=task.value,
        weight=weight,
        ignore=tuple(ignore or ()),
        parameters={"missing": missing.value, "cell_size": cell_size or "auto", "grid": grid, "n_jobs": jobs},
        file=file | ({"categories": tuple(categories)} if categories else {}),
    )
    run_advice(options, Output(json, quiet))


def _levels(text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise typer.BadParameter(f"{text!r}: give numbers such as 0.1,0.5,0.9.", param_hint="--levels") from None


@app.command(cls=Command)
@failures_as_messages()
def resume(
    checkpoint: Annotated[Path, typer.Argument(help="Directory that was given to `train --checkpoint`.", exists=True)],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue an interrupted training; finished cells are not trained again.

    Examples
    --------
        localsvm resume cells/
    """
    from localsvm.cli.train import TrainOptions, run_train

    run_train(TrainOptions.read(checkpoint), Output(json, quiet))


@app.command(cls=Command)
@failures_as_messages()
@reads_file
def predict(
    model: Model,
    data: Data,
    file: dict[str, Any],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="File to write; the ending determines the format. - writes csv to standard output."
        ),
    ] = "-",
    keep: Annotated[
        list[str] | None, typer.Option(help="Column of the data to copy to the output; repeatable.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add a column with the probability of each class.")
    ] = False,
    jobs: Jobs = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a file, in their order. Memory does not depend on the size of the file.

    Examples
    --------
        localsvm predict delay.lsvm new.parquet -o predicted.parquet
        localsvm predict delay.lsvm new.csv --keep id --probabilities > predicted.csv
    """
    from localsvm.cli.files import run_predict

    run_predict(model, data, output, tuple(keep or ()), probabilities, jobs, file, Output(json, quiet))


@app.command(cls=Command)
@failures_as_messages()
@reads_file
def evaluate(
    model: Model,
    data: Data,
    file: dict[str, Any],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Target column; by default the one used in training.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column with sample weights.")] = None,
    worst: Annotated[int, typer.Option(min=0, help="Number of worst cells to list.")] = 5,
    jobs: Jobs = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate a model on labeled data: errors with confidence intervals, and the worst cells.

    Examples
    --------
        localsvm evaluate delay.lsvm test.parquet
        localsvm evaluate delay.lsvm test.parquet --json
    """
    from localsvm.cli.files import run_evaluate

    run_evaluate(model, data, target, weight, worst, jobs, file, Output(json, quiet))


@app.command(cls=Command)
@failures_as_messages()
def inspect(
    model: Model,
    verify: Annotated[bool, typer.Option("--verify", help="Read the whole file and verify all checksums.")] = False,
    json: Json = False,
) -> None:
    """Show the contents of a model file.

    Examples
    --------
        localsvm inspect delay.lsvm
        localsvm inspect delay.lsvm --verify
    """
    from localsvm.cli.files import run_inspect

    run_inspect(model, verify, Output(json))


@app.command(cls=Command)
@failures_as_messages()
@reads_file
def report(
    model: Model,
    file: dict[str, Any],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    data: Annotated[str | None, typer.Option(help="Labeled test data, for test results in the report.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Target column; by default the one used in training.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report; the name of the model by default.")] = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Write an HTML report about a model: errors, cells, selected hyper-parameters, recommendations.

    Examples
    --------
        localsvm report delay.lsvm
        localsvm report delay.lsvm --data test.parquet -o delay.html
    """
    from localsvm.cli.files import run_report

    run_report(model, output, data, target, title, jobs, file, Output(quiet=quiet))


@app.command(cls=Command)
@failures_as_messages()
def export(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="ONNX file to write.")] = Path("model.onnx"),
    dtype: Annotated[Precision, typer.Option(help="Precision of numbers in inputs and outputs.")] = Precision.float32,
    duplicates: Annotated[
        Duplicates,
        typer.Option(help="ignore: export a model that looks up duplicates of training rows without that."),
    ] = Duplicates.error,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model as ONNX, to predict without localsvm.

    Examples
    --------
        localsvm export delay.lsvm -o delay.onnx
    """
    from localsvm.cli.files import run_export

    run_export(model, output, {"dtype": dtype.value, "duplicates": duplicates.value}, Output(json, quiet))


@app.command(cls=Command)
@failures_as_messages()
@reads_file
def convert(
    source: Data,
    destination: Annotated[str, typer.Argument(help="File to write; the ending determines the format.")],
    file: dict[str, Any],
    target: Annotated[
        str, typer.Option("--target", "-t", help="Column with the labels, which LIBSVM format writes first.")
    ] = "target",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert a file to another format: csv, LIBSVM, parquet, Arrow, npz.

    Examples
    --------
        localsvm convert flights.csv.gz flights.parquet
        localsvm convert digits.parquet digits.libsvm --target digit
    """
    from localsvm.cli.files import run_convert

    run_convert(source, destination, file | {"target": target}, Output(json, quiet))
