"""The application for spark-submit: train, predict, evaluate, and convert a model to a model file.

Input: paths that the cluster can read, and options. Output: models, predictions and measures. Errors are reported as by
the command `localsvm`: one sentence on stderr, and an exit code for the kind of error.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, NumericType

from localsvm.cli.failures import failures_as_messages
from localsvm.cli.output import Output
from localsvm.errors import InvalidData, InvalidFile, InvalidParameter
from localsvm.spark.base import LocalSVMModel, read_metadata
from localsvm.spark.classifier import LocalSVMClassificationModel, LocalSVMClassifier
from localsvm.spark.failures import errors_of_tasks
from localsvm.spark.forecast import DistributedForecast
from localsvm.spark.regressor import LocalSVMRegressionModel, LocalSVMRegressor
from localsvm.spark.rows import Columns, quoted

# A target of integers with more distinct values than this is for regression.
_MOST_CLASSES = 50

app = typer.Typer(
    help="Support vector machines for millions of rows, on Apache Spark.",
    epilog="Exit codes: 0 done, 2 bad options, 3 bad data or model, 4 the cluster, disk or memory, 130 Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Task = StrEnum("Task", ["auto", "classify", "regress"])
Format = StrEnum("Format", ["parquet", "orc", "csv", "json", "libsvm"])
Way = StrEnum("Way", ["auto", "shuffle", "broadcast"])

Data = Annotated[str, typer.Argument(help="A file or a directory that Spark can read: file:, hdfs:, s3a:, ...")]
ModelPath = Annotated[str, typer.Argument(help="A model that `train` has saved.")]
DataFormat = Annotated[Format, typer.Option("--format", help="Format of the data.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict, of numbers.")]


def main() -> None:
    """Run the application."""
    # spark-submit sends stderr to stdout, where one JSON object may be expected.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    app(prog_name="python -m localsvm.spark")


@app.command()
def path() -> None:
    """Print the file to pass to spark-submit."""
    typer.echo(Path(__file__).with_name("__main__.py"))


# ------------------------------------------------------------------------------------------- train


@app.command()
def train(
    data: Data,
    target: Target,
    output: Annotated[str, typer.Option("--output", "-o", help="Where the model is saved.")],
    task: Annotated[Task, typer.Option(help="auto: a few distinct integers are classes.")] = Task.auto,
    features: Annotated[
        str | None,
        typer.Option(help="Columns a,b,c, or one column of vectors; by default all other numeric columns."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="A column of sample weights.")] = None,
    groups: Annotated[str | None, typer.Option(help="A column of groups, which share a fold.")] = None,
    times: Annotated[str | None, typer.Option("--time", help="A column of times, whose blocks are folds.")] = None,
    class_weight: Annotated[str | None, typer.Option(help='"balanced": inversely to class frequencies.')] = None,
    objective: Annotated[str | None, typer.Option(help="accuracy, balanced_accuracy, tpr_tnr or f1.")] = None,
    cell_size: Annotated[
        int | None, typer.Option(min=1, help="Maximum rows of a cell; by default 5000, and 2000 for many rows.")
    ] = None,
    coarse_size: Annotated[int | None, typer.Option(min=1, help="Maximum rows of a task.")] = None,
    grid: Annotated[int | None, typer.Option(min=1, help="Number of widths, and of lambdas.")] = None,
    folds: Annotated[int, typer.Option(min=1, help="Folds of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the random choices.")] = 0,
    checkpoint: Annotated[str | None, typer.Option(help="A directory for trained cells, to continue with.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Train a few cells and forecast tasks, bytes, memory and time.")
    ] = False,
    format: DataFormat = Format.parquet,
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
        begin = time.perf_counter()
        _check_output(spark, output, overwrite)
        frame = _read(spark, data, format)
        chosen = _task(frame, target, task)
        columns = _names(features) or _numeric_columns(frame, target, weight, groups, times)
        estimator = _estimator(chosen, parameters)
        estimator.setParams(featuresCol=columns[0] if len(columns) == 1 else columns, labelCol=target, weightCol=weight)
        estimator.setParams(groupsCol=groups, timeCol=times)
        if dry_run:
            Output(json).result({"task": chosen.value, **_forecast(estimator.forecast(frame))}, title="Forecast")
            return
        model = estimator.fit(frame)
        (model.write().overwrite() if overwrite else model.write()).save(output)
        Output(json).result({"model": output, "task": chosen.value, **_summary(model), **_seconds_since(begin)})


def _task(frame: DataFrame, target: str, task: Task) -> Task:
    """Return the task; "auto" is classification if the target has a few distinct integers."""
    numbers = Columns(frame).number(target, "--target")
    if task != Task.auto:
        return task
    values = [row[0] for row in frame.select(numbers).distinct().limit(_MOST_CLASSES + 1).collect()]
    few = len(values) <= _MOST_CLASSES and all(value is None or value == int(value) for value in values)
    return Task.classify if few else Task.regress


def _estimator(task: Task, parameters: dict[str, Any]) -> Any:
    estimator: Any = LocalSVMClassifier() if task == Task.classify else LocalSVMRegressor()
    foreign = [name for name in parameters if not estimator.hasParam(name)]
    if foreign:
        flags = ", ".join("--" + name.replace("_", "-") for name in foreign)
        raise InvalidParameter(f"{flags}: not an option of --task {task.value}.")
    return estimator.setParams(**parameters)


def _numeric_columns(frame: DataFrame, *roles: str | None) -> list[str]:
    """Return the numeric columns that have no role, or the only column of vectors."""
    others = [column for column in frame.schema if column.name not in roles]
    numbers = [column.name for column in others if isinstance(column.dataType, NumericType)]
    vectors = [column.name for column in others if isinstance(column.dataType, VectorUDT | ArrayType)]
    if not numbers and len(vectors) != 1:
        raise InvalidData(f"besides {roles[0]!r} there is no numeric column. Name a column of vectors with --features.")
    return numbers or vectors


def _forecast(forecast: DistributedForecast) -> dict[str, Any]:
    names = {"n_rows": "rows", "n_features": "features", "n_cells": "cells", "n_tasks": "tasks", "n_workers": "workers"}
    return {names.get(name, name.replace("_", " ")): value for name, value in asdict(forecast).items()}


def _summary(model: Any) -> dict[str, Any]:
    tasks, risk = model.task_report, model.summary.risk
    return {
        "rows": sum(task["rows"] for task in tasks),
        "features": model.numFeatures,
        **({"classes": model.classes.tolist()} if isinstance(model, LocalSVMClassificationModel) else {}),
        "cells": model.n_cells,
        "cv_risk": risk if math.isfinite(risk) else None,
        "tasks": len(tasks),
        "largest task": max(task["rows"] for task in tasks),
        "trained again": sum(task["attempt"] > 0 for task in tasks),
    }


# ----------------------------------------------------------------------------------------- predict


@app.command()
def predict(
    model: ModelPath,
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", help="A directory for the predictions.")],
    output_format: Annotated[Format, typer.Option(help="Format of the predictions.")] = Format.parquet,
    keep: Annotated[str | None, typer.Option(help="Columns a,b,c to copy to the output; all by default.")] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add those of all classes.")] = False,
    by: Annotated[Way, typer.Option(help="broadcast the model, or shuffle the rows.")] = Way.auto,
    format: DataFormat = Format.parquet,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Predict the rows of files.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) predict hdfs:/late.model hdfs:/new --keep id -o hdfs:/predicted
    """
    with _spark("predict") as spark:
        begin = time.perf_counter()
        _check_output(spark, output, overwrite)
        loaded = _load(spark, model).setParams(transform_by=by.value)
        frame = _read(spark, data, format)
        names = [*(_names(keep) or frame.columns)]
        unknown = set(names) - set(frame.columns)
        if unknown:
            raise InvalidParameter(f"--keep {min(unknown)}: the columns are {', '.join(frame.columns)}.")
        names.append(loaded.getPredictionCol())
        if probabilities:
            names.append(_probability_column(loaded))
        predictions = loaded.transform(frame).select(*map(quoted, names))
        _check_writable(predictions, output_format)
        options = {"header": "true"} if output_format == Format.csv else {}
        mode = "overwrite" if overwrite else "error"
        predictions.write.format(output_format.value).options(**options).mode(mode).save(output)
        Output(json).result({"predictions": output, "columns": names, **_seconds_since(begin)})


def _probability_column(model: LocalSVMModel) -> str:
    if not isinstance(model, LocalSVMClassificationModel):
        raise InvalidParameter("--probabilities: the model is a regression.")
    return str(model.getProbabilityCol())


def _check_writable(frame: DataFrame, format: Format) -> None:
    """Raise for columns that a text format cannot hold."""
    vectors = [column.name for column in frame.schema if isinstance(column.dataType, VectorUDT | ArrayType)]
    if vectors and format == Format.csv:
        raise InvalidParameter(
            f"csv cannot hold the vectors of column {vectors[0]!r}: write parquet, or --keep other columns."
        )


# ---------------------------------------------------------------------------------------- evaluate


@app.command()
def evaluate(
    model: ModelPath,
    data: Data,
    target: Target,
    format: DataFormat = Format.parquet,
    json: Json = False,
) -> None:
    """Compare predictions with the true values.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) evaluate hdfs:/late.model hdfs:/test --target late
    """
    with _spark("evaluate") as spark:
        loaded, frame = _load(spark, model), _read(spark, data, format)
        true = Columns(frame).number(target, "--target").alias("true")
        rows = loaded.transform(frame).select(true, F.col(quoted(loaded.getPredictionCol())).alias("predicted"))
        if isinstance(loaded, LocalSVMClassificationModel):
            Output(json).result(_class_measures(rows, loaded.classes.tolist()))
        else:
            Output(json).result(_number_measures(rows))


# One pass over the predictions each. The evaluators of pyspark take one pass per measure, and no negative labels.


def _class_measures(rows: DataFrame, classes: list[float]) -> dict[str, Any]:
    """Return the error and, for two classes, the rates of correct predictions in each."""
    correct = F.sum(F.col("true").eqNullSafe(F.col("predicted")).cast("long")).alias("correct")
    found = {row["true"]: row for row in rows.groupBy("true").agg(F.count("*").alias("rows"), correct).collect()}
    total = sum(row["rows"] for row in found.values())
    if total == 0:
        raise InvalidData("there are no rows to evaluate.")
    measures = {"rows": total, "error": (total - sum(row["correct"] for row in found.values())) / total}
    if len(classes) == 2 and found.keys() >= set(classes):
        tnr, tpr = (found[label]["correct"] / found[label]["rows"] for label in classes)
        measures |= {"tpr": tpr, "tnr": tnr, "tpr_tnr": tpr * tnr}
    return measures


def _number_measures(rows: DataFrame) -> dict[str, Any]:
    """Return root mean squared error, mean absolute error and, unless the target is constant, R2."""
    residual = F.col("true") - F.col("predicted")
    means = {"mse": F.avg(residual * residual), "mae": F.avg(F.abs(residual)), "variance": F.var_pop("true")}
    row = rows.agg(F.count("*").alias("rows"), *(column.alias(name) for name, column in means.items())).first()
    if row is None or row["rows"] == 0:
        raise InvalidData("there are no rows to evaluate.")
    r2 = {"r2": 1 - row["mse"] / row["variance"]} if row["variance"] > 0 else {}
    return {"rows": row["rows"], "rmse": row["mse"] ** 0.5, "mae": row["mae"], **r2}


# ---------------------------------------------------------------------------------------- to-local


@app.command("to-local")
def local(
    model: ModelPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file, on the driver.")],
    json: Json = False,
) -> None:
    """Write a model file, for `localsvm predict` and `localsvm.load`.

    Examples
    --------
        spark-submit $(python -m localsvm.spark path) to-local hdfs:/late.model -o late.lsvm
    """
    with _spark("to-local") as spark:
        begin = time.perf_counter()
        estimator = _load(spark, model).toLocal()
        estimator.save(output)
        size = {"cells": estimator.n_cells_, "bytes": output.stat().st_size}
        Output(json).result({"model": str(output), **size, **_seconds_since(begin)})


# ------------------------------------------------------------------------- sessions, files, errors


@contextmanager
def _spark(command: str) -> Iterator[SparkSession]:
    """Open the session that spark-submit or the environment configures; report errors as one sentence."""
    with failures_as_messages(), _errors_of_spark():
        session = SparkSession.builder.appName(f"localsvm {command}").getOrCreate()
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _errors_of_spark() -> Iterator[None]:
    """Raise errors of Spark as errors of localsvm, without the stack traces of two languages."""
    try:
        with errors_of_tasks():
            yield
    except AnalysisException as error:
        raise InvalidData(f"{_first_line(error)}.") from error
    except (PySparkException, Py4JJavaError) as error:
        raise OSError(f"Spark failed; see its logs. Its message: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    text = str(error if java is None else java.getMessage())
    return text.partition("\n")[0].partition(" SQLSTATE:")[0].strip().rstrip(".")


def _read(spark: SparkSession, path: str, format: Format) -> DataFrame:
    """Return the rows of files; the types of csv columns are inferred from all rows."""
    options = {"header": "true", "inferSchema": "true"} if format == Format.csv else {}
    return spark.read.format(format.value).options(**options).load(path)


def _check_output(spark: SparkSession, path: str, overwrite: bool) -> None:
    """Raise if the output exists, before hours of work."""
    if overwrite:
        return
    try:
        # Twice: for a single path that does not exist Spark logs a Java stack trace before it raises.
        exists = bool(spark.read.text([path, path]).columns)
    except AnalysisException:
        exists = False
    if exists:
        raise InvalidParameter(f"--output {path} exists: give another name, or --overwrite.")


def _load(spark: SparkSession, path: str) -> Any:
    """Return a saved model of either kind."""
    name = read_metadata(path, spark)[0]["class"]
    for kind in (LocalSVMClassificationModel, LocalSVMRegressionModel):
        if name == f"{kind.__module__}.{kind.__name__}":
            return kind.load(path)
    raise InvalidFile(f"{path!r} contains a {name}, not a model of localsvm.")


def _names(text: str | None) -> list[str]:
    return text.split(",") if text else []


def _seconds_since(begin: float) -> dict[str, float]:
    return {"seconds": round(time.perf_counter() - begin, 3)}
