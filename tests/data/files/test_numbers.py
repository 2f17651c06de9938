"""Batches are converted to the same numbers as estimators convert a data frame to."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import check_array
from tables import NUMBERS, TEXT, tables

from localsvm import InvalidData
from localsvm.data.files import CategoryCodes, number_type, open_file, to_numbers
from localsvm.data.frames import read_frame

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=5))
def test_numbers_have_the_type_that_estimators_use_for_a_data_frame_of_the_same_columns(types):
    frame = pd.DataFrame({str(number): np.ones(3, dtype=kind) for number, kind in enumerate(types)})
    expected = check_array(frame, dtype=(np.float64, np.float32))
    file = open_file(frame)
    assert number_type(file.schema, file.schema.names) == expected.dtype
    (batch,) = file.batches()
    found = to_numbers(batch)
    assert found.dtype == expected.dtype and np.array_equal(found, expected)


def test_a_category_makes_the_numbers_double():
    batch = pa.record_batch({"size": pa.array([1.5], pa.float32()), "colour": ["red"]})
    assert to_numbers(batch, ["size"]).dtype == np.float32
    assert to_numbers(batch, codes={"colour": CategoryCodes("colour")}).dtype == np.float64
    schema = open_file(pa.table(batch)).schema
    assert number_type(schema, ["size"]) == np.float32 and number_type(schema, schema.names) == np.float64


@settings(deadline=None)
@given(table=tables(kinds=NUMBERS), rows=st.integers(1, 5))
def test_numbers_are_those_of_the_data_frame_with_missing_values_as_nan(table, rows):
    table = table.cast(
        pa.schema([pa.field(f.name, pa.float32() if f.type == pa.float16() else f.type) for f in table.schema])
    )
    expected = read_frame(table, table.column_names).X
    out = np.empty((rows, table.num_columns))
    blocks = [to_numbers(batch, out=out).copy() for batch in open_file(table).batches(rows=rows)]
    found = np.concatenate([np.empty((0, table.num_columns)), *blocks])
    np.testing.assert_array_equal(found, expected)


def test_wide_and_long_batches_are_interleaved_alike():
    for n_rows, n_columns in ((100_000, 3), (3, 5000), (1, 1)):
        X = np.arange(n_rows * n_columns, dtype=np.float32).reshape(n_rows, n_columns)
        batch = pa.record_batch([X[:, j].copy() for j in range(n_columns)], names=[str(j) for j in range(n_columns)])
        assert np.array_equal(to_numbers(batch), X)
        assert np.array_equal(to_numbers(batch, batch.schema.names[::-1]), X[:, ::-1])


@settings(deadline=None)
@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12)))
def test_decimals_are_rounded_once(values):
    batch = pa.record_batch([pa.array(values, pa.decimal128(30, 4))], names=["price"])
    assert to_numbers(batch)[:, 0].tolist() == [float(value) for value in values]


def test_columns_that_are_not_numeric_are_refused_by_name():
    columns = {
        "word": ["a"],
        "day": pa.array([0], pa.date32()),
        "hour": pa.array([0], pa.time64("us")),
        "moment": pa.array([0], pa.timestamp("ns")),
        "list": [[1.0]],
        "bytes": [b"a"],
    }
    file = open_file(pa.table(columns))
    kinds = ["category", "date", "date", "date", "other", "other"]
    assert [column.kind for column in file.schema.columns] == kinds
    (batch,) = file.batches()
    for name in columns:
        with pytest.raises(InvalidData, match=f"column '{name}'"):
            to_numbers(batch, [name])


texts = st.lists(st.none() | st.sampled_from(["red", "blue", ""]) | TEXT, max_size=12)


@settings(deadline=None)
@given(texts, st.integers(1, 4), st.sampled_from([pa.string(), pa.large_string(), pa.string_view(), "dictionary"]))
def test_sorted_categories_are_those_of_the_data_frame(values, rows, kind):
    column = pa.array(values).dictionary_encode() if kind == "dictionary" else pa.array(values, kind)
    codes = CategoryCodes("word")
    parts = [codes.encode(batch.column("word")) for batch in open_file(pa.table({"word": column})).batches(rows=rows)]
    found = np.concatenate([np.empty(0), *parts])
    known = ~np.isnan(found)
    found[known] = codes.places[found[known].astype(int)]
    expected = read_frame(pa.table({"word": pa.array(values, pa.string()).dictionary_encode()}), ["word"])
    assert codes.sorted_names == expected.names[0]
    np.testing.assert_array_equal(found, expected.X[:, 0])


@pytest.mark.parametrize(
    "values", [pd.Categorical([3, 1, 3]), pd.Categorical([1.0, 2.5, np.nan]), pd.Categorical([True, False, None])]
)
def test_categories_of_pandas_have_the_same_names(values):
    frame = pd.DataFrame({"code": values})
    codes = CategoryCodes("code")
    (batch,) = open_file(frame).batches()
    codes.encode(batch.column("code"))
    assert codes.sorted_names == read_frame(frame, ["code"]).names[0]


def test_dates_and_decimals_can_be_declared_categories():
    columns = {"day": pa.array([0, None, 1], pa.date32()), "price": pa.array([Decimal("1.50"), None, Decimal(2)])}
    for name, column in columns.items():
        codes = CategoryCodes(name)
        assert np.isnan(codes.encode(column)).tolist() == [False, True, False]
        assert len(codes.names) == 2


def test_dates_are_days_and_durations_seconds():
    columns = {
        "day": pa.array([19753, None], pa.date32()),
        "moment": pa.array([19753 * 86400 + 64800, None], pa.timestamp("s")),
        "zoned": pa.array([19753 * 86400 + 32400, None], pa.timestamp("s", "Asia/Tokyo")),
        "hour": pa.array([64800, None], pa.time32("s")),
        "text": ["2024-01-31 18:00+05:30", "NA"],
        "nothing": pa.array([None, None]),
        "wait": pa.array([90, None], pa.duration("s")),
    }
    batch = pa.record_batch(columns)
    found = to_numbers(batch, dates=[name for name in columns if name != "wait"])
    np.testing.assert_array_equal(found, [[19753.0, 19753.75, 19753.75, 0.75, 19753.75, np.nan, 90.0], [np.nan] * 7])


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1970-01-02", 1.0),
        (" 1970-01-02T12:00 ", 1.5),
        ("1970-01-02 12:00:00.1234567Z", 1.5 + 0.123456 / 86400),
        ("1970-01-02 12:00-0730", 1.5),
        ("1970-01-02 12:00+01", 1.5),
        ("06:00", 0.25),
        ("06:00:00.5", 0.25 + 0.5 / 86400),
        ("0001-01-01", -719162.0),
        ("9999-12-31", 2932896.0),
    ],
)
def test_dates_in_text_are_read_as_they_are_shown(text, day):
    batch = pa.record_batch({"when": [text]})
    assert to_numbers(batch, dates=["when"]).item() == pytest.approx(day, abs=1e-12)


@pytest.mark.parametrize("text", ["soon", "2024-06-31", "2024-13-01", "31.1.2024", "25:00"])
def test_text_that_is_no_date_is_refused(text):
    batch = pa.record_batch({"when": ["2024-01-31", None, text]})
    with pytest.raises(InvalidData, match=f"column 'when' has dates, but also '{text}', which is none"):
        to_numbers(batch, dates=["when"])


def test_columns_of_too_many_distinct_values_are_not_categories():
    codes = CategoryCodes("id")
    with pytest.raises(InvalidData, match="'id' has more than 1000000 different values"):
        codes.encode(pa.array(np.arange(1_000_001)))
