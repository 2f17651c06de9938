"""Tables that are written are read back, as far as a format can store them."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import NUMBERS, read_all, tables, values_of

from localsvm.data.files import FileOptions, convert_file, open_file

EXACT = ("parquet", "arrow", "arrows", "feather")
SINGLE = (pa.float32(), pa.float16())


def there_and_back(table, ending, options=None, written=None):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table.{ending}")
        assert convert_file(table, path, written=written) == table.num_rows
        file = open_file(path, options)
        assert file.n_rows in (None, table.num_rows)
        return read_all(file)


@pytest.mark.parametrize("ending", EXACT)
@settings(deadline=None)
@given(table=tables())
def test_columnar_formats_keep_values_types_and_names(ending, table):
    assert there_and_back(table, ending).equals(table)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "txt.zst"])
@settings(deadline=None)
@given(table=tables())
def test_csv_keeps_numbers_to_the_bit_and_text_to_the_letter(ending, table):
    text = tuple(field.name for field in table.schema if pa.types.is_string(field.type))
    numbers = tuple(field.name for field in table.schema if not pa.types.is_string(field.type))
    delimiter = "\t" if ending == "tsv" else ","
    given = FileOptions(delimiter=delimiter, header=True, decimal=".", categories=text, numbers=numbers)
    # Booleans as numbers: in a csv file of few rows 0 and 1 cannot be recognized as booleans.
    plain = table.cast(
        pa.schema([pa.field(f.name, pa.int8() if pa.types.is_boolean(f.type) else f.type) for f in table.schema])
    )
    back = there_and_back(plain, ending, given, FileOptions(delimiter=delimiter))
    assert back.column_names == table.column_names
    for name in table.column_names:
        read = back[name].cast(pa.float32()) if table[name].type in SINGLE else back[name]
        assert values_of(read) == values_of(table[name])


@settings(deadline=None)
@given(table=tables(kinds=("double", "single", "long", "text"), min_rows=2, missing=False))
def test_csv_without_missing_values_needs_no_options_but_the_delimiter(table):
    # A letter makes every value text.
    table = pa.table(
        [
            pa.array([f"a{value}" for value in column.to_pylist()]) if pa.types.is_string(column.type) else column
            for column in table.columns
        ],
        names=[f"name {number}" for number in range(table.num_columns)],
    )
    back = there_and_back(table, "csv", FileOptions(delimiter=","))
    for name in table.column_names:
        read = back[name].cast(pa.float32()) if table[name].type in SINGLE else back[name]
        assert values_of(read) == values_of(table[name])


@settings(deadline=None)
@given(table=tables(kinds=NUMBERS, min_rows=1))
def test_libsvm_keeps_numbers_and_the_number_of_columns(table):
    table = table.rename_columns([f"name {number}" for number in range(table.num_columns)])
    target = table.column_names[0]
    back = there_and_back(table, "libsvm", FileOptions(target="y"), FileOptions(target=target))
    assert back.column_names == ["y", *map(str, range(1, table.num_columns))]
    for name, column in zip(table.column_names, back.columns, strict=True):
        read = column.cast(pa.float32()) if table[name].type in SINGLE else column
        assert values_of(read) == values_of(table[name])


@settings(deadline=None)
@given(table=tables(kinds=NUMBERS))
def test_npz_keeps_numbers_and_names(table):
    back = there_and_back(table, "npz")
    assert back.column_names == table.column_names
    for name in table.column_names:
        assert values_of(back[name]) == values_of(table[name])
        if table[name].null_count == 0:
            assert back[name].type == table[name].type


@settings(deadline=None)
@given(values=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=8))
def test_npz_keeps_text_and_numpy_reads_it_without_pickle(values):
    table = pa.table({"word": pa.array(values, pa.string())})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "words.npz")
        convert_file(table, path)
        with np.load(path, allow_pickle=False) as arrays:
            assert arrays["word"].tolist() == values
        assert read_all(open_file(path)).equals(table)


def test_names_that_are_ascending_indices_stay_indices(tmp_path):
    for names, expected in ((["2", "5"], "1 2:7 5:8\n"), (["5", "2"], "1 1:7 2:8\n"), (["02", "5"], "1 1:7 2:8\n")):
        convert_file(pa.table([[1], [7], [8]], names=["target", *names]), tmp_path / "table.libsvm")
        assert (tmp_path / "table.libsvm").read_text() == expected


def test_a_chain_of_formats_loses_nothing(tmp_path):
    table = pa.table({"target": [1.0, -1.0, 0.5], "1": [0.1, 0.0, 1e300], "2": [0.0, -2.5, 3.0]})
    source = table
    for ending in ("csv", "parquet", "libsvm", "arrow", "npz", "svm.gz", "arrows", "csv.bz2"):
        convert_file(source, tmp_path / f"table.{ending}", FileOptions(header=True))
        source = tmp_path / f"table.{ending}"
    assert read_all(open_file(source)).equals(table)


def test_categories_stay_categories(tmp_path):
    table = pa.table(
        {"word": pa.array(["a", "b", None]).dictionary_encode(), "code": pa.array([3, 1, 3]).dictionary_encode()}
    )
    for ending in ("parquet", "arrow", "csv"):
        convert_file(table, tmp_path / f"table.{ending}")
        file = open_file(tmp_path / f"table.{ending}", FileOptions(categories=("code",)))
        assert [column.kind for column in file.schema.columns] == ["category", "category"]
        assert read_all(file).to_pydict() == {"word": ["a", "b", None], "code": ["3", "1", "3"]}


def test_progress_is_reported_in_rows(tmp_path):
    reported = []
    table = pa.table({str(number): np.arange(3000.0) for number in range(2000)})
    convert_file(table, tmp_path / "table.parquet", on_rows=reported.append)
    assert reported == sorted(reported) and reported[-1] == 3000 and len(reported) > 1
