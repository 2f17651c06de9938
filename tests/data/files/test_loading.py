"""Loading a file for a fit: in memory or on disk, with the same values."""

import numpy as np
import pyarrow as pa
import pytest

from localsvm import InvalidData
from localsvm.data.disk import RowFile
from localsvm.data.encoding import learn_encoding
from localsvm.data.files import open_file
from localsvm.data.files.loading import MemoryBudget, Roles, load
from localsvm.data.frames import read_frame
from localsvm.data.labels import Labels
from localsvm.estimators.ties import check_ties

MANY = 10**9


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 500
    colour = rng.choice(["red", "green", "blue", None], n)
    return pa.table(
        {
            "size": rng.normal(size=n),
            "colour": pa.array(colour.tolist(), pa.string()),
            "count": rng.integers(0, 9, n),
            "kind": rng.choice(["yes", "no"], n),
            "w": rng.random(n),
        }
    )


@pytest.mark.parametrize("n_bytes", [0, 10_000, MANY])
def test_rows_are_the_same_in_memory_and_on_disk(table, tmp_path, n_bytes):
    loaded = load(open_file(table), Roles("kind", "w"), MemoryBudget(n_bytes, str(tmp_path)))
    assert isinstance(loaded.table.X, RowFile) == (n_bytes < MANY)
    X = loaded.table.X[:]
    np.testing.assert_array_equal(X[:, 0], table["size"].to_numpy())
    np.testing.assert_array_equal(X[:, 2], table["count"].to_numpy())
    names = loaded.table.names[1]
    assert sorted(names) == ["blue", "green", "red"]
    found = [None if np.isnan(code) else names[int(code)] for code in X[:, 1]]
    assert found == table["colour"].to_pylist()
    assert loaded.table.labels == ("size", "colour", "count")
    np.testing.assert_array_equal(loaded.weight, table["w"].to_numpy())
    assert isinstance(loaded.target, Labels)
    assert [loaded.target.names[code] for code in loaded.target.codes] == table["kind"].to_pylist()


@pytest.mark.parametrize("n_bytes", [0, MANY])
@pytest.mark.parametrize("kind", ["text", "dictionary", "large integers", "dates", "decimals"])
def test_groups_are_told_apart_whatever_their_type(tmp_path, kind, n_bytes):
    number = np.random.default_rng(0).integers(0, 300, 3000)
    values = {
        "text": lambda: pa.array([f"{n}" for n in number]),
        "dictionary": lambda: pa.array([f"{n}" for n in number]).dictionary_encode(),
        "large integers": lambda: pa.array(number + 2**62),
        "dates": lambda: pa.array(number.astype(np.int32)).cast(pa.date32()),
        "decimals": lambda: pa.array(number).cast(pa.decimal128(38, 10)),
    }[kind]()
    table = pa.table({"x": np.arange(3000.0), "y": np.arange(3000.0), "who": values})
    loaded = load(open_file(table), Roles("y", groups="who"), MemoryBudget(n_bytes, str(tmp_path)))
    assert loaded.table.labels == ("x",)
    ties = check_ties(loaded.groups, None, np.ones(3000))
    assert len({*zip(ties.number.tolist(), number.tolist(), strict=True)}) == len(np.unique(number))


def test_a_missing_group_is_refused_with_its_row(tmp_path):
    table = pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0], "who": ["a", None]})
    with pytest.raises(
        InvalidData, match="the column 'who' of the data frame is missing at row 2, but every row needs its"
    ):
        load(open_file(table), Roles("y", groups="who"), MemoryBudget(MANY, str(tmp_path)))


def test_categories_and_dates_are_encoded_as_those_of_a_data_frame_whatever_their_order(tmp_path):
    rng = np.random.default_rng(1)
    names = [f"{k:02}" for k in rng.permutation(40)]
    word = [*names, *rng.choice(names, 460)]
    day = pa.array(rng.integers(0, 2000, 500).astype(np.int32)).cast(pa.date32())
    table = pa.table({"y": rng.normal(size=500), "word": word, "day": day})
    frame = read_frame(table.select(["word", "day"]), ["word", "day"])
    loaded = load(open_file(table), Roles("y"), MemoryBudget(MANY, str(tmp_path))).table
    assert loaded.names[0] == tuple(names) != frame.names[0] and loaded.dates == frame.dates == {1}
    rows = []
    for source in (frame, loaded):
        learned = learn_encoding(source, table["y"].to_numpy()[:, None], np.ones(500))
        rows.append(learned.encode_training(source, learned.encoding.view())[:])
    np.testing.assert_array_equal(*rows)


def test_targets_keep_their_type_and_integral_floats_become_integers(table, tmp_path):
    budget = MemoryBudget(MANY, str(tmp_path))
    assert load(open_file(table), Roles("size"), budget).target.dtype == np.float64
    assert load(open_file(table), Roles("count"), budget).target.dtype == np.int64
    whole = pa.table({"x": [1.5, 2.5], "y": [1.0, 2.0]})
    assert load(open_file(whole), Roles("y"), budget).target.tolist() == [1, 2]


def test_features_can_be_selected_or_ignored(table, tmp_path):
    budget = MemoryBudget(MANY, str(tmp_path))
    some = load(open_file(table), Roles("kind", features=("count", "size")), budget)
    assert some.table.labels == ("count", "size")
    rest = load(open_file(table), Roles("kind", ignored=("w", "colour")), budget)
    assert rest.table.labels == ("size", "count")


@pytest.mark.parametrize(
    ("columns", "roles", "message"),
    [
        ({"x": [1.0], "y": [None]}, Roles("y"), "target 'y' of .* is missing at row 1"),
        ({"x": [1.0, 2.0], "y": ["a", None]}, Roles("y"), "target 'y' of .* is missing at row 2"),
        ({"y": [1.0]}, Roles("y"), "no features: its only columns are 'y'"),
        ({"x": [1.0]}, Roles("y"), "lacks the column 'y'"),
        ({"x": [1.0], "y": [[1]]}, Roles("y"), "give a column of numbers or of text"),
        ({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}, Roles("y"), "has no rows"),
        ({"x": [1.0], "y": pa.array([0], pa.date32())}, Roles("y"), "give a column of numbers or of text"),
        ({"x": [1.0], "y": pa.array([0], pa.duration("s"))}, Roles("y"), "give a column of numbers or of text"),
        ({"x": pa.array([2**31 - 1], pa.date32()), "y": [1.0]}, Roles("y"), "'x' has dates outside of the years"),
        ({"x": [1.0], "y": [1.0], "w": ["heavy"]}, Roles("y", "w"), "'w' has text where numbers are needed"),
    ],
)
def test_unusable_columns_are_refused_with_a_sentence(tmp_path, columns, roles, message):
    with pytest.raises(InvalidData, match=message):
        load(open_file(pa.table(columns)), roles, MemoryBudget(MANY, str(tmp_path)))


def test_progress_is_reported_in_rows(table, tmp_path):
    reported = []
    load(open_file(table), Roles("kind"), MemoryBudget(MANY, str(tmp_path)), lambda *counts: reported.append(counts))
    assert reported[-1] == (500, 500)
