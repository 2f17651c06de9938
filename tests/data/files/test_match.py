"""The columns of a model are found in a file, or an error names those that are missing."""

import pyarrow as pa
import pytest

from localsvm import InvalidData
from localsvm.data.files import FileOptions, match_columns, open_file

SCHEMA = open_file(pa.table({"id": [1], "size": [1.5], "age": [30], "colour": ["red"]})).schema


def test_order_and_other_columns_do_not_matter():
    assert match_columns(["colour", "size"], SCHEMA) == ("colour", "size")


def test_missing_columns_are_reported_with_similar_names():
    with pytest.raises(
        InvalidData, match=r"new\.csv lacks 2 columns: 'Size ', 'weight'\. Did you mean 'size' for 'Size '"
    ):
        match_columns(["Size ", "weight", "age"], SCHEMA, file="new.csv")


def test_columns_without_names_are_matched_by_position_and_counted(tmp_path):
    (tmp_path / "new.csv").write_text("1,2,0\n3,4,1\n")
    schema = open_file(tmp_path / "new.csv").schema
    assert match_columns(["size", "age", "target"], schema) == ("1", "2", "3")
    assert match_columns(2, schema, ignored=["3"]) == ("1", "2")
    assert match_columns(4, SCHEMA) == SCHEMA.names
    for known, where in ((["size"], schema), (2, SCHEMA)):
        with pytest.raises(InvalidData, match="columns where the model has"):
            match_columns(known, where)


def test_kinds_must_be_those_of_training():
    kinds = {"size": "number", "age": "category"}
    assert match_columns(["size", "age"], SCHEMA, kinds=kinds) == ("size", "age")
    with pytest.raises(InvalidData, match="'colour' of the file has type string, but it was a number in training"):
        match_columns(["colour"], SCHEMA, kinds={"colour": "number"})


def test_indices_that_a_sparse_file_does_not_have_are_zero(tmp_path):
    (tmp_path / "train.libsvm").write_text("1 0:1 3:1\n")
    (tmp_path / "new.libsvm").write_text("1 1:5 4:7\n")
    known = open_file(tmp_path / "train.libsvm").schema.names[1:]
    file = open_file(tmp_path / "new.libsvm")
    columns = match_columns(known, file.schema, ignored=["target"])
    assert columns == ("0", "1", "2", "3")
    (batch,) = file.batches(columns)
    assert batch.to_pylist() == [{"0": 0.0, "1": 5.0, "2": 0.0, "3": 0.0}]
    assert match_columns(6, file.schema, ignored=["target"]) == ("1", "2", "3", "4", "5", "6")
    (batch,) = file.batches(["6", "target"])
    assert batch.to_pylist() == [{"6": 0.0, "target": 1.0}]
    with pytest.raises(InvalidData, match="4 columns where the model has 2"):
        match_columns(2, file.schema, ignored=["target"])


def test_options_for_absent_columns_are_ignored(tmp_path):
    (tmp_path / "new.csv").write_text("a,b\n1,2\n")
    file = open_file(tmp_path / "new.csv", FileOptions(categories=("label", "b")))
    assert [column.kind for column in file.schema.columns] == ["number", "category"]
