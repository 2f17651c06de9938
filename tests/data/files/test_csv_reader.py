"""Csv files are read in blocks: the rows do not depend on where the blocks end."""

import csv
import io
import tempfile
import threading
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from localsvm.data.files import FileOptions
from localsvm.data.files.csv_layout import find_layout
from localsvm.data.files.csv_reader import read_blocks
from localsvm.data.files.reading import map_ahead

PLAIN = st.text("ab1.ü", min_size=1, max_size=6)
QUOTED = st.text('ab1,"\n', min_size=1, max_size=6)


def read(content, size, **options):
    """Read all rows as text, in blocks of `size` bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_bytes(content)
        layout, _ = find_layout(path, path.name, FileOptions(delimiter=",", **options))
        types = dict.fromkeys(layout.names, pa.string())
        return [list(row.values()) for batch in read_blocks(layout, types, size) for row in batch.to_pylist()]


def written(rows, end):
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows(rows)
    return text.getvalue().encode()


def rows_of(cells):
    return st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=12)


@settings(deadline=None)
@given(
    rows=st.one_of(rows_of(PLAIN), st.builds(list.__add__, rows_of(PLAIN), rows_of(PLAIN | QUOTED))),
    names=st.sampled_from([["a", "b"], ["a,b", 'say "hi"'], ["two\nlines", "b"]]),
    end=st.sampled_from(["\n", "\r\n"]),
    spare=st.integers(0, 100),
    is_open=st.booleans(),
)
def test_rows_do_not_depend_on_the_size_of_blocks(rows, names, end, spare, is_open):
    content = written([names, *rows], end)
    longest = max(len(written([row], end)) for row in [names, *rows])
    content = content.removesuffix(end.encode()) if is_open else content
    assert read(content, 2 * longest + spare, header=True) == rows


@pytest.mark.parametrize("size", [12, 20, 30, 1000])
@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"a,b\r1,x\r2,y\r3,z\r", {}),
        (b"\xef\xbb\xbfa,b\n\n1,x\n\n\n2,y\n\n\n\n\n\n\n\n\n\n\n\n3,z\n\n\n\n", {}),
        (b'\n\n"a","b"\n1,x\n2,y\n3,"z"\n', {"header": True}),
        ("a,b\n1,x\n2,y\n3,z".encode("utf-16"), {}),
        (b"1,x\n2,y\n3,z", {"header": False}),
        (b'"1",x\n2,y\n3,z', {"header": False}),
    ],
)
def test_line_ends_byte_order_marks_blank_lines_and_headers_do_not_matter(content, options, size):
    assert read(content, size, **options) == [["1", "x"], ["2", "y"], ["3", "z"]]


def test_empty_lines_of_a_single_column_are_missing_values_in_every_block():
    assert read(b"a\nx\n\n\n\n\ny\n", 4) == [["x"], [None], [None], [None], [None], ["y"]]


def test_rows_before_a_wrong_block_are_read():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_text("a,b\n" + "1,2\n" * 100 + "1,2,3\n" + "1,2\n" * 100)
        layout, _ = find_layout(path, path.name, FileOptions())
        batches = read_blocks(layout, {"a": pa.float64()}, 40)
        n_rows = 0
        with pytest.raises(pa.ArrowInvalid):
            for batch in batches:
                n_rows += batch.num_rows
        assert 90 <= n_rows <= 100


@given(st.lists(st.integers()), st.integers(1, 5))
@example([], 2)
def test_map_ahead_keeps_the_order_of_the_items(items, n_threads):
    assert list(map_ahead(str, iter(items), n_threads)) == [str(item) for item in items]


def test_map_ahead_uses_all_threads_at_once():
    meeting = threading.Barrier(3, timeout=60)
    assert len(list(map_ahead(lambda _: meeting.wait(), iter(range(6)), 3))) == 6


def test_stopping_early_leaves_no_threads_and_reads_few_items_ahead():
    before, items = threading.active_count(), count()
    results = map_ahead(lambda item: item, items, 2)
    assert next(results) == 0
    results.close()
    assert threading.active_count() == before
    assert next(items) <= 10
