"""Frames of three libraries are read alike."""

import subprocess
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from localsvm import InvalidData
from localsvm.data.columns import learn_encoding
from localsvm.data.frames import has_categories, is_frame, read_frame

COLUMNS = {
    "size": [1.5, None, 2.5],
    "count": [1, 2, None],
    "flag": [True, None, False],
    "colour": ["red", None, "blue"],
}
EXPECTED = [[1.5, 1.0, 1.0, 1.0], [np.nan, 2.0, np.nan, np.nan], [2.5, np.nan, 0.0, 0.0]]


def pandas_frames():
    frame = pd.DataFrame(COLUMNS)
    yield frame
    yield frame.convert_dtypes()
    yield frame.astype({"colour": "category"})
    yield frame.astype(object)


def other_frames():
    for library, make in (("polars", "DataFrame"), ("pyarrow", "table")):
        module = import_module(library)
        yield getattr(module, make)(COLUMNS)


def check_expected(frame):
    assert is_frame(frame) and has_categories(frame)
    table = read_frame(frame, list(COLUMNS))
    np.testing.assert_array_equal(table.X, EXPECTED)
    assert table.names == {3: ("blue", "red")}


def test_frames_of_pandas_are_numbers_and_sorted_lists_of_categories():
    for frame in pandas_frames():
        check_expected(frame)


def test_frames_of_other_libraries_are_read_alike():
    for frame in other_frames():
        check_expected(frame)


def test_categories_of_polars_and_dictionaries_of_pyarrow_are_categories():
    polars, pyarrow = import_module("polars"), import_module("pyarrow")
    colours = polars.Series("colour", COLUMNS["colour"])
    for kind in (polars.Categorical, polars.Enum(["red", "blue"])):
        check_expected(polars.DataFrame(COLUMNS).with_columns(colours.cast(kind)))
    table = pyarrow.table(COLUMNS)
    check_expected(table.set_column(3, "colour", table.column("colour").dictionary_encode()))


def test_numbers_need_no_reading():
    assert not has_categories(pd.DataFrame({"a": [1, 2], "b": pd.array([True, None], dtype="boolean")}))
    assert not any(map(is_frame, (np.eye(2), [[1.0]], pd.Series([1.0]), None)))


def test_categories_may_be_numbers_truth_values_or_intervals():
    frame = pd.DataFrame({"n": pd.Categorical([3, 1, 3]), "b": pd.Categorical([True, False, True])})
    frame["i"] = pd.cut([0.0, 1.0, 2.0], [-1, 0.5, 3])
    table = read_frame(frame, list(frame))
    assert table.names[0] == ("1", "3") and table.names[1] == ("False", "True")
    assert table.X[:, 2].tolist() == [0.0, 1.0, 1.0]


def test_columns_are_read_as_in_training():
    frame = pd.DataFrame({"code": pd.Categorical([3, 1, 3]), "text": [None, None, None], "n": [1.0, 2.0, 3.0]})
    columns = learn_encoding(read_frame(frame, list(frame)), np.ones(3), impute=True)
    later = pd.DataFrame({"code": [1.0, np.nan, 3.0], "text": ["a", "b", "c"], "n": [1, 2, 3]})
    table = read_frame(later, list(later), columns)
    assert table.names == {0: ("1", "3")}
    np.testing.assert_array_equal(table.X, [[0, np.nan, 1], [np.nan, np.nan, 2], [1, np.nan, 3]])


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([1.0, "red", "blue"], r"'x' has text, but at row 0 it has 1\.0"),
        (["red", True, "blue"], r"'x' has text, but at row 1 it has True"),
        (pd.date_range("2024-01-01", periods=3), r"'x' has values that are not numbers \(first at row 0: Timestamp"),
        ([None, [1], [2]], r"'x' has values that are not numbers \(first at row 1: \[1\]"),
        ([1.0, 1j, 2.0], r"'x' has values that are not numbers \(first at row 0: \(1\+0j"),
    ],
)
def test_what_is_neither_numbers_nor_text_is_refused(column, sentence):
    frame = pd.DataFrame({"x": pd.Series(column)})
    with pytest.raises(InvalidData, match=sentence):
        read_frame(frame, ["x"])


def test_no_library_of_frames_is_needed():
    code = """
import sys
sys.modules.update(pandas=None, polars=None, pyarrow=None)  # to import one is an error now
from localsvm import LocalSVC
print(LocalSVC(grid=3, missing="impute").fit([[0.0], [None], [1.0], [1.1]], [0, 0, 1, 1]).n_features_in_)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
