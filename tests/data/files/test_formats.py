"""Parquet, Arrow, NumPy, LIBSVM and data frames: the same table from any of them."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from tables import read_all

from localsvm import InvalidData
from localsvm.data.files import FileOptions, open_file, to_numbers

TABLE = pa.table({"size": [1.5, None, 2.5], "count": [1, 2, None], "colour": ["red", None, "blue"]})


def test_a_directory_of_parquet_is_read_in_the_order_of_its_files(tmp_path):
    for number in (2, 0, 1):
        part = pa.table({"n": pa.array([number] * 3), "m": pa.array([0.5] * 3)})
        part = part if number else part.select(["m", "n"])
        pq.write_table(part, tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "readme.txt").write_text("not a table")
    file = open_file(tmp_path)
    assert file.n_rows == 9 and file.schema.names == ("m", "n")
    assert read_all(file)["n"].to_pylist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_names_of_parquet_folders_define_columns(tmp_path):
    table = pa.table({"year": [2023, 2024, 2024], "size": [1.0, 2.0, 3.0]})
    ds.write_dataset(
        table,
        tmp_path,
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("year", pa.int32())]), flavor="hive"),
    )
    file = open_file(tmp_path)
    assert read_all(file, ["size", "year"]).to_pydict() == {"size": [1.0, 2.0, 3.0], "year": [2023, 2024, 2024]}
    assert read_all(file, ["year"]).to_pydict() == {"year": [2023, 2024, 2024]}


def test_files_of_a_directory_need_the_same_columns(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pq.write_table(TABLE.select(["size", "colour"]), tmp_path / "b.parquet")
    with pytest.raises(InvalidData, match=r"b\.parquet lacks the column 'count'"):
        open_file(tmp_path)
    pq.write_table(TABLE.set_column(1, "count", pa.array(["x", "y", "z"])), tmp_path / "b.parquet")
    with pytest.raises(InvalidData, match=r"b\.parquet cannot be read"):
        read_all(open_file(tmp_path))


def test_row_groups_of_any_size_become_batches_of_the_requested_size(tmp_path):
    table = pa.table({"n": np.arange(10_000)})
    pq.write_table(table, tmp_path / "small.parquet", row_group_size=7)
    pq.write_table(table, tmp_path / "large.parquet")
    for name in ("small", "large"):
        file = open_file(tmp_path / f"{name}.parquet")
        sizes = [batch.num_rows for batch in file.batches(rows=1000)]
        assert file.n_rows == sum(sizes) == 10_000
        assert max(sizes) <= 1000 and len(sizes) < 13
        assert read_all(file, rows=1000).equals(table)


def test_nested_columns_and_dates_need_not_be_read(tmp_path):
    table = TABLE.append_column("list", [[[1], [2], [3]]]).append_column("day", pa.array([0, 1, 2], pa.date32()))
    pq.write_table(table, tmp_path / "table.parquet")
    file = open_file(tmp_path / "table.parquet")
    assert [column.kind for column in file.schema.columns] == ["number", "number", "category", "other", "date"]
    assert read_all(file, ["count", "size"]).equals(TABLE.select(["count", "size"]))
    assert read_all(file).equals(table)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_is_an_arrow_file(tmp_path, compression):
    feather.write_feather(TABLE, tmp_path / "table.feather", compression=compression, chunksize=2)
    file = open_file(tmp_path / "table.feather")
    assert file.n_rows == 3
    assert read_all(file, ["colour", "size"]).equals(TABLE.select(["colour", "size"]))


def test_files_written_by_polars_are_read(tmp_path):
    frame = pl.from_arrow(TABLE).with_columns(pl.col("colour").cast(pl.Categorical))
    frame.write_parquet(tmp_path / "table.parquet")
    frame.write_ipc(tmp_path / "table.arrow")
    frame.write_csv(tmp_path / "table.csv")
    for ending in ("parquet", "arrow", "csv"):
        file = open_file(tmp_path / f"table.{ending}")
        assert file.schema["colour"].kind == "category"
        assert read_all(file).to_pydict() == TABLE.to_pydict()


def test_frames_are_read_like_files():
    for frame in (TABLE, TABLE.to_pandas(), pl.from_arrow(TABLE), TABLE.to_batches()[0]):
        file = open_file(frame)
        assert file.n_rows == 3 and file.schema.names == ("size", "count", "colour")
        assert read_all(file, rows=2).to_pydict() == TABLE.to_pydict()
    unnamed = open_file(pd.DataFrame(np.eye(2)))
    assert not unnamed.schema.named and unnamed.schema.names == ("0", "1")
    with pytest.raises(InvalidData, match="data frame cannot be read"):
        open_file(pd.DataFrame({"mixed": [1, "a", None]}))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "i2", "?", "f2"])
def test_numpy_arrays_keep_their_numbers(tmp_path, order, dtype):
    X = np.asarray(np.arange(33).reshape(11, 3) % 7, dtype=dtype, order=order)
    y = np.arange(11) % 2
    np.save(tmp_path / "X.npy", X)
    np.savez(tmp_path / "plain.npz", X=X, y=y)
    np.savez_compressed(tmp_path / "packed.npz", X=X, y=y)
    for name in ("X.npy", "plain.npz", "packed.npz"):
        file = open_file(tmp_path / name)
        assert file.n_rows == 11 and not file.schema.named
        parts = [to_numbers(batch) for batch in file.batches(["3", "1"], rows=4)]
        assert np.array_equal(np.concatenate(parts), X[:, [2, 0]])
        assert parts[0].dtype == (np.float32 if dtype.endswith("f4") else np.float64)
    assert read_all(open_file(tmp_path / "packed.npz"), ["y"])["y"].to_pylist() == y.tolist()


def test_numpy_vectors_are_columns(tmp_path):
    days = np.array(["2024-01-31", "NaT"], dtype="datetime64[D]")
    np.savez(tmp_path / "table.npz", size=[1.5, 2.5], colour=["red", "blue"], day=days)
    file = open_file(tmp_path / "table.npz")
    assert [column.kind for column in file.schema.columns] == ["number", "category", "date"]
    assert read_all(file, ["colour", "size"]).to_pydict() == {"colour": ["red", "blue"], "size": [1.5, 2.5]}
    np.save(tmp_path / "one.npy", np.array([1.5, 2.5]))
    assert read_all(open_file(tmp_path / "one.npy")).to_pydict() == {"1": [1.5, 2.5]}


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": np.eye(3), "y": np.ones(2)}, "arrays of one length; it has 'X' (3, 3), 'y' (2,)"),
        ({"train": np.eye(3)}, "the array 'train' of shape (3, 3)"),
        ({"a": np.array(1.0)}, "the array 'a' of shape ()"),
        ({"z": np.ones(2, dtype=complex)}, "values of type complex128"),
        ({"o": np.array([{}, []], dtype=object)}, "values of type object"),
    ],
)
def test_arrays_that_do_not_form_a_table_are_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "table.npz", **arrays)
    with pytest.raises(InvalidData) as error:
        open_file(tmp_path / "table.npz")
    assert sentence in str(error.value)


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("ending", ["libsvm", "svm.gz"])
def test_libsvm_is_read_as_by_scikit_learn(tmp_path, zero_based, ending):
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 6)) * (random.random((50, 6)) < 0.3)
    X[0, [0, 5]] = 1.0
    path = tmp_path / f"table.{ending}"
    with (gzip.open if ending.endswith("gz") else open)(path, "wb") as file:
        dump_svmlight_file(X, random.integers(3, size=50), file, zero_based=zero_based, comment="a comment")
    expected, labels = load_svmlight_file(str(path), zero_based=zero_based)
    file = open_file(path)
    assert file.n_rows == 50 and file.schema.names[1] == ("0" if zero_based else "1")
    table = np.concatenate([to_numbers(batch) for batch in file.batches(rows=7)])
    assert np.array_equal(table[:, 0], labels) and np.array_equal(table[:, 1:], expected.toarray())


def test_libsvm_is_streamed_with_comments_queries_and_absent_indices(tmp_path):
    path = tmp_path / "table.libsvm"
    line = "1 qid:3 2:0.5 7:-1e-3 # no 99:1\r\n"
    path.write_text("# a comment\n\n" + line * 200_000 + "-1", newline="")
    file = open_file(path, FileOptions(target="label"))
    assert file.n_rows == 200_001 and len(file.schema.names) == 8
    last = None
    n_rows = 0
    for last in file.batches(["label", "7"], rows=50_000):
        n_rows += last.num_rows
    assert n_rows == 200_001
    assert last.to_pylist()[-2:] == [{"label": 1.0, "7": -0.001}, {"label": -1.0, "7": 0.0}]


def test_the_number_of_libsvm_features_can_be_given(tmp_path):
    path = tmp_path / "table.libsvm"
    path.write_text("1 2:5 9:1\n")
    file = open_file(path, FileOptions(n_features=4))
    assert file.schema.names == ("target", "1", "2", "3", "4") and file.n_rows is None
    assert read_all(file).to_pydict() == {"target": [1.0], "1": [0.0], "2": [5.0], "3": [0.0], "4": [0.0]}
