"""Csv files: layouts, missing values, notations of numbers, and errors."""

import csv
import gzip
import io
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import TEXT, read_all

from localsvm import InvalidData, InvalidParameter
from localsvm.data.files import FileOptions, open_file


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def read(path, **options):
    return read_all(open_file(path, FileOptions(**options)), rows=20_000).to_pydict()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_and_line_ends_are_detected(write, delimiter, end):
    rows = [["size", "colour"], ["1.5", "red"], ["2", "blue"]]
    text = end.join(delimiter.join(row) for row in rows)
    assert read(write(text)) == {"size": [1.5, 2.0], "colour": ["red", "blue"]}


def test_quoted_values_may_contain_delimiters_line_breaks_and_quotes(write):
    text = 'a,"b, ""c"""\n1,"x\ny"\n2,"say ""hi"", then go"\n3,5" pipe\n'
    assert read(write(text)) == {"a": [1.0, 2.0, 3.0], 'b, "c"': ["x\ny", 'say "hi", then go', '5" pipe']}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(TEXT, min_size=2, max_size=2), min_size=1, max_size=6))
def test_values_quoted_by_pythons_csv_module_are_read_back(rows):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    frame = io.BytesIO(text.getvalue().encode())
    expected = pd.read_csv(frame, dtype=str, keep_default_na=False, skip_blank_lines=False).to_dict("list")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.getvalue().encode())))
        file = open_file("-", FileOptions(delimiter=",", header=True, categories=("a", "b")))
    assert read_all(file).to_pydict() == read_all(file).to_pydict() == expected


def test_byte_order_marks_blank_lines_and_compression_do_not_matter(write):
    expected = {"a": [1.0, 3.0], "b": ["x", "y"]}
    text = b"\xef\xbb\xbfa,b\r\n\r\n1,x\r\n\r\n3,y\r\n\r\n"
    assert read(write(text)) == expected
    assert read(write(gzip.compress(text[:9]) + gzip.compress(text[9:]), "table.csv.gz")) == expected
    assert read(write("a,b\n1,x\n3,y".encode("utf-16"))) == expected
    assert read(write("a,b\n1,x\n3,y", "table.anything"), format="csv") == expected
    for name in ("bz2", "zst", "lz4"):
        path = write(b"", f"table.csv.{name}")
        with pa.output_stream(str(path)) as sink:
            sink.write(text)
        assert read(path) == expected


def test_other_encodings_can_be_given(write):
    path = write("größe,b\n1,ü\n".encode("latin-1"))
    assert read(path, encoding="latin-1") == {"größe": [1.0], "b": ["ü"]}


def test_a_first_row_of_numbers_is_a_header_only_if_it_alone_is_quoted(write):
    assert read(write("1,2\n3,4\n")) == {"1": [1.0, 3.0], "2": [2.0, 4.0]}
    assert not open_file(write("1,2\n3,4\n")).schema.named
    assert read(write('"5","6"\n3,4\n')) == {"5": [3.0], "6": [4.0]}
    assert read(write("5,6\n3,4\n"), header=True) == {"5": [3.0], "6": [4.0]}
    assert read(write("a,b\nc,d\n"), header=False) == {"1": ["a", "c"], "2": ["b", "d"]}
    assert read(write("place,2023,2024\nhere,1,2\n")) == {
        "1": ["place", "here"],
        "2": [2023.0, 1.0],
        "3": [2024.0, 2.0],
    }
    assert read(write("place,2023,2024\n5,1,2\n")) == {"place": [5.0], "2023": [1.0], "2024": [2.0]}
    assert read(write("red,?\nblue,1\n")) == {"1": ["red", "blue"], "2": [None, 1.0]}


def test_a_header_alone_is_a_table_without_rows(write):
    for text in ("a,b", "a,b\n", "a,b\r\n", "a,b\n\n"):
        assert read(write(text)) == {"a": [], "b": []}
    assert open_file(write("a,b\n")).n_rows == 0


def test_common_words_for_missing_values_are_recognized(write):
    words = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "unknown"]
    text = "number,word\n" + "".join(f"{word},{word}\n" for word in words) + "1,a\n"
    found = read(write(text), missing_values=("unknown",))
    assert found == {"number": [None] * len(words) + [1.0], "word": [None] * len(words) + ["a"]}


def test_missing_numbers_may_be_quoted_but_quoted_words_are_words(write):
    text = 'number,word\n"1","a"\n"",""\n"NA","NA"\n"2",\n'
    assert read(write(text)) == {"number": [1.0, None, None, 2.0], "word": ["a", "", "NA", None]}


def test_numbers_may_have_many_notations(write):
    notations = ["1", "-1", "+1", "1.", ".5", "1e3", "1E-3", " 7 ", "inf", "-inf", "0001", "1.7976931348623157e308"]
    found = read(write("a,b\n" + "".join(f"{notation},x\n" for notation in notations)))
    assert found["a"] == [float(notation) for notation in notations]


def test_decimal_commas_are_detected_if_the_comma_is_not_the_delimiter(write):
    assert read(write("a;b\n1,5;x\n2;y\n")) == {"a": [1.5, 2.0], "b": ["x", "y"]}
    assert read(write("a;b\n1,5;x\n+2,5;y\n")) == {"a": [1.5, 2.5], "b": ["x", "y"]}
    with pytest.raises(InvalidData, match=r"'1\.234' at row 31"):
        read(write("a;b\n" + "1,5;x\n" * 30 + "1.234;y\n"))
    assert read(write("a\n1,5\n2\n"), decimal=",", delimiter=";") == {"a": [1.5, 2.0]}


def test_booleans_are_numbers_and_dates_are_neither_numbers_nor_categories(write):
    text = "yes,day\ntrue,2024-01-31\nFalse,2024-02-01 12:30:00\n,\n"
    file = open_file(write(text))
    assert [column.kind for column in file.schema.columns] == ["number", "date"]
    expected = {"yes": [True, False, None], "day": ["2024-01-31", "2024-02-01 12:30:00", None]}
    assert read_all(file).to_pydict() == expected
    declared = open_file(write(text), FileOptions(categories=("day",)))
    assert declared.schema["day"].kind == "category"


def test_an_empty_line_is_a_missing_value_if_there_is_a_single_column(write):
    assert read(write("a\n1\n\n3\n")) == {"a": [1.0, None, 3.0]}
    assert read(write("\n\na\n1\n")) == {"a": [1.0]}


MANY = 300_000


def test_decimals_missing_values_and_other_notations_may_come_later(write):
    rows = ["1,x\n"] * MANY + [",x\n", "2.5,\n", '"NA",y\n', "+3,z\n"] + ["4,x\n"] * 5
    found = read(write("a,b\n" + "".join(rows)))
    assert found["a"] == [1.0] * MANY + [None, 2.5, None, 3.0] + [4.0] * 5
    assert found["b"][-9:] == ["x", None, "y", "z"] + ["x"] * 5


def test_a_word_among_numbers_is_reported_with_column_row_and_value(write):
    late = write("age,b\n" + "1,2\n" * MANY + "old,3\n")
    with pytest.raises(InvalidData, match=f"column 'age' has 'old' at row {MANY + 1}, which is not a number.*category"):
        read(late)
    early = write("age,b\n" + "1,2\n" * 5 + "old,3\n" + "1,2\n" * 20, "early.csv")
    with pytest.raises(InvalidData, match="column 'age' has 'old' at row 6"):
        read(early)
    assert read(late, missing_values=("old",))["age"][-1] is None
    assert read(late, categories=("age",))["age"][-2:] == ["1", "old"]
    # Only columns that are used are checked.
    assert len(read_all(open_file(late), ["b"], rows=20_000)) == MANY + 1


def test_booleans_are_checked_too(write):
    with pytest.raises(InvalidData, match="column 'a' has 'maybe' at row 300001, which is not true or false"):
        read(write("a,b\n" + "true,2\n" * MANY + "maybe,3\n"))
    assert read(write("a,b\n" + "true,2\n" * MANY + '"",3\n'))["a"][-2:] == [True, None]


def test_lines_with_too_many_or_too_few_values_are_reported_with_their_number(write):
    start = 'a,b\n1,"two\nlines"\n\n3,x\n'
    with pytest.raises(InvalidData, match="line 6 has 3 values where 2 are expected"):
        read(write(start + "4,5,6\n"))
    with pytest.raises(InvalidData, match=f"line {MANY + 2} has 1 value where 2 are expected"):
        read(write("a,b\n" + "1,2\n" * MANY + "3\n"))
    with pytest.raises(InvalidData, match="line 2 has 3 values where 1"):
        read(write("A title of the table\na,b,c\n1,2,3\n4,5,6\n"))


def test_text_in_another_encoding_is_reported_with_its_position(write):
    with pytest.raises(InvalidData, match=r"not utf-8 text: byte 0xfc at position 6, in line 2.*latin-1"):
        open_file(write("a,b\n1,ü\n".encode("latin-1")))
    late = write(("a,b\n" + "1,x\n" * MANY + "1,ü\n").encode("latin-1"))
    with pytest.raises(InvalidData, match=f"column 'b' is not UTF-8 text at row {MANY + 1}"):
        read(late)


def test_only_the_requested_columns_are_read(write):
    path = write("a,b,c\n1,x,2\n")
    assert read_all(open_file(path), ["c", "a"]).to_pydict() == {"c": [2.0], "a": [1.0]}
    with pytest.raises(InvalidData, match=r"lacks the column 'A'\. Did you mean 'a' for 'A'\?"):
        open_file(path).batches(["A"])


def test_batches_have_the_rows_of_the_file_in_order_and_at_most_the_requested_size(write):
    numbers = np.arange(200_000)
    path = write("n,m\n" + "".join(f"{number},1\n" for number in numbers))
    for rows in (1000, 65_536):
        sizes, found = [], []
        for batch in open_file(path).batches(["n"], rows):
            sizes.append(batch.num_rows)
            found.append(batch.column("n").to_numpy())
        assert max(sizes) <= rows and min(sizes) > 0
        assert np.array_equal(np.concatenate(found), numbers)


def test_reading_can_stop_at_any_time_and_start_again(write):
    path = write("n,m\n" + "1,2\n" * 200_000)
    before = threading.active_count()
    file = open_file(path)
    for _ in range(3):
        batches = file.batches(rows=100)
        assert next(batches).num_rows == 100
        batches.close()
    assert threading.active_count() == before
    assert sum(batch.num_rows for batch in file.batches()) == 200_000


@pytest.mark.parametrize(
    "options", [{"delimiter": ",,"}, {"delimiter": '"'}, {"decimal": ";"}, {"encoding": "utf-99"}, {"format": "xls"}]
)
def test_invalid_options_are_refused(options):
    with pytest.raises(InvalidParameter, match=f"{next(iter(options))}="):
        FileOptions(**options)
