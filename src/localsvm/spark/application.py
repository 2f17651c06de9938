"""The application for spark-submit, as typer sees it: parse -> call -> print.

Enters: paths that the cluster can read, and options. Leaves: models, predictions, measures. It fails as the command
`localsvm` does: one sentence on stderr, and an exit code that says of what kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from localsvm.cli.failures import sentences
from localsvm.cli.output import Output
from localsvm.errors import InvalidData
from localsvm.spark.jobs import Source, Training, evaluate_model, predict_rows, to_local, train_model

app = typer.Typer(
    help="Kernel machines for millions of rows, on Apache Spark.",
    epilog="Exit codes: 0 done, 2 bad options, 3 bad data or model, 4 the cluster, disk or memory, 130 Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Task = StrEnum("Task", ["auto", "classify", "regress"])
Format = StrEnum("Format", ["parquet", "orc", "csv", "json", "libsvm"])
Route = StrEnum("Route", ["auto", "shuffle", "broadcast"])

Data = Annotated[str, typer.Argument(help="A file or a directory, as Spark reads it: file:, hdfs:, s3a:, ...")]
Model = Annotated[str, typer.Argument(help="A model that `train` has saved.")]
Reading = Annotated[Format, typer.Option("--format", help="Of the data.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to be predicted, of numbers.")]


def main() -> None:
    """Run the application."""
    app(prog_name="python -m localsvm.spark")


@app.command()
def path() -> None:
    """Print the file to give to spark-submit."""
    typer.echo(Path(__file__).with_name("__main__.py"))


@app.command()
def train(
    data: Data,
    target: Target,
    output: Annotated[str, typer.Option("--output", "-o", help="Where the model is saved.")],
    task: Annotated[Task, typer.Option(help="auto: a few integers are classes.")] = Task.auto,
    features: Annotated[
        str | None,
        typer.Option(help="Columns a,b,c, or one of vectors; by default all other columns of numbers."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="A column with the weights of the rows.")] = None,
    class_weight: Annotated[str | None, typer.Option(help='"balanced": rare classes count as much.')] = None,
    objective: Annotated[str | None, typer.Option(help="accuracy, balanced_accuracy, tpr_tnr or f1.")] = None,
    cell_size: Annotated[int, typer.Option(min=1, help="The most rows of a cell.")] = 2000,
    coarse_cells: Annotated[int | None, typer.Option(min=1, help="Cells that go to a task as a whole.")] = None,
    coarse_size: Annotated[int | None, typer.Option(min=1, help="Rows of a coarse cell, instead.")] = None,
    grid: Annotated[int, typer.Option(min=1, help="Candidates for the width, and for lambda.")] = 10,
    folds: Annotated[int, typer.Option(min=1, help="Of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(help="Another seed, another partition.")] = 0,
    format: Reading = Format.parquet,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on the rows of files.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) train hdfs:/flights --target late -o hdfs:/late.model
    """
    given = {"class_weight": class_weight, "objective": objective}
    given |= {"coarse_cells": coarse_cells, "coarse_size": coarse_size}
    parameters = {"cell_size": cell_size, "grid": grid, "n_folds": folds, "random_state": seed}
    parameters |= {name: value for name, value in given.items() if value is not None}
    with _spark("train") as spark, _notes(Output(json, quiet)) as out:
        columns = tuple(features.split(",")) if features else None
        training = Training(target, weight, columns, task.value, parameters)
        out.result(train_model(Source(spark, data, format.value), training, output, overwrite=overwrite))


@app.command()
def predict(
    model: Model,
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", help="A directory for the predictions.")],
    output_format: Annotated[Format, typer.Option(help="Of the predictions.")] = Format.parquet,
    keep: Annotated[str | None, typer.Option(help="Columns a,b,c to pass through; all by default.")] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="With those of all classes.")] = False,
    route: Annotated[Route, typer.Option(help="Rows to the model, or the model to the rows.")] = Route.auto,
    format: Reading = Format.parquet,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of files.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) predict hdfs:/late.model hdfs:/new --keep id -o hdfs:/predicted
    """
    with _spark("predict") as spark, _notes(Output(json, quiet)) as out:
        kept = tuple(keep.split(",")) if keep else None
        source = Source(spark, data, format.value)
        destination = (output, output_format.value)
        out.result(
            predict_rows(
                source, model, destination, kept, route.value, probabilities=probabilities, overwrite=overwrite
            )
        )


@app.command()
def evaluate(
    model: Model,
    data: Data,
    target: Target,
    format: Reading = Format.parquet,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare predictions with the truth.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) evaluate hdfs:/late.model hdfs:/test --target late
    """
    with _spark("evaluate") as spark, _notes(Output(json, quiet)) as out:
        out.result(evaluate_model(Source(spark, data, format.value), model, target))


@app.command("to-local")
def local(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file, on the driver.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model file for one machine: for `localsvm predict` and `localsvm.load`.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) to-local hdfs:/late.model -o late.lsvm
    """
    with _spark("to-local") as spark, _notes(Output(json, quiet)) as out:
        out.result(to_local(spark, model, output))


@contextmanager
def _spark(command: str) -> Iterator[SparkSession]:
    """Open the session that spark-submit or the environment has described; tell failures as sentences."""
    with sentences(), _sentences_of_spark():
        session = SparkSession.builder.appName(f"localsvm {command}").getOrCreate()
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _sentences_of_spark() -> Iterator[None]:
    try:
        yield
    except AnalysisException as error:
        raise InvalidData(_first_line(error)) from error
    except (PySparkException, Py4JJavaError) as error:
        raise OSError(f"Spark could not finish: {_first_line(error)} Its logs say more") from error


def _first_line(error: Exception) -> str:
    """Return what Spark says, without its codes and the stack."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error)
    return text.partition("\n")[0].partition(" SQLSTATE:")[0].strip()


@contextmanager
def _notes(out: Output) -> Iterator[Output]:
    """Tell warnings of localsvm as notes, at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield out
    for message in dict.fromkeys(str(found.message) for found in caught if "localsvm" in found.filename):
        out.note(f"Note: {message}")
