"""Damaged files: every error is a sentence that names the file, and no bytes crash a reader."""

import contextlib
import gzip
import os
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damage import ENDINGS, read_bytes, valid_file
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import InvalidData
from localsvm.data.files import open_file
from localsvm.errors import LocalSVMError

MAX_MEMORY = 1 << 29


def refused(path):
    """Return the error of opening and reading a file."""
    with pytest.raises(InvalidData) as error:
        for _ in open_file(path).batches():
            pass
    # One sentence, without the error of pyarrow in the traceback.
    assert error.value.__suppress_context__ or error.value.__context__ is None
    assert str(error.value).endswith((".", "?")) and "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("ending", ENDINGS)
def test_empty_missing_and_forbidden_files_have_different_errors(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    assert refused(path) == f"{path}: there is no such file."
    path.write_bytes(b"")
    assert f"{path} is empty" in refused(path)
    path.chmod(0)
    with unprivileged_user():
        assert refused(path) == f"{path}: you have no permission to read it."


@contextlib.contextmanager
def unprivileged_user():
    """Run as a user who may not read everything, if this one is root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_only_directories_of_parquet_are_read(tmp_path):
    assert "directory without parquet files" in refused(tmp_path)
    (tmp_path / "table.csv").mkdir()
    assert "directory without parquet files" in refused(tmp_path / "table.csv")
    (tmp_path / "part.parquet").write_bytes(b"nonsense")
    assert "part.parquet is expected to be parquet" in refused(tmp_path)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [other for other in ENDINGS if other not in ("csv", "libsvm", "arrows")])
def test_content_of_another_format_is_named(tmp_path, ending, content):
    path = tmp_path / f"table.{ending}"
    path.write_bytes(valid_file(content))
    is_valid = content in (ending, {"arrows": "arrow"}.get(ending))
    if is_valid:
        assert read_bytes(valid_file(content), ending, str(tmp_path)) is None
    else:
        assert str(path) in refused(path)
    if ending not in ("csv.gz", content, "arrows") and content != "csv.gz":
        assert f"is expected to be {ending}" in refused(path)


def test_text_of_another_format_is_refused(tmp_path):
    for ending in ENDINGS[3:]:
        path = tmp_path / f"table.{ending}"
        path.write_text("a,b\n1,2\n")
        assert str(path) in refused(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 1:2\n1 2:x\n", "line 2 has '2:x' where index:value is expected"),
        ("1 1:2\n\n1 3:1 2:1\n", "line 3 has the index 2 after 3"),
        ("1 1:2 1:3\n", "line 1 has the index 1 after 1"),
        ("# c\nred 1:2\n", "line 2 has the label 'red', which is not a number"),
        ("1,2 1:2\n", "line 1 has the label '1,2'"),
        ("1 -3:2\n", "line 1 has '-3:2'"),
        ("1 3\n", "line 1 has '3'"),
        ("1 100001:2\n", "has the index 100001; 100000 is the largest"),
        ("\n# nothing\n", "it has no line with a label"),
    ],
)
def test_wrong_lines_of_libsvm_are_reported_with_their_number(tmp_path, text, sentence):
    (tmp_path / "table.libsvm").write_text(text)
    assert sentence in refused(tmp_path / "table.libsvm")


def test_duplicate_column_names_are_refused(tmp_path):
    (tmp_path / "table.csv").write_text("a,b,a\n1,2,3\n")
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "table.parquet")
    for ending in ("csv", "parquet"):
        assert "has the column 'a' more than once" in refused(tmp_path / f"table.{ending}")


def test_too_long_rows_and_too_many_columns_are_refused(tmp_path):
    (tmp_path / "wide.csv").write_text("," * 200_000 + "\n1\n")
    assert "has 200001 columns" in refused(tmp_path / "wide.csv")
    (tmp_path / "long.csv").write_bytes(b"a,b\n" + b"x" * (40 << 20) + b",1\n")
    assert "has a row of more than 16 MiB" in refused(tmp_path / "long.csv")
    (tmp_path / "open.csv").write_bytes(b'a,b\n"x,1\n' + b"1,2\n" * (10 << 20))
    assert "are its quotes closed?" in refused(tmp_path / "open.csv")
    (tmp_path / "long.libsvm").write_bytes(b"1" * (40 << 20))
    assert "has a line of more than 16 MiB" in refused(tmp_path / "long.libsvm")


def test_pickles_are_not_loaded(tmp_path):
    np.save(tmp_path / "table.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "has values of type object" in refused(tmp_path / "table.npy")


@pytest.mark.parametrize("ending", ENDINGS)
def test_truncated_files_are_refused_or_harmless(tmp_path, ending):
    data = valid_file(ending)
    errors = [read_bytes(data[:size], ending, str(tmp_path)) for size in range(1, len(data), 1 + len(data) // 200)]
    if ending not in ("csv", "libsvm", "arrows"):  # formats of which a prefix is a table, too
        assert all(errors)


def test_a_gz_file_truncated_far_from_its_start_is_refused(tmp_path):
    numbers = np.random.default_rng(0).integers(1000, size=600_000)
    data = gzip.compress(b"a,b\n" + "".join(f"{n},1\n" for n in numbers).encode())
    (tmp_path / "table.csv.gz").write_bytes(data[:-1000])
    assert "cannot be read" in refused(tmp_path / "table.csv.gz")


bytes_of_a_format = st.sampled_from(ENDINGS).flatmap(
    lambda ending: st.tuples(st.just(ending), st.binary(max_size=300) | damaged(valid_file(ending)))
)


def damaged(data):
    """Draw variants of a file with some bytes changed, deleted or inserted."""
    places = st.integers(0, len(data))
    edits = st.lists(st.tuples(places, st.integers(0, 8), st.binary(max_size=8)), min_size=1, max_size=4)
    return edits.map(lambda edits: edited(data, edits))


def edited(data, edits):
    for place, deleted, inserted in edits:
        data = data[:place] + inserted + data[place + deleted :]
    return data


@settings(max_examples=400, deadline=None)
@given(bytes_of_a_format)
def test_any_bytes_are_a_table_or_an_error_sentence(case):
    ending, data = case
    before = pa.default_memory_pool().max_memory()
    with tempfile.TemporaryDirectory() as folder:
        read_bytes(data, ending, folder)
    assert pa.default_memory_pool().max_memory() <= max(before, MAX_MEMORY)


text_like = st.text(st.sampled_from('",;\t\n\r 01.eE+-:#qaNA?\ufeff'), max_size=60)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["csv", "libsvm"]), text_like)
def test_any_text_is_a_table_or_an_error_sentence(ending, text):
    with tempfile.TemporaryDirectory() as folder:
        read_bytes(text.encode(), ending, folder)


def test_invalid_data_is_an_error_of_this_package():
    assert issubclass(InvalidData, LocalSVMError)
