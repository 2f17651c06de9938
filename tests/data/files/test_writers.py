"""A file is written completely, or not at all."""

import os
import subprocess
import sys

import pyarrow as pa
import pytest

from localsvm import InvalidData, InvalidParameter
from localsvm.data.files import FileOptions, convert_file, open_file, open_writer

TABLE = pa.table({"target": [1.0, 0.0], "size": [1.5, 0.0]})
ENDINGS = ["csv", "csv.gz", "libsvm", "parquet", "arrow", "arrows", "npz"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_after_an_error_the_old_file_is_unchanged_and_nothing_else_remains(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    path.write_text("old")
    schema = open_file(TABLE).schema
    with pytest.raises(ZeroDivisionError), open_writer(path, schema) as writer:
        writer.write(TABLE.to_batches()[0])
        raise ZeroDivisionError
    assert path.read_text() == "old" and os.listdir(tmp_path) == [path.name]
    convert_file(TABLE, path)
    assert path.read_bytes() != b"old" and os.listdir(tmp_path) == [path.name]


def test_a_file_can_be_converted_onto_itself(tmp_path):
    path = tmp_path / "table.csv"
    convert_file(TABLE, path, written=FileOptions(delimiter=";"))
    assert convert_file(path, path) == 2
    assert path.read_text() == '"target","size"\n1,1.5\n0,0\n'


def test_standard_output_is_csv_and_stays_open(capfdbinary):
    for name in ("-", None):
        convert_file(TABLE, name, written=FileOptions(header=False, delimiter="\t"))
    assert not sys.stdout.buffer.closed
    assert capfdbinary.readouterr().out == b"1\t1.5\n0\t0\n" * 2


def test_csv_is_converted_from_standard_input_to_standard_output(tmp_path):
    program = "from localsvm.data.files import convert_file; convert_file('-', '-')"
    run = subprocess.run([sys.executable, "-c", program], input=b"a;b\n1;x\n", capture_output=True, check=True)
    assert run.stdout == b'"a","b"\n1,"x"\n'


@pytest.mark.parametrize(
    ("columns", "ending", "sentence"),
    [
        ({"list": [[1]]}, "csv", "column 'list'.*which csv cannot store"),
        ({"list": [[1]]}, "npz", "column 'list'.*which npz cannot store"),
        ({"hour": pa.array([1], pa.time32("s"))}, "npz", "column 'hour'.*which npz cannot store"),
        ({"word": ["a", None]}, "npz", "column 'word' has missing text"),
        ({"target": [1], "word": ["a"]}, "libsvm", "column 'word' is a category"),
        ({"size": [1]}, "libsvm", "no column 'target'"),
    ],
)
def test_columns_that_a_format_cannot_store_are_refused_by_name(tmp_path, columns, ending, sentence):
    with pytest.raises(InvalidData, match=sentence):
        convert_file(pa.table(columns), tmp_path / f"table.{ending}")
    assert os.listdir(tmp_path) == []


def test_links_are_followed_and_devices_are_written_to(tmp_path):
    (tmp_path / "table.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("table.csv")
    convert_file(TABLE, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "table.csv").read_text().startswith('"target"')
    os.mkfifo(tmp_path / "pipe.csv")
    program = "import sys; print(open(sys.argv[1]).read(), end='')"
    with subprocess.Popen([sys.executable, "-c", program, tmp_path / "pipe.csv"], stdout=subprocess.PIPE) as reader:
        convert_file(TABLE, tmp_path / "pipe.csv")
        assert reader.communicate()[0] == b'"target","size"\n1,1.5\n0,0\n'
    assert (tmp_path / "pipe.csv").is_fifo()


def test_paths_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(InvalidParameter, match=r"there is no directory .*missing"):
        convert_file(TABLE, tmp_path / "missing" / "table.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidParameter, match="it is a directory"):
        convert_file(TABLE, tmp_path / "folder.csv")
    with pytest.raises(InvalidParameter, match="standard output is csv, not parquet"):
        convert_file(TABLE, "-", written=FileOptions(format="parquet"))
    with pytest.raises(InvalidParameter, match="not written as npy"):
        convert_file(TABLE, tmp_path / "table.npy")
    with pytest.raises(InvalidData, match="the format is unknown"):
        convert_file(TABLE, tmp_path / "table.xls")
