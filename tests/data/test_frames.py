"""Frames of three libraries are read alike."""

import datetime as dt
import subprocess
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from localsvm import InvalidData
from localsvm.data.encoding import learn_encoding
from localsvm.data.frames import has_only_numbers, is_frame, read_frame

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
    assert is_frame(frame) and not has_only_numbers(frame)
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
    assert has_only_numbers(pd.DataFrame({"a": [1, 2], "b": pd.array([True, None], dtype="boolean")}))
    assert not any(map(is_frame, (np.eye(2), [[1.0]], pd.Series([1.0]), None)))


def test_categories_may_be_numbers_truth_values_or_intervals():
    frame = pd.DataFrame({"n": pd.Categorical([3, 1, 3]), "b": pd.Categorical([True, False, True])})
    frame["i"] = pd.cut([0.0, 1.0, 2.0], [-1, 0.5, 3])
    table = read_frame(frame, list(frame))
    assert table.names[0] == ("1", "3") and table.names[1] == ("False", "True")
    assert table.X[:, 2].tolist() == [0.0, 1.0, 1.0]


def test_columns_are_read_as_in_training():
    frame = pd.DataFrame({"code": pd.Categorical([3, 1, 3]), "text": [None, None, None], "n": [1.0, 2.0, 3.0]})
    columns = learn_encoding(read_frame(frame, list(frame)), np.zeros((3, 1)), np.ones(3)).encoding
    later = pd.DataFrame({"code": [1.0, np.nan, 3.0], "text": ["a", "b", "c"], "n": [1, 2, 3]})
    table = read_frame(later, list(later), columns.kinds)
    assert table.names == {0: ("1", "3")}
    np.testing.assert_array_equal(table.X, [[0, np.nan, 1], [np.nan, np.nan, 2], [1, np.nan, 3]])


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([1.0, "red", "blue"], r"'x' has text, but at row 0 it has 1\.0"),
        (["red", True, "blue"], r"'x' has text, but at row 1 it has True"),
        ([pd.Timestamp("2024-01-01"), "soon", None], r"'x' has text, but at row 0 it has Timestamp"),
        ([dt.date(2024, 1, 1), None, 7], r"'x' has dates, but at row 2 it has 7: make all of it dates"),
        (
            np.array(["2024-01-01", "12024-01-01"], dtype="M8[s]"),
            r"'x' has dates outside of the years 1 to 9999 \(first at row 1",
        ),
        (
            pd.Categorical([("a", 1), ("b", 2)]),
            r"'x' has levels that are neither text nor numbers \(first at row 0: \('a', 1\)",
        ),
        ([None, [1], [2]], r"'x' has values that are not numbers \(first at row 1: \[1\]"),
        ([1.0, 1j, 2.0], r"'x' has values that are not numbers \(first at row 0: \(1\+0j"),
    ],
)
def test_what_is_neither_numbers_nor_text_is_refused(column, sentence):
    frame = pd.DataFrame({"x": pd.Series(column)})
    with pytest.raises(InvalidData, match=sentence):
        read_frame(frame, ["x"])


# ------------------------------------------------------------------------------------------- dates and durations

MOMENTS = [dt.datetime(2024, 1, 31, 18), None, dt.datetime(1950, 7, 1)]
DAYS = [19753.75, np.nan, -7124.0]


def moments():
    """The same moments in any library and type."""
    polars, pyarrow = import_module("polars"), import_module("pyarrow")
    plain = pd.Series(MOMENTS)
    yield from (plain, plain.astype("datetime64[s]"), plain.astype(object), plain.dt.tz_localize("Asia/Tokyo"))
    for kind in (pyarrow.timestamp("ms"), pyarrow.timestamp("ns")):
        yield plain.astype(pd.ArrowDtype(kind))
        yield pyarrow.array(MOMENTS, kind)
    yield pyarrow.array(
        [None if m is None else m.astimezone(dt.UTC) for m in _aware(MOMENTS)], pyarrow.timestamp("us", "Asia/Tokyo")
    )
    yield polars.Series(MOMENTS)
    yield polars.Series(MOMENTS).dt.replace_time_zone("Asia/Tokyo")


def _aware(values):
    tokyo = dt.timezone(dt.timedelta(hours=9))
    summer = dt.timezone(dt.timedelta(hours=10))  # in 1950
    return [None if m is None else m.replace(tzinfo=summer if m.year == 1950 else tokyo) for m in values]


def frame_of(column):
    if type(column).__module__.startswith("pyarrow"):
        return import_module("pyarrow").table({"x": column})
    return column.to_frame("x") if isinstance(column, pd.Series) else import_module("polars").DataFrame({"x": column})


def test_moments_are_days_by_the_clock_of_their_zone():
    for column in moments():
        frame = frame_of(column)
        assert not has_only_numbers(frame)
        table = read_frame(frame, ["x"])
        assert table.dates == {0} and table.names == {}
        np.testing.assert_array_equal(table.X[:, 0], DAYS)


def test_days_and_times_of_the_day_are_dates():
    polars, pyarrow = import_module("polars"), import_module("pyarrow")
    days, times = [dt.date(2024, 1, 31), None], [dt.time(18, 0), None]
    makers = (pd.Series, pyarrow.array, polars.Series, lambda values: pd.Series(values, dtype=object))
    for make in makers:
        for values, expected in ((days, [19753.0, np.nan]), (times, [0.75, np.nan])):
            table = read_frame(frame_of(make(values)), ["x"])
            assert table.dates == {0}
            np.testing.assert_array_equal(table.X[:, 0], expected)
    months = pd.Series(pd.PeriodIndex(["2024-01", "2024-02"], freq="M"))
    assert read_frame(frame_of(months), ["x"]).X[:, 0].tolist() == [19723.0, 19754.0]


def test_durations_are_seconds():
    polars, pyarrow = import_module("polars"), import_module("pyarrow")
    values = [dt.timedelta(hours=1), None, dt.timedelta(milliseconds=-500)]
    for make in (pd.Series, pyarrow.array, polars.Series, lambda values: pd.Series(values, dtype=object)):
        table = read_frame(frame_of(make(values)), ["x"])
        assert table.has_only_numbers
        np.testing.assert_array_equal(table.X[:, 0], [3600.0, np.nan, -0.5])


def test_a_column_of_dates_stays_one():
    frame = pd.DataFrame({"x": pd.date_range("2024-01-01", periods=5), "n": range(5)})
    encoding = learn_encoding(read_frame(frame, ["x", "n"]), np.zeros((5, 1)), np.ones(5)).encoding
    later = pd.DataFrame({"x": [dt.date(2024, 1, 1), None], "n": [1, 2]})
    np.testing.assert_array_equal(read_frame(later, ["x", "n"], encoding.kinds).X, [[19723.0, 1.0], [np.nan, 2.0]])
    with pytest.raises(InvalidData, match="column 'x' had dates in training, but at row 0 it has 'soon'"):
        read_frame(later.assign(x="soon"), ["x", "n"], encoding.kinds)


def test_no_library_of_frames_is_needed():
    code = """
import sys
sys.modules.update(pandas=None, polars=None, pyarrow=None)  # to import one is an error now
from localsvm import LocalSVC
print(LocalSVC(grid=3, missing="impute").fit([[0.0], [None], [1.0], [1.1]], [0, 0, 1, 1]).n_features_in_)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
