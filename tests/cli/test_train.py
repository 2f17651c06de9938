"""`localsvm train` writes the model that Python would train."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from files import ModelFile
from shell import FAST, toy_table

import localsvm
from localsvm.data.files import open_file
from localsvm.data.files.loading import MemoryBudget, Roles, load

ALL_TASKS = [
    ("classify", "kind", "LocalSVC", ("--ignore", "amount")),
    ("regress", "amount", "LocalSVR", ("--ignore", "kind")),
    ("quantile", "amount", "LocalQuantileRegressor", ("--ignore", "kind", "--levels", "0.1,0.9")),
    ("expectile", "amount", "LocalExpectileRegressor", ("--ignore", "kind", "--levels", "0.7")),
]


@pytest.mark.parametrize(("task", "target", "estimator", "options"), ALL_TASKS)
def test_every_task_trains_and_predicts(shell, toy_files, task, target, estimator, options):
    found = shell.json("train", toy_files / "train.parquet", "-t", target, "--task", task, *options, *FAST)
    assert (found["task"], found["rows"], found["model"]) == (task, 400, "model.lsvm")
    assert type(localsvm.load(shell.path("model.lsvm"))).__name__ == estimator
    shell.run("predict", "model.lsvm", toy_files / "test.parquet", "-o", "out.parquet")
    predicted = shell.table("out.parquet")
    assert predicted.num_rows == 300
    assert predicted.num_columns == (2 if task == "quantile" else 1)


@pytest.mark.parametrize(("target", "ignored", "task"), [("kind", "amount", "classify"), ("amount", "kind", "regress")])
def test_the_task_is_inferred_from_the_target(shell, toy_files, target, ignored, task):
    arguments = ("train", toy_files / "train.csv", "-t", target, "--ignore", ignored, *FAST)
    assert shell.json(*arguments)["task"] == task


def test_the_model_equals_that_of_python(shell, toy_files):
    shell.run("train", toy_files / "train.parquet", "-t", "kind", "--ignore", "amount", *FAST)
    file = open_file(toy_files / "train.parquet")
    loaded = load(file, Roles("kind", ignored=("amount", "id")), MemoryBudget(10**9, str(shell.directory)))
    expected = localsvm.LocalSVC(cell_size=100, grid=3, random_state=0).fit(loaded.table, loaded.target)
    found = localsvm.load(shell.path("model.lsvm"))
    np.testing.assert_array_equal(found.predict_proba(loaded.table), expected.predict_proba(loaded.table))
    assert found.classes_.tolist() == ["no", "yes"]


def test_kernel_and_relevance_can_be_set_as_in_the_paper(shell, toy_files):
    plain = ("--kernel", "gauss", "--no-relevance", "--scaling", "minmax")
    shell.run("train", toy_files / "train.parquet", "-t", "kind", "--ignore", "amount", *plain, *FAST)
    chosen = localsvm.load(shell.path("model.lsvm")).get_params()
    assert (chosen["kernel"], chosen["relevance"], chosen["scaling"]) == ("gauss", None, "minmax")


def test_rows_that_do_not_fit_into_memory_give_the_same_file(shell):
    pq.write_table(toy_table(200_000), shell.path("big.parquet"))
    arguments = ("train", "big.parquet", "-t", "kind", "--ignore", "amount", "--scaling", "minmax", *FAST)
    shell.run(*arguments, "-o", "memory.lsvm")
    # Half of it is too little for 200 000 rows. A process of its own: the C library is told to give back its memory.
    shell.process(*arguments, "-o", "disk.lsvm", "--max-memory", "30MB")
    in_memory, on_disk = (ModelFile.read(shell.path(name)) for name in ("memory.lsvm", "disk.lsvm"))
    assert in_memory.cells == on_disk.cells
    assert sorted(p.name for p in shell.directory.iterdir()) == ["big.parquet", "disk.lsvm", "memory.lsvm"]


def test_a_dry_run_forecasts_and_writes_no_model(shell, toy_files):
    found = shell.json("train", toy_files / "train.parquet", "-t", "kind", "--ignore", "amount", *FAST, "--dry-run")
    assert found["rows"] == 400
    assert found["seconds"] > 0
    assert found["memory"] > 10**7
    assert not shell.path("model.lsvm").exists()


def test_advise_compares_partitions_and_writes_no_model(shell, toy_files):
    given = ("train", toy_files / "train.parquet", "-t", "kind", "--ignore", "amount", *FAST, "--advise")
    found = shell.json(*given)
    assert found["rows"] == 400
    assert [way["parameters"]["partition"] for way in found["ways"]] == ["voronoi", "voronoi", "none", "chunks"]
    assert found["chosen"] in found["ways"]
    assert found["options"] == "--partition {partition} --cell-size {cell_size}".format(**found["chosen"]["parameters"])
    said = shell.run(*given).stdout
    assert all(way["name"] in said for way in found["ways"])
    assert "Train with: localsvm train" in said
    assert not shell.path("model.lsvm").exists()


def test_advise_compares_regressions_by_squared_error(shell, toy_files):
    given = ("train", toy_files / "train.csv", "-t", "amount", "--ignore", "kind", *FAST, "--advise")
    assert shell.json(*given)["measure"] == "mean squared error"


def test_integer_labels_of_a_csv_file_stay_integers(shell):
    shell.path("a.csv").write_text("x,y\n" + "".join(f"{i / 10},{i // 20}\n" for i in range(40)))
    shell.run("train", "a.csv", "-t", "y", "--grid", 2)
    assert localsvm.load(shell.path("model.lsvm")).classes_.tolist() == [0, 1]
    out = shell.run("predict", "model.lsvm", "a.csv").stdout.splitlines()
    assert out[:2] == ['"prediction"', "0"]


def test_quiet_writes_nothing(shell, toy_files):
    done = shell.process("train", toy_files / "train.parquet", "-t", "kind", "--ignore", "amount", *FAST, "--quiet")
    assert (done.stdout, done.stderr) == ("", "")
    done = shell.run("predict", "model.lsvm", toy_files / "test.csv", "-o", "out.csv", "-q")
    assert (done.stdout, done.stderr) == ("", "")


def test_training_ends_with_what_the_model_is_worth_and_what_to_do_next(shell, toy_files):
    text = shell.run("train", toy_files / "train.parquet", "-t", "kind", "--ignore", "amount", *FAST).stdout
    error = 100 * (1 - localsvm.load(shell.path("model.lsvm")).cv_score_)
    assert text.splitlines()[0].split(maxsplit=2)[2].startswith(f"{error:.2f} %")
    for words in ("kernel", "scaling", "most relevant", "training cells", "localsvm evaluate model.lsvm TEST_FILE"):
        assert words in " ".join(text.split())
    text = shell.run("train", toy_files / "train.csv", "-t", "amount", "--ignore", "kind", *FAST).stdout
    assert "CV RMSE" in text and "in the units of amount" in text and "R2" in text


def test_json_spells_keys_as_inspect_does(shell, toy_files):
    given = ("train", toy_files / "train.csv", "-t", "amount", "--ignore", "kind", "--members", 2, *FAST)
    trained, inspected = shell.json(*given), shell.json("inspect", "model.lsvm")
    for name in ("rows", "features", "cells", "kernel", "scaling", "cv", "most_relevant", "bytes", "models", "target"):
        assert trained[name] == inspected[name]
    assert sum(member["weight"] for member in inspected["members"]) == pytest.approx(1)
    assert not [name for name in {**trained, **inspected} if " " in name or name.startswith("n_")]


def test_advise_is_a_command_too(shell, toy_files):
    given = (toy_files / "train.parquet", "-t", "kind", "--ignore", "amount", *FAST)
    found, other = shell.json("advise", *given), shell.json("train", *given, "--advise")
    assert [way["loss"] for way in found["ways"]] == [way["loss"] for way in other["ways"]]
    said = shell.run("advise", *given).stdout
    assert f"localsvm train {toy_files / 'train.parquet'} --target kind --partition" in said


def test_missing_values_and_weights(shell, toy_files):
    table = pa_csv.read_csv(toy_files / "train.csv")
    text = table.to_pylist()
    for row in text[::7]:
        row["x1"] = ""
    lines = ["x0,x1,colour,w,kind"]
    lines += [f"{r['x0']},{r['x1']},{r['colour']},{1 + (r['id'] % 2)},{r['kind']}" for r in text]
    shell.path("gaps.csv").write_text("\n".join(lines) + "\n")
    arguments = ("train", "gaps.csv", "-t", "kind", "--weight", "w", "--grid", 3)
    assert "column 'x1' has 58 missing values" in shell.refused(*arguments, code=3)
    assert "or pass --missing impute." in shell.refused(*arguments, code=3)
    shell.run(*arguments, "--missing", "impute")
    assert localsvm.load(shell.path("model.lsvm")).feature_names_in_.tolist() == ["x0", "x1", "colour"]


@pytest.fixture
def visits(shell):
    """Rows of people on days."""
    table, rng = toy_table(400), np.random.default_rng(0)
    person = [f"person {number}" for number in rng.integers(0, 30, 400)]
    day = pa.array(rng.integers(0, 90, 400).astype(np.int32)).cast(pa.date32())
    pq.write_table(table.append_column("person", [person]).append_column("day", day), shell.path("visits.parquet"))
    return ("train", "visits.parquet", "-t", "kind", "--ignore", "amount", *FAST)


@pytest.mark.parametrize(("option", "column", "other"), [("groups", "person", "day"), ("time", "day", "person")])
def test_a_column_of_groups_or_times_decides_the_folds_and_is_no_feature(shell, visits, option, column, other):
    given = (*visits, "--ignore", other, f"--{option}", column)
    shell.run(*given, "--checkpoint", "cells")
    file = open_file(shell.path("visits.parquet"))
    roles = Roles("kind", ignored=("amount", "id", other), **{option: column})
    loaded = load(file, roles, MemoryBudget(10**9, str(shell.directory)))
    values = {"groups": loaded.groups, "time": loaded.time}
    expected = localsvm.LocalSVC(cell_size=100, grid=3, random_state=0).fit(loaded.table, loaded.target, **values)
    found = localsvm.load(shell.path("model.lsvm"))
    assert column not in found.feature_names_in_
    np.testing.assert_array_equal(found.predict_proba(loaded.table), expected.predict_proba(loaded.table))
    first = ModelFile.read(shell.path("model.lsvm")).cells
    shell.path("model.lsvm").unlink()
    shell.run("resume", "cells")  # which another way to make folds would refuse
    assert ModelFile.read(shell.path("model.lsvm")).cells == first
    assert shell.json(*given, "--dry-run")["rows"] == 400
    plain, tied = (
        shell.json(*visits, "--ignore", "person", "--ignore", "day", "--advise"),
        shell.json(*given, "--advise"),
    )
    assert tied["held_out"] != plain["held_out"]


def test_a_column_of_times_is_a_feature_if_it_is_named(shell, visits):
    shell.run(*visits, "--time", "day", "--feature", "x0", "--feature", "day")
    assert localsvm.load(shell.path("model.lsvm")).feature_names_in_.tolist() == ["x0", "day"]


def test_groups_and_times_that_say_nothing_are_refused(shell, visits):
    assert "lacks the column 'nobody'" in shell.refused(*visits, "--groups", "nobody", code=3)
    assert "'person' of visits.parquet has type string: give times as" in shell.refused(
        *visits, "--time", "person", code=3
    )
    assert "groups and time are both given" in shell.refused(*visits, "--groups", "person", "--time", "day", code=2)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-t", "kin"), 3, "lacks the column 'kin'. Did you mean 'kind' for 'kin'?"),
        (("-t", "kind", "--task", "regress"), 2, "--task regress needs numbers, but the target 'kind' is text"),
        (("-t", "kind", "--levels", "0.1,0.9", "--task", "classify"), 2, "--levels are for --task quantile"),
        (("-t", "amount", "--task", "quantile", "--levels", "0.1,7"), 2, "give a number between 0 and 1"),
        (("-t", "amount", "--task", "regress", "--objective", "f1"), 2, "--objective: not an option of --task regress"),
        (("-t", "kind", "--max-memory", "lots"), 2, "--max-memory lots: give a number of bytes or text like '8GB'"),
        (("-t", "kind", "-o", "nowhere/model.lsvm"), 2, "there is no directory"),
        (("-t", "kind", "-o", "."), 2, "is a directory"),
        (("-t", "kind", "--cell-radius", "-2"), 2, "--cell-radius -2.0: a positive number is needed"),
        (("-t", "kind", "--partition", "radius"), 2, "--partition radius needs --cell-radius"),
        (("-t", "kind", "--jobs", "99999"), 2, "Give the number of threads.\n"),
        (("-t", "kind", "--weight", "wait"), 3, "lacks the column 'wait'"),
    ],
)
def test_invalid_options_are_refused_with_a_message(shell, toy_files, arguments, code, message):
    found = shell.refused("train", toy_files / "train.parquet", *arguments, code=code)
    assert found.startswith("Error: ")
    assert message in found
    assert list(shell.directory.iterdir()) == []


@pytest.mark.parametrize("option", ["--format", "--objective", "--class-weight"])
def test_a_choice_that_does_not_exist_is_refused_with_those_that_do(shell, toy_files, option):
    found = shell.refused("train", toy_files / "train.parquet", "-t", "kind", option, "luck", code=2)
    assert {"--format": "parquet", "--objective": "log_loss", "--class-weight": "balanced"}[option] in found


INDEXED = [
    ("named", lambda rows, path: rows.set_index("row").to_parquet(path.with_suffix(".parquet"))),
    ("unnamed", lambda rows, path: rows.drop(columns="row").to_parquet(path.with_suffix(".parquet"))),
    ("csv", lambda rows, path: rows.drop(columns="row").to_csv(path.with_suffix(".csv"))),
]


@pytest.mark.parametrize(("name", "write"), INDEXED, ids=[name for name, _ in INDEXED])
def test_the_index_of_a_shuffled_frame_is_left_out_with_a_note(shell, name, write):
    rows = toy_table(200).to_pandas()[["x0", "x1", "kind"]].assign(row=range(200))
    write(rows.sample(frac=1, random_state=0), shell.path("rows"))
    (file,) = shell.directory.iterdir()
    done = shell.run("train", file.name, "-t", "kind", "--grid", 2)
    assert localsvm.load(shell.path("model.lsvm")).feature_names_in_.tolist() == ["x0", "x1"]
    assert "Note: left out as the index of a data frame: " in done.stderr
    assert "--feature" in done.stderr
    assert shell.json("evaluate", "model.lsvm", file.name)["rows"] == 200


def test_an_index_is_used_where_it_is_asked_for(shell):
    toy_table(200).to_pandas()[["x0", "kind"]].sample(frac=1, random_state=0).to_parquet(shell.path("rows.parquet"))
    features = ("--feature", "x0", "--feature", "__index_level_0__")
    done = shell.run("train", "rows.parquet", "-t", "kind", "--grid", 2, *features)
    assert localsvm.load(shell.path("model.lsvm")).n_features_in_ == 2
    assert "left out" not in done.stderr


def test_a_column_that_numbers_the_rows_is_noted(shell, toy_files):
    options = ("-t", "kind", "--ignore", "amount", "--grid", 2)
    done = shell.run("train", toy_files / "train.csv", *options)
    assert "Note: rising from row to row, as a row number or an id does: 'id'." in done.stderr
    assert "--ignore id" in done.stderr
    assert "rising" not in shell.run("train", toy_files / "train.csv", *options, "--ignore", "id").stderr


def test_a_missing_file_is_named(shell):
    done = shell.process("train", "nothing.csv", "-t", "y", code=3)
    assert (done.stdout, done.stderr) == ("", "Error: nothing.csv: there is no such file.\n")


def test_an_existing_model_is_kept_if_training_fails(shell, toy_files, trained):
    shutil.copy(trained, shell.path("model.lsvm"))
    before = shell.path("model.lsvm").read_bytes()
    shell.refused("train", toy_files / "train.parquet", "-t", "nothing", code=3)
    assert shell.path("model.lsvm").read_bytes() == before
