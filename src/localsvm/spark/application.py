"""The application for spark-submit, as typer sees it: parse -> call -> print.

Enters: paths that the cluster can read, and options. Leaves: models, predictions, measures. It fails as the command
`localsvm` does: one sentence on stderr, and an exit code that says of what kind.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from localsvm.cli.failures import failures_as_messages
from localsvm.cli.output import Output
from localsvm.errors import InvalidData
from localsvm.spark.jobs import (
    Destination,
    Source,
    Training,
    Wanted,
    evaluate_model,
    predict_rows,
    take_home,
    train_model,
)

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
Way = StrEnum("Way", ["auto", "shuffle", "broadcast"])

Data = Annotated[str, typer.Argument(help="A file or a directory, as Spark reads it: file:, hdfs:, s3a:, ...")]
Model = Annotated[str, typer.Argument(help="A model that `train` has saved.")]
Reading = Annotated[Format, typer.Option("--format", help="Of the data.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to be predicted, of numbers.")]


def main() -> None:
    """Run the application."""
    # spark-submit sends stderr to stdout, where one JSON object may be expected.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
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
    cell_size: Annotated[
        int | None, typer.Option(min=1, help="The most rows of a cell; otherwise 5000, and 2000 for many rows.")
    ] = None,
    coarse_size: Annotated[int | None, typer.Option(min=1, help="The most rows of a task.")] = None,
    grid: Annotated[int, typer.Option(min=1, help="Candidates for the width, and for lambda.")] = 10,
    folds: Annotated[int, typer.Option(min=1, help="Of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(help="Another seed, another partition.")] = 0,
    checkpoint: Annotated[str | None, typer.Option(help="A directory for cells as they are trained.")] = None,
    format: Reading = Format.parquet,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Train a model on the rows of files.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) train hdfs:/flights --target late -o hdfs:/late.model
    """
    given: dict[str, Any] = {"class_weight": class_weight, "objective": objective, "checkpoint": checkpoint}
    given |= {"cell_size": cell_size, "coarse_size": coarse_size}
    parameters: dict[str, Any] = {"grid": grid, "n_folds": folds, "random_state": seed}
    parameters |= {name: value for name, value in given.items() if value is not None}
    with _spark("train") as spark:
        training = Training(target, weight, _names(features), task.value, parameters)
        destination = Destination(output, overwrite=overwrite)
        Output(json).result(train_model(Source(spark, data, format.value), training, destination))


@app.command()
def predict(
    model: Model,
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", help="A directory for the predictions.")],
    output_format: Annotated[Format, typer.Option(help="Of the predictions.")] = Format.parquet,
    keep: Annotated[str | None, typer.Option(help="Columns a,b,c to pass through; all by default.")] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="With those of all classes.")] = False,
    by: Annotated[Way, typer.Option(help="broadcast the model, or shuffle the rows.")] = Way.auto,
    format: Reading = Format.parquet,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Predict the rows of files.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) predict hdfs:/late.model hdfs:/new --keep id -o hdfs:/predicted
    """
    with _spark("predict") as spark:
        destination = Destination(output, output_format.value, overwrite)
        wanted = Wanted(_names(keep), probabilities, by.value)
        Output(json).result(predict_rows(Source(spark, data, format.value), model, destination, wanted))


@app.command()
def evaluate(
    model: Model,
    data: Data,
    target: Target,
    format: Reading = Format.parquet,
    json: Json = False,
) -> None:
    """Compare predictions with the truth.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) evaluate hdfs:/late.model hdfs:/test --target late
    """
    with _spark("evaluate") as spark:
        Output(json).result(evaluate_model(Source(spark, data, format.value), model, target))


@app.command("to-local")
def local(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file, on the driver.")],
    json: Json = False,
) -> None:
    """Write a model file for one machine: for `localsvm predict` and `localsvm.load`.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) to-local hdfs:/late.model -o late.lsvm
    """
    with _spark("to-local") as spark:
        Output(json).result(take_home(spark, model, output))


def _names(text: str | None) -> tuple[str, ...] | None:
    return tuple(text.split(",")) if text else None


@contextmanager
def _spark(command: str) -> Iterator[SparkSession]:
    """Open the session that spark-submit or the environment has described; tell failures as sentences."""
    with failures_as_messages(), _sentences_of_spark():
        session = SparkSession.builder.appName(f"localsvm {command}").getOrCreate()
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _sentences_of_spark() -> Iterator[None]:
    """Raise what Spark reports as an error of ours, without the stacks of two languages."""
    try:
        yield
    except AnalysisException as error:
        raise InvalidData(f"{_first_line(error)}.") from error
    except (PySparkException, Py4JJavaError) as error:
        ours = re.search(r"localsvm\.errors\.\w+: (.+)", str(error))
        if ours:
            raise InvalidData(ours[1]) from error
        raise OSError(f"Spark could not finish; its logs say more. It says: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    text = str(error if java is None else java.getMessage())
    return text.partition("\n")[0].partition(" SQLSTATE:")[0].strip().rstrip(".")
