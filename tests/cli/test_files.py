"""Commands on files and models: rows keep their order, columns are matched by name."""

import gzip
import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from shell import FAST
from sklearn.metrics import confusion_matrix

import localsvm
from localsvm.evaluation.streaming import predict_batches


def predicted(shell, model, data, *options):
    shell.run("predict", model, data, "-o", "out.parquet", *options)
    return shell.table("out.parquet")


def test_predictions_equal_those_of_python_in_the_order_of_the_rows(shell, trained, toy_files):
    out = predicted(shell, trained, toy_files / "test.parquet", "--keep", "id", "--keep", "kind", "--probabilities")
    assert out.column_names == ["id", "kind", "prediction", "probability_no", "probability_yes"]
    assert out["id"].to_pylist() == list(range(300))
    frame = pq.read_table(toy_files / "test.parquet").select(["x0", "x1", "x2", "colour"])
    clf = localsvm.load(trained)
    assert out["prediction"].to_pylist() == clf.predict(frame).tolist()
    np.testing.assert_array_equal(out["probability_yes"].to_numpy(), clf.predict_proba(frame)[:, 1])


def test_any_order_of_columns_and_any_format_give_the_same_predictions(shell, trained, toy_files):
    expected = predicted(shell, trained, toy_files / "test.parquet")["prediction"].to_pylist()
    table = pq.read_table(toy_files / "test.parquet")
    pq.write_table(table.select(table.column_names[::-1]), shell.path("reversed.parquet"))
    with gzip.open(shell.path("test.csv.gz"), "wb") as file:
        pa_csv.write_csv(table, file)
    for name in ("reversed.parquet", "test.csv.gz", toy_files / "test.csv"):
        assert predicted(shell, trained, name)["prediction"].to_pylist() == expected


def test_csv_can_be_read_from_stdin_and_written_to_stdout(shell, trained, toy_files):
    done = shell.process("predict", trained, "-", stdin=(toy_files / "test.csv").read_text())
    lines = done.stdout.splitlines()
    assert lines[0] == '"prediction"'
    assert len(lines) == 301
    assert set(lines[1:]) == {'"no"', '"yes"'}


@pytest.mark.parametrize("rows", [1, 7, 300, 10**6])
def test_batches_of_any_size_give_the_same_predictions(trained, toy_files, rows):
    clf = localsvm.load(trained)
    file = localsvm.data.files.open_file(toy_files / "test.parquet")
    batches = list(predict_batches(clf, file, keep=["id"], probabilities=True, rows=rows))
    whole = pa.Table.from_batches(list(predict_batches(clf, file, keep=["id"], probabilities=True)))
    assert pa.Table.from_batches(batches).equals(whole)


def test_columns_without_names_are_matched_by_position_without_the_target(shell):
    rows = [f"{i / 10},{'ab'[i // 20]},{i % 3}\n" for i in range(40)]
    shell.path("train.csv").write_text("".join(rows))
    shell.run("train", "train.csv", "-t", "2", "--grid", 2, "--no-header")
    expected = shell.run("predict", "model.lsvm", "train.csv", "--no-header").stdout
    shell.path("blind.csv").write_text("".join(row.replace(",a", "").replace(",b", "") for row in rows))
    assert shell.run("predict", "model.lsvm", "blind.csv", "--no-header").stdout == expected
    assert len(expected.splitlines()) == 41
    assert shell.json("evaluate", "model.lsvm", "train.csv", "--no-header")["rows"] == 40


def test_missing_columns_are_named(shell, trained, toy_files):
    table = pq.read_table(toy_files / "test.parquet").rename_columns(
        ["id", "X0", "x1", "x2", "color", "kind", "amount"]
    )
    pq.write_table(table, shell.path("renamed.parquet"))
    found = shell.refused("predict", trained, "renamed.parquet", "-o", "out.csv", code=3)
    assert "lacks 2 columns: 'x0', 'colour'. Did you mean 'X0' for 'x0', 'color' for 'colour'?" in found
    assert not shell.path("out.csv").exists()


def test_a_prediction_that_fails_half_way_leaves_no_file(shell, trained, toy_files):
    lines = (toy_files / "test.csv").read_text().splitlines()
    lines[250] = lines[250].replace(",", ",oops", 1)
    shell.path("bad.csv").write_text("\n".join(lines))
    found = shell.refused("predict", trained, "bad.csv", "-o", "out.csv", code=3)
    assert "'x0'" in found and "oops" in found
    assert not shell.path("out.csv").exists()


def test_an_evaluation_agrees_with_the_predictions(shell, trained, toy_files):
    out = predicted(shell, trained, toy_files / "test.parquet", "--keep", "kind")
    found = shell.json("evaluate", trained, toy_files / "test.parquet")
    truth, guess = out["kind"].to_pylist(), out["prediction"].to_pylist()
    assert found["confusion"]["counts"] == confusion_matrix(truth, guess).tolist()
    measures = {measure["name"]: measure for measure in found["measures"]}
    error = np.mean(np.array(truth) != np.array(guess))
    assert measures["error"]["value"] == pytest.approx(error)
    assert measures["error"]["low"] < error < measures["error"]["high"]
    assert measures["tpr_tnr"]["value"] == pytest.approx(measures["tpr"]["value"] * measures["tnr"]["value"])


def test_an_evaluation_shows_intervals_the_confusion_matrix_and_the_worst_cells(shell, trained, toy_files):
    text = shell.run("evaluate", trained, toy_files / "test.csv", "--worst", 2).stdout
    for words in ("300 rows", "95 % interval", "Confusion matrix", "TPR x TNR", "ROC AUC", "Worst cells"):
        assert words in text


def test_an_evaluation_needs_the_target_column(shell, trained, toy_files):
    table = pq.read_table(toy_files / "test.parquet").drop_columns(["kind"])
    pq.write_table(table, shell.path("blind.parquet"))
    assert "lacks the column 'kind'" in shell.refused("evaluate", trained, "blind.parquet", code=3)


def test_a_model_file_can_be_inspected_and_verified(shell, trained):
    found = shell.json("inspect", trained, "--verify")
    assert (found["rows"], found["target"], found["classes"]) == (400, "kind", ["no", "yes"])
    assert found["columns"] == ["x0", "x1", "x2", "colour"]
    assert found["encoding"] == localsvm.load(trained).encoding_
    assert found["checksums"] == "all are right"
    shown = " ".join(shell.run("inspect", trained).stdout.split())
    assert "CV error" in shown and "kernel" in shown and "verified" not in shown
    assert "name type encoding columns x0 number" in shown and "of 3 levels" in shown
    damaged = bytearray(trained.read_bytes())
    damaged[200] ^= 1
    shell.path("damaged.lsvm").write_bytes(damaged)
    assert "damaged" in shell.refused("inspect", "damaged.lsvm", "--verify", code=3)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n", b"PK\x03\x04", b"id,x\n1,2\n"])
def test_files_that_are_no_models_are_refused(shell, toy_files, content):
    shell.path("foreign.lsvm").write_bytes(content)
    assert "model file" in shell.refused("predict", "foreign.lsvm", toy_files / "test.csv", code=3)


def test_a_report_is_one_page(shell, trained, toy_files):
    shell.run("report", trained, "--data", toy_files / "test.parquet", "-o", "page.html", "--title", "Toys & <more>")
    page = shell.path("page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") or page.startswith("<!doctype html>")
    assert "Toys &amp; &lt;more&gt;" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_an_exported_file_is_what_to_onnx_returns(shell, trained):
    done = shell.run("export", trained, "-o", "model.onnx", "--dtype", "float64", "--json")
    assert json.loads(done.stdout)["outputs"] == ["label", "probabilities", "scores"]
    expected = localsvm.load(trained).to_onnx(dtype="float64")
    assert onnx.load(shell.path("model.onnx")) == expected


def test_an_export_that_fails_leaves_the_file_as_it_was(shell, toy_files):
    shell.run("train", toy_files / "train.parquet", "-t", "kind", *FAST, "-o", "model.lsvm")
    shell.path("model.onnx").write_bytes(b"before")
    done = shell.run("export", "model.lsvm", "-o", "model.onnx/below", code=4)
    assert "cannot write" in done.stderr
    assert shell.path("model.onnx").read_bytes() == b"before"


def test_files_are_converted(shell, toy_files):
    shell.run("convert", toy_files / "test.csv", "test.parquet")
    assert shell.json("convert", "test.parquet", "again.csv")["rows"] == 300
    first, second = (pa_csv.read_csv(path) for path in (toy_files / "test.csv", shell.path("again.csv")))
    assert first.equals(second.cast(first.schema))


def test_a_file_with_labels_of_another_name_becomes_libsvm(shell):
    shell.path("a.csv").write_text("size,age,digit\n0.5,0,7\n0,31,2\n")
    found = shell.refused("convert", "a.csv", "a.libsvm", code=3)
    assert "there is no column 'target'. Give --target, one of 'size', 'age', 'digit'." in found
    shell.run("convert", "a.csv", "a.libsvm", "--target", "digit")
    assert shell.path("a.libsvm").read_text().split("\n")[:2] == ["7 1:0.5 2:0", "2 2:31"]
    shell.run("convert", "a.libsvm", "again.csv", "-t", "digit")
    assert shell.path("again.csv").read_text().startswith('"digit","1","2"')


def test_a_regression_has_no_probabilities(shell, toy_files):
    shell.run("train", toy_files / "train.csv", "-t", "amount", "--ignore", "kind", *FAST)
    found = shell.refused("predict", "model.lsvm", toy_files / "test.csv", "--probabilities", code=2)
    assert "--probabilities: model.lsvm is a regression (LocalSVR)" in found


def test_the_demo_saves_models_and_reports(shell):
    done = shell.run("demo", "--rows", "300", "--keep", "kept")
    assert "Results" in done.stdout
    for name in ("forest-cover", "toy-mixture"):
        assert localsvm.load(shell.path(f"kept/{name}.lsvm")).n_cells_ == 1
        assert "</html>" in shell.path(f"kept/{name}.html").read_text()


@pytest.mark.parametrize(
    "command", ["demo", "train", "advise", "predict", "evaluate", "inspect", "report", "resume", "export", "convert"]
)
def test_help_has_examples(shell, command):
    text = shell.run(command, "--help").stdout
    assert f"localsvm {command}" in text.replace("\n", " ")
    assert "Example" in text


@pytest.mark.parametrize("command", ["train", "predict", "convert"])
def test_help_shows_choices_and_no_types_of_python(shell, command):
    text = shell.run(command, "--help").stdout
    assert "<csv|libsvm|" in text
    assert not re.search(r"<bool>|list\[|int range|<str>", text)


def test_without_arguments_the_commands_are_listed(shell):
    done = shell.run(code=2)
    for command in ("demo", "train", "predict", "evaluate", "inspect", "report", "resume", "export", "convert"):
        assert command in done.stdout + done.stderr


def test_a_shell_can_complete_commands():
    # The shell is detected among the parent processes.
    command = [sys.executable, "-m", "localsvm", "--show-completion"]
    done = subprocess.run(["bash", "-c", '"$@" && true', "bash", *command], capture_output=True, text=True, check=True)
    assert "localsvm" in done.stdout


def test_the_version_is_printed(shell):
    assert shell.process("--version").stdout.strip() == f"localsvm {localsvm.__version__}"


def test_json_is_one_object(shell, trained, toy_files):
    out = shell.run("predict", trained, toy_files / "test.csv", "-o", "out.csv", "--json").stdout
    assert json.loads(out)["rows"] == 300
