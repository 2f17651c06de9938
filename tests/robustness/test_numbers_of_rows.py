"""Messages about files name columns as the file does, count rows and lines from 1, and call standard input by name."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import localsvm
from localsvm import InvalidData, InvalidParameter, LocalSVC
from localsvm.data.files import open_file
from localsvm.evaluation.streaming import evaluate_file, predict_batches

N = 200
BAD = 60  # position of the bad row: rows 1 to 60 come before it
TRAIN = ("--grid", 2, "-q")


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(N, 3))
    return np.column_stack([X, X[:, 0] > 0, np.ones(N)])  # a, b, c, y, w


def texts(rows, column=None, value=None):
    """Return the rows as text, with another value at one place."""
    lines = [[repr(number) for number in row] for row in rows.tolist()]
    if column is not None:
        lines[BAD]["abcyw".index(column)] = value
    return lines


def write_csv(path, rows, column=None, value=None, header="a,b,c,y,w\n"):
    path.write_text(header + "".join(",".join(line) + "\n" for line in texts(rows, column, value)))
    return path


def write_libsvm(path, rows, column=None, value=None):
    lines = texts(rows, column, value)
    path.write_text("".join(f"{y} 1:{a} 2:{b} 3:{c}\n" for a, b, c, y, _ in lines))
    return path


@pytest.fixture(scope="module")
def model(rows):
    return LocalSVC(grid=2).fit(pa.table(dict(zip("abc", rows[:, :3].T, strict=True))).to_pandas(), rows[:, 3])


@pytest.fixture(scope="module")
def unnamed_model(rows):
    return LocalSVC(grid=2).fit(rows[:, :3], rows[:, 3])


WRONG = [
    ("a", "inf", "column 'a' has 1 infinite values (inf; first at row 61)"),
    ("b", "-Infinity", "column 'b' has 1 infinite values (inf; first at row 61)"),
    ("a", "1e400", "column 'a' has 1 infinite values (inf; first at row 61)"),
    ("c", "", "column 'c' has 1 missing values (NaN or None; first at row 61)"),
    ("c", "old", "column 'c' has 'old' at row 61, which is not a number"),
    ("y", "inf", "the target 'y' of table.csv is infinite at row 61"),
    ("y", "", "the target 'y' of table.csv is missing at row 61"),
    ("w", "-1", "the weight 'w' of table.csv is -1 at row 61"),
    ("w", "inf", "the weight 'w' of table.csv is inf at row 61"),
    ("w", "", "the weight 'w' of table.csv is nan at row 61"),
]


@pytest.mark.parametrize(("column", "value", "words"), WRONG)
def test_csv_rows_are_counted_from_one_without_the_header(shell, rows, model, column, value, words):
    write_csv(shell.path("table.csv"), rows, column, value)
    words = words.replace("NaN or None", "NaN")  # a file has no None
    assert words in shell.refused("train", "table.csv", "-t", "y", "--weight", "w", *TRAIN, code=3)
    model.save(shell.path("model.lsvm"))
    assert words in shell.refused("evaluate", "model.lsvm", "table.csv", "-t", "y", "--weight", "w", code=3)
    if column in "abc":
        assert words in shell.refused("predict", "model.lsvm", "table.csv", "-o", "out.csv", code=3)


def test_a_csv_file_without_a_header_has_columns_from_one(shell, rows):
    write_csv(shell.path("table.csv"), rows, "b", "inf", header="")
    assert "column '2' has 1 infinite values (inf; first at row 61)" in shell.refused(
        "train", "table.csv", "-t", "4", *TRAIN, code=3
    )


@pytest.mark.parametrize("value", ["inf", "1e400", "nan"])
def test_libsvm_columns_are_called_by_their_index(shell, rows, unnamed_model, value):
    write_libsvm(shell.path("table.libsvm"), rows, "b", value)
    kind = "missing" if value == "nan" else "infinite"
    unnamed_model.save(shell.path("model.lsvm"))
    for command in (("train", "table.libsvm", "-t", "target", *TRAIN), ("predict", "model.lsvm", "table.libsvm")):
        found = shell.refused(*command, code=3)
        assert f"column '2' has 1 {kind} values" in found and "first at row 61)" in found


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("", "table.libsvm: line 61 has the label '1:"),
        ("red", "table.libsvm: line 61 has the label 'red', which is not a number"),
        ("nan", "the target 'target' of table.libsvm is missing at row 61"),
        ("inf", "the target 'target' of table.libsvm is infinite at row 61"),
    ],
)
def test_libsvm_labels_that_are_missing_or_text_are_refused_with_their_line(shell, rows, unnamed_model, label, words):
    write_libsvm(shell.path("table.libsvm"), rows, "y", label)
    assert words in shell.refused("train", "table.libsvm", "-t", "target", *TRAIN, code=3)
    unnamed_model.save(shell.path("model.lsvm"))
    assert words in shell.refused("evaluate", "model.lsvm", "table.libsvm", "-t", "target", code=3)


def test_a_model_of_named_columns_predicts_a_libsvm_file(shell, rows, model):
    write_libsvm(shell.path("table.libsvm"), rows)
    write_csv(shell.path("table.csv"), rows)
    model.save(shell.path("model.lsvm"), info={"target": "y"})
    expected = shell.run("predict", "model.lsvm", "table.csv").stdout
    assert shell.run("predict", "model.lsvm", "table.libsvm").stdout == expected


@pytest.mark.parametrize("ending", ["parquet", "npz", "npy"])
def test_rows_of_other_formats_are_counted_from_one(tmp_path, rows, unnamed_model, ending):
    X = rows[:, :3].copy()
    X[BAD, 1] = np.inf
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table(dict(zip(("1", "2", "3"), X.T, strict=True))), path)
    else:
        np.save(path, X) if ending == "npy" else np.savez(path, X=X)
    with pytest.raises(InvalidData, match=r"column '2' has 1 infinite values \(inf; first at row 61\)"):
        list(predict_batches(unnamed_model, open_file(path)))


@pytest.mark.parametrize("rows_at_once", [7, 50, 10**6])
def test_rows_are_counted_across_batches(tmp_path, rows, model, rows_at_once):
    def evaluate(name):
        evaluate_file(model, open_file(tmp_path / name), "y", "w", rows=rows_at_once)

    for column, value, words in WRONG:
        write_csv(tmp_path / "table.csv", rows, column, value)
        with pytest.raises(InvalidData) as error:
            evaluate("table.csv")
        assert words.replace("table.csv", str(tmp_path / "table.csv")) in str(error.value)


def test_arrays_are_counted_as_numpy_does(rows):
    X = rows[:, :3].copy()
    X[BAD, 1] = np.inf
    with pytest.raises(InvalidData, match=r"column 1 has 1 infinite values \(inf; first at row 60\)"):
        LocalSVC().fit(X, rows[:, 3])


CSV = "a,y\n1,0\n2,1\n"
STANDARD_INPUT = [
    ("", (), "standard input is empty"),
    (CSV, ("--format", "parquet"), "standard input is expected to be parquet"),
    (CSV, ("--format", "libsvm"), "standard input lacks the column 'y'"),
    ("1" * (20 << 20), ("--format", "libsvm"), "standard input has a line of more than 16 MiB"),
    ("a,y\n1,0\n2\n", (), "standard input: line 3 has 1 value where 2 are expected"),
    ("a,y\n1,0\n2,\n", (), "the target 'y' of standard input is missing at row 2"),
    ("a,b\n1,0\n", (), "standard input lacks the column 'y'"),
    ("a,y\n", (), "standard input has no rows"),
    ("a,a,y\n1,1,1\n", (), "standard input has the column 'a' more than once"),
    ("a,y\n1,0\n\0,1\n", (), "standard input is not a text file"),
]


@pytest.mark.parametrize(("text", "options", "words"), STANDARD_INPUT)
def test_standard_input_is_called_so(shell, text, options, words):
    found = shell.run("train", "-", "-t", "y", *TRAIN, *options, code=3, stdin=text).stderr
    assert f"Error: {words}" in found
    assert "/proc" not in found and "/tmp" not in found and "'-'" not in found


@pytest.mark.parametrize("n_jobs", [10**12, 10**30, np.int64(2**40)])
def test_more_threads_than_a_system_has_are_refused_by_their_number(rows, model, n_jobs):
    words = rf"^n_jobs={int(n_jobs)}: at most \d+ threads can be started\. Give the number of threads, or None for all"
    with pytest.raises(InvalidParameter, match=words):
        LocalSVC(n_jobs=int(n_jobs)).fit(rows[:, :3], rows[:, 3])
    with pytest.raises(InvalidParameter, match=words):
        localsvm.LocalSVR(n_jobs=int(n_jobs)).forecast(rows[:, :3], rows[:, 3])


def test_more_threads_than_a_system_has_are_refused_on_the_command_line(shell, rows, model):
    write_csv(shell.path("table.csv"), rows)
    model.save(shell.path("model.lsvm"))
    for command in (("train", "table.csv", "-t", "y", *TRAIN), ("predict", "model.lsvm", "table.csv")):
        assert "--jobs 1000000000000: at most" in shell.refused(*command, "--jobs", 10**12, code=2)
