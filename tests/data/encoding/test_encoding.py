"""A view has its columns in a fixed layout, and rows are encoded when they are read."""

import numpy as np
import pytest
from encoded import VIEWS, mixed

from localsvm.data.disk import RowFile
from localsvm.data.encoding import learn_encoding
from localsvm.data.encoding.words import encoding_records
from localsvm.data.table import Table

FEATURES = ["income", "loss", "member", "grade", "town", "region", "trade"]


@pytest.fixture(scope="module")
def learned():
    table, y = mixed(n=600)
    return table, learn_encoding(table, y, np.ones(600))


@pytest.mark.parametrize("view", VIEWS)
def test_columns_are_numbers_then_indicators_then_categories(learned, view):
    columns = learned[1].encoding.view(*view)
    names, kinds = columns.names(FEATURES), [column.kind for column in columns.columns]
    assert kinds[: columns.n_numbers] == ["number"] * columns.n_numbers
    assert sorted(names[: columns.n_numbers]) == ["income", "loss"]
    assert sorted(names[columns.n_numbers : 4]) == ["income missing", "loss = 0"]
    assert "number" not in kinds[columns.n_numbers :]
    assert {f"{name}: target mean" for name in ("grade", "town", "region")} <= set(names)
    assert any(name.startswith("town = ") for name in names) == view[1]
    assert len([name for name in names if name.startswith("member = ")]) == 1
    assert [FEATURES[origin] for origin in columns.origins] == [name.split(":")[0].split(" ")[0] for name in names]


@pytest.mark.parametrize("view", VIEWS)
def test_any_rows_at_a_time_are_the_rows_of_all(learned, view):
    table, found = learned
    columns = found.encoding.view(*view)
    for rows in (found.encode_training(table, columns), found.encoding.encode(table, columns)):
        whole = rows[:]
        assert whole.shape == rows.shape == (600, columns.width) and np.isfinite(whole).all()
        some = np.array([5, 599, 5, 0])
        np.testing.assert_array_equal(rows[some], whole[some])
        np.testing.assert_array_equal(rows[100:117], whole[100:117])
        np.testing.assert_array_equal(rows[np.arange(600) % 7 == 0], whole[::7])


def test_rows_on_disk_are_encoded_as_those_in_memory(learned, tmp_path):
    table, found = learned
    stored = RowFile((0, table.n_columns), np.float64, tmp_path)
    stored.append(table.X)
    on_disk = Table(stored, table.names)
    view = found.encoding.view()
    again = learn_encoding(on_disk, mixed(n=600)[1], np.ones(600))
    np.testing.assert_array_equal(again.encode_training(on_disk, view)[:], found.encode_training(table, view)[:])


def test_training_rows_and_new_rows_differ_in_target_means_only(learned):
    table, found = learned
    view = found.encoding.view()
    differs = (found.encode_training(table, view)[:] != found.encoding.encode(table, view)[:]).any(axis=0)
    assert differs.tolist() == [column.kind == "mean" for column in view.columns]


def test_records_say_in_words_what_became_of_each_feature(learned):
    encoding = learned[1].encoding
    views = [encoding.view("plain"), encoding.view("log", levels=False)]
    records = {record["name"]: record for record in encoding_records(encoding, FEATURES, views)}
    assert list(records) == FEATURES
    assert [records[name]["type"] for name in FEATURES[:4]] == ["number", "number", "category", "category"]
    assert records["income"]["encoding"].startswith("as given, log of the tails; indicator of missing (")
    assert records["loss"]["encoding"].startswith("as given, log of the tails; indicator of 0 (4")
    assert records["member"]["encoding"].endswith(", one of two levels") and records["member"]["columns"] == 1
    assert records["grade"]["encoding"] == "target mean of 5 levels; 5 levels as columns"
    assert records["town"]["encoding"].startswith("target mean of 40 levels within region; ")
    assert sum(record["columns"] for record in records.values()) == views[0].width


def test_records_name_what_was_dropped():
    X = np.column_stack([np.arange(40.0), np.full(40, np.nan), np.full(40, 3.0), np.arange(40.0)])
    encoding = learn_encoding(Table(X, {3: tuple(f"{k:02}" for k in range(40))}), X[:, :1], np.ones(40)).encoding
    records = encoding_records(encoding, ["size", "empty", "same", "id"], [encoding.view(levels=False)])
    assert [(record["type"], record["encoding"]) for record in records] == [
        ("number", "as given"),
        ("dropped", "no values"),
        ("dropped", "does not vary"),
        ("dropped", "no effect of its 40 levels"),
    ]
