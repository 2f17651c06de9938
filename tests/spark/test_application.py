"""The application as users run it: with spark-submit on the cluster, and with `python -m` on a Connect server."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cluster import HOME
from spark_fits import write_toy
from spark_process import SparkProcess
from typer.testing import CliRunner

import localsvm
from localsvm import LocalSVC
from localsvm.spark import __main__ as application

FAST = ("--cell-size", 100, "--grid", 3, "--features", "x0,x1,x2,x3", "--target", "label")


class Application:
    """Runs commands of the application, each in its own process."""

    def __init__(self, command, environment):
        self.command, self.environment = command, environment

    def run(self, *arguments, code=0):
        """Return what the command wrote to stdout and stderr."""
        found, stdout, stderr = self.invoke([str(argument) for argument in arguments])
        assert found == code, f"exit code {found}: {stderr}{stdout}"
        return stdout, stderr

    def invoke(self, arguments):
        done = subprocess.run([*self.command, *arguments], env=self.environment, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json")[0])

    def error(self, *arguments, code):
        """Run a command that must fail; return the sentence on stderr."""
        stdout, stderr = self.run(*arguments, code=code)
        assert stdout == ""
        assert "Traceback" not in stderr
        return stderr.strip().splitlines()[-1]


class ClientProcess(Application):
    """Runs commands one after the other in one process: each has a session of its own."""

    def __init__(self, process):
        self.process = process

    def invoke(self, arguments):
        return self.process.run(invoke, arguments)


def invoke(_, arguments):
    from localsvm.spark.application import app  # not sent with this function: typer's commands cannot be pickled

    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def submitted(cluster):
    options = [word for name, value in cluster.settings().items() for word in ("--conf", f"{name}={value}")]
    return Application([HOME / "bin" / "spark-submit", *options, application.__file__], cluster.environment)


@pytest.fixture(scope="module")
def environment(cluster, connect_url):
    return {**cluster.environment, "SPARK_REMOTE": connect_url, "COLUMNS": "200"}


@pytest.fixture(scope="module")
def client(environment):
    with SparkProcess({}, environment) as process:
        yield ClientProcess(process)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("application") / "rows", 600)


@pytest.fixture(scope="module")
def model(client, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("application") / "model"
    client.run("train", rows, *FAST, "-o", path)
    return path


def test_a_submitted_training_gives_the_model_of_a_fit_without_spark(submitted, rows, tmp_path):
    result = submitted.json("train", rows, *FAST, "-o", tmp_path / "model")
    assert (result["task"], result["rows"], result["features"]) == ("classify", 600, 4)
    assert result["classes"] == [-1.0, 1.0]
    submitted.run("to-local", tmp_path / "model", "-o", tmp_path / "model.lsvm")
    table = pq.read_table(rows)
    X, y = np.column_stack([table[f"x{j}"] for j in range(4)]), table["label"].to_numpy()
    expected = LocalSVC(cell_size=100, grid=3, members=1, random_state=0).fit(X, y)
    found = localsvm.load(tmp_path / "model.lsvm")
    assert found.n_cells_ == result["cells"] == expected.n_cells_
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


def test_a_submitted_prediction_keeps_the_rows_and_evaluate_counts_its_errors(submitted, client, model, rows, tmp_path):
    submitted.run("predict", model, rows, "--keep", "id,label", "-o", tmp_path / "out", "--output-format", "csv")
    lines = [line.split(",") for file in sorted((tmp_path / "out").glob("*.csv")) for line in file.read_text().split()]
    found = {int(line[0]): (float(line[1]), float(line[2])) for line in lines if line[0] != "id"}
    assert found.keys() == set(range(600))
    true, predicted = np.array(list(found.values())).T
    measures = client.json("evaluate", model, rows, "--target", "label")
    tpr, tnr = (float((predicted[true == label] == label).mean()) for label in (1, -1))
    expected = {"rows": 600, "error": (true != predicted).sum() / 600, "tpr": tpr, "tnr": tnr, "tpr_tnr": tpr * tnr}
    assert measures == pytest.approx(expected, abs=0, rel=1e-15)


def test_broadcast_and_shuffle_give_the_same_predictions(client, model, rows, tmp_path):
    for by in ("broadcast", "shuffle"):
        client.run("predict", model, rows, "--by", by, "--keep", "id", "--probabilities", "-o", tmp_path / by)
    tables = [pq.read_table(tmp_path / by).sort_by("id") for by in ("broadcast", "shuffle")]
    assert tables[0].equals(tables[1])


def test_a_continuous_target_is_a_regression(client, rows, tmp_path):
    options = ("--target", "x0", "--features", "x1,x2,x3", "--cell-size", 200, "--grid", 2)
    assert client.json("train", rows, *options, "-o", tmp_path / "model")["task"] == "regress"
    measures = client.json("evaluate", tmp_path / "model", rows, "--target", "x0")
    truth = pq.read_table(rows)["x0"].to_numpy()
    assert measures["mae"] <= measures["rmse"]
    assert measures["r2"] == pytest.approx(1 - measures["rmse"] ** 2 / truth.var())


def test_a_dry_run_forecasts_and_writes_nothing(client, rows, tmp_path):
    forecast = client.json("train", rows, *FAST, "-o", tmp_path / "model", "--coarse-size", 300, "--dry-run")
    assert (forecast["task"], forecast["rows"], forecast["features"]) == ("classify", 600, 4)
    assert forecast["tasks"] > 1
    assert forecast["shuffle_bytes"] == 600 * (4 * 4 + 32)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("option", ["--groups", "--time"])
def test_a_column_of_groups_or_times_is_shuffled_and_is_no_feature(client, rows, tmp_path, option):
    given = ("--target", "label", "--cell-size", 100, "--grid", 3, option, "id", "-o", tmp_path / "model", "--dry-run")
    forecast = client.json("train", rows, *given)
    assert forecast["features"] == 4
    assert forecast["shuffle_bytes"] == 600 * (4 * 4 + 32 + 8)


def test_an_error_is_a_sentence_and_the_exit_code_of_the_process(environment):
    application = Application([sys.executable, "-m", "localsvm.spark"], environment)
    message = application.error("train", "nowhere", "-t", "label", "-o", "new", code=3)
    assert message.startswith("Error: ")
    assert "Path does not exist" in message


ERRORS = [
    (("train", "nowhere", "-t", "label", "-o", "new"), 3, "Path does not exist"),
    (("train", "{rows}", "-t", "labels", "-o", "new"), 2, "--target='labels', but the columns are 'id', 'x0'"),
    (("train", "{rows}", "-t", "label", "-o", "{model}"), 2, "exists: give another name, or --overwrite"),
    (("train", "{rows}", "-t", "x0", "-o", "new", "--class-weight", "balanced"), 2, "not an option of --task regress"),
    (("train", "{rows}", "-t", "label", "-o", "new", "--features", "x0,y"), 2, "featuresCol='y', but the columns are"),
    (("predict", "{rows}", "{rows}", "-o", "new"), 3, "metadata"),
    (("predict", "{model}", "{rows}", "-o", "new", "--keep", "id,y"), 2, "--keep y: the columns are id, x0"),
    (("predict", "{model}", "{gaps}", "-o", "{new}"), 3, "null, NaN or infinite features in 1 of the 3 rows"),
    (("evaluate", "{model}", "{gaps}", "-t", "kind"), 3, "column 'kind' has type string"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"), ERRORS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else None
)
def test_errors_are_one_sentence_with_an_exit_code(client, model, rows, tmp_path, arguments, code, sentence):
    gaps = tmp_path / "gaps.parquet"
    columns = {f"x{j}": [0.1, 0.2, None if j == 2 else 0.3] for j in range(4)}
    pq.write_table(pa.table({"id": [0, 1, 2], **columns, "label": [1.0, -1.0, 1.0], "kind": ["a", "b", "a"]}), gaps)
    places = {"rows": rows, "model": model, "gaps": gaps, "new": tmp_path / "new"}
    message = client.error(*(argument.format(**places) for argument in arguments), code=code)
    assert message.startswith("Error: ")
    assert sentence in message
