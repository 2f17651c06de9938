"""The application as users run it: with spark-submit on the cluster, and with `python -m` against a Connect server."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cluster import HOME
from spark_fits import write_toy

import localsvm
from localsvm import LocalSVC
from localsvm.spark import __main__ as application

FAST = ("--cell-size", 100, "--grid", 3, "--features", "x0,x1,x2,x3", "--target", "label")


class Application:
    """A way to run it."""

    def __init__(self, command, environment):
        self.command, self.environment = command, environment

    def run(self, *arguments, code=0):
        done = subprocess.run(
            [*self.command, *map(str, arguments)], env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}{done.stdout}"
        return done

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json").stdout)

    def refused(self, *arguments, code):
        """Run what cannot work; return the sentence that says why."""
        done = self.run(*arguments, code=code)
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        return done.stderr.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def submitted(cluster):
    options = [word for name, value in cluster.settings().items() for word in ("--conf", f"{name}={value}")]
    return Application([HOME / "bin" / "spark-submit", *options, application.__file__], cluster.environment)


@pytest.fixture(scope="module")
def remote(cluster, connect_url):
    environment = {**cluster.environment, "SPARK_REMOTE": connect_url, "COLUMNS": "200"}
    return Application([sys.executable, "-m", "localsvm.spark"], environment)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("application") / "rows", 600)


@pytest.fixture(scope="module")
def model(remote, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("application") / "model"
    remote.run("train", rows, *FAST, "-o", path)
    return path


def test_a_submitted_training_is_the_fit_of_one_machine(submitted, rows, tmp_path):
    told = submitted.json("train", rows, *FAST, "-o", tmp_path / "model")
    assert (told["task"], told["rows"], told["features"], told["classes"]) == ("classify", 600, 4, [-1.0, 1.0])
    submitted.run("to-local", tmp_path / "model", "-o", tmp_path / "model.lsvm")
    table = pq.read_table(rows)
    X, y = np.column_stack([table[f"x{j}"] for j in range(4)]), table["label"].to_numpy()
    here = LocalSVC(cell_size=100, grid=3, random_state=0).fit(X, y)
    there = localsvm.load(tmp_path / "model.lsvm")
    assert there.n_cells_ == told["cells"] == here.n_cells_
    np.testing.assert_array_equal(there.decision_function(X), here.decision_function(X))


def test_a_submitted_prediction_keeps_the_rows_and_evaluate_counts_its_errors(submitted, remote, model, rows, tmp_path):
    submitted.run("predict", model, rows, "--keep", "id,label", "-o", tmp_path / "out", "--output-format", "csv")
    lines = [line.split(",") for file in sorted((tmp_path / "out").glob("*.csv")) for line in file.read_text().split()]
    found = {int(line[0]): (float(line[1]), float(line[2])) for line in lines if line[0] != "id"}
    assert found.keys() == set(range(600))
    wrong = sum(true != said for true, said in found.values())
    measures = remote.json("evaluate", model, rows, "--target", "label")
    assert (measures["rows"], measures["error"]) == (600, wrong / 600)
    assert measures["tpr_tnr"] == pytest.approx(measures["tpr"] * measures["tnr"])


def test_both_ways_of_prediction_give_the_same_file(remote, model, rows, tmp_path):
    for by in ("broadcast", "shuffle"):
        remote.run("predict", model, rows, "--by", by, "--keep", "id", "--probabilities", "-o", tmp_path / by)
    tables = [pq.read_table(tmp_path / by).sort_by("id") for by in ("broadcast", "shuffle")]
    assert tables[0].equals(tables[1])


def test_amounts_are_regressed(remote, rows, tmp_path):
    options = ("--target", "x0", "--features", "x1,x2,x3", "--cell-size", 200, "--grid", 2)
    assert remote.json("train", rows, *options, "-o", tmp_path / "model")["task"] == "regress"
    measures = remote.json("evaluate", tmp_path / "model", rows, "--target", "x0")
    truth = pq.read_table(rows)["x0"].to_numpy()
    assert measures["mae"] <= measures["rmse"]
    assert measures["r2"] == pytest.approx(1 - measures["rmse"] ** 2 / truth.var())


REFUSED = [
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
    ("arguments", "code", "sentence"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, tuple) else None
)
def test_what_cannot_work_is_a_sentence_and_an_exit_code(remote, model, rows, tmp_path, arguments, code, sentence):
    gaps = tmp_path / "gaps.parquet"
    columns = {f"x{j}": [0.1, 0.2, None if j == 2 else 0.3] for j in range(4)}
    pq.write_table(pa.table({"id": [0, 1, 2], **columns, "label": [1.0, -1.0, 1.0], "kind": ["a", "b", "a"]}), gaps)
    places = {"rows": rows, "model": model, "gaps": gaps, "new": tmp_path / "new"}
    said = remote.refused(*(argument.format(**places) for argument in arguments), code=code)
    assert said.startswith("Error: ")
    assert sentence in said
