"""Named pipes and /dev/fd: read once, with the same result as the file; nothing is left in the temporary directory."""

import bz2
import gzip
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from files import ModelFile
from shell import ENVIRONMENT

from localsvm import InvalidData
from localsvm.data.files import FileOptions, open_file

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")

FAST = ("--grid", 2, "--scaling", "minmax", "-q")
TABLE = pa.table({"size": np.arange(7) / 8, "age": np.arange(7.0)})


class Pipe:
    """A pipe that a thread writes some bytes to, once: by its name or as an open file."""

    def __init__(self, content, path=None):
        self.path, self._end = path, None
        if path is None:
            self._end, writable = os.pipe()
            self.path = f"/dev/fd/{self._end}"
        else:
            os.mkfifo(path)
            writable = path
        self._writer = threading.Thread(target=self._write, args=(writable, content), daemon=True)

    def _write(self, writable, content):
        try:
            with open(writable, "wb") as file:
                file.write(content)
        except BrokenPipeError:
            pass

    def __enter__(self):
        self._writer.start()
        return self.path

    def __exit__(self, *_):
        if self._end is not None:
            os.close(self._end)
        self._writer.join(10)
        assert not self._writer.is_alive()


def arrow(new):
    sink = pa.BufferOutputStream()
    with new(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return sink.getvalue().to_pybytes()


def numpy_bytes(save, *arrays, **named):
    sink = pa.BufferOutputStream()
    save(sink, *arrays, **named)
    return sink.getvalue().to_pybytes()


def parquet():
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink)
    return sink.getvalue().to_pybytes()


COLUMNS = [TABLE[name].to_pylist() for name in TABLE.column_names]
CSV = b"size,age\n" + b"".join(b"%r,%r\n" % row for row in zip(*COLUMNS, strict=True))
LIBSVM = b"# made by hand\n" + b"".join(b"%r 1:%r\n" % row for row in zip(*COLUMNS, strict=True))
CONTENTS = {
    "csv": CSV,
    "csv.gz": gzip.compress(CSV),
    "csv.bz2": bz2.compress(CSV),
    "csv.zst": pa.compress(CSV, "zstd", asbytes=True),
    "libsvm": LIBSVM,
    "libsvm.gz": gzip.compress(LIBSVM),
    "parquet": parquet(),
    "arrow": arrow(pa.ipc.new_file),
    "arrows": arrow(pa.ipc.new_stream),
    "npy": numpy_bytes(np.save, np.column_stack(COLUMNS)),
    "npz": numpy_bytes(np.savez, size=COLUMNS[0], age=COLUMNS[1]),
}


def content_of(file):
    """All values, read twice."""
    first, second = (pa.Table.from_batches(list(file.batches())) for _ in range(2))
    assert first.equals(second)
    return np.column_stack([column.to_numpy() for column in first.columns])


@pytest.mark.parametrize("ending", CONTENTS)
def test_a_named_pipe_is_read_like_a_file_of_its_name(tmp_path, ending):
    with Pipe(CONTENTS[ending], tmp_path / f"table.{ending}") as path:
        file = open_file(path)
        np.testing.assert_array_equal(content_of(file), np.column_stack(COLUMNS))


@pytest.mark.parametrize("ending", CONTENTS)
def test_the_format_of_a_pipe_without_a_name_is_that_of_its_content(ending):
    with Pipe(CONTENTS[ending]) as path:
        np.testing.assert_array_equal(content_of(open_file(path)), np.column_stack(COLUMNS))


def test_the_given_format_of_a_pipe_goes_before_its_content():
    with Pipe(b"1 2:3\n4 5:6\n") as path:
        assert open_file(path).schema.sparse
    with Pipe(b"1 2:3\n4 5:6\n") as path:
        file = open_file(path, FileOptions(format="csv"))
        assert file.schema.names == ("1", "2")
    with Pipe(CSV) as path, pytest.raises(InvalidData, match=f"^{path} is expected to be parquet"):
        open_file(path, FileOptions(format="parquet"))


def test_the_ending_of_a_pipe_decides_on_its_delimiter(tmp_path):
    with Pipe(b"name\n1,5\n2,5\n", tmp_path / "one.tsv") as path:
        assert open_file(path).schema.names == ("name",)


def test_an_empty_pipe_is_called_by_its_name(tmp_path):
    with Pipe(b"", tmp_path / "nothing.csv") as path, pytest.raises(InvalidData, match=f"^{path} is empty"):
        open_file(path)
    with Pipe(b"") as path, pytest.raises(InvalidData, match=f"^{path} is empty"):
        open_file(path)


def test_a_device_is_no_table():
    with pytest.raises(InvalidData, match=r"^/dev/null is empty"):
        open_file("/dev/null")


def bash(shell, script):
    """Run a script in which `localsvm` is the command."""
    text = f'localsvm() {{ "{sys.executable}" -m localsvm "$@"; }}\n{script}'
    return subprocess.run(
        ["bash", "-c", text], cwd=shell.directory, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )


def test_commands_read_pipes_and_process_substitutions(shell, toy_files):
    fast = " ".join(map(str, FAST))
    done = bash(
        shell,
        f"""
        set -e
        cp {toy_files}/toy.csv ok.csv
        mkfifo f.csv
        cat ok.csv > f.csv & localsvm train f.csv -t kind {fast} -o named.lsvm >/dev/null
        localsvm train <(gzip -c ok.csv) -t kind {fast} -o unnamed.lsvm >/dev/null
        localsvm predict named.lsvm <(cat ok.csv) > predicted.csv
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    shell.run("train", "ok.csv", "-t", "kind", *FAST, "-o", "file.lsvm")
    expected, *others = (ModelFile.read(shell.path(f"{name}.lsvm")) for name in ("file", "named", "unnamed"))
    assert all(other.cells == expected.cells for other in others)
    assert shell.run("predict", "file.lsvm", "ok.csv").stdout == shell.path("predicted.csv").read_text()


def test_the_wait_for_a_writer_can_be_interrupted(tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    os.mkfifo(tmp_path / "f.csv")
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            open_file(tmp_path / "f.csv")
    finally:
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_ends_the_wait_for_a_writer_that_is_silent(shell):
    os.mkfifo(shell.path("f.csv"))
    process = subprocess.Popen(
        shell.command("train", "f.csv", "-t", "kind"),
        cwd=shell.directory,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    with open(shell.path("f.csv"), "wb"):  # opens when the command opens it
        time.sleep(0.5)  # the command reads
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "Interrupted; nothing was saved. Use --checkpoint DIR to save finished cells.\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="a temporary file needs a name to be opened again")
@pytest.mark.parametrize("arguments", [("train", "-", "-t", "kind"), ("train", "f.csv", "-t", "kind")])
def test_a_killed_reader_leaves_nothing_in_the_temporary_directory(shell, arguments):
    temporary = shell.path("tmp")
    temporary.mkdir()
    os.mkfifo(shell.path("f.csv"))
    process = subprocess.Popen(
        shell.command(*arguments),
        cwd=shell.directory,
        env={**ENVIRONMENT, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process.stdin if arguments[1] == "-" else open(shell.path("f.csv"), "wb") as pipe:
        pipe.write(b"x,kind\n" + b"1.5,a\n" * 200_000)  # more than a pipe holds: it is being copied
        pipe.flush()
        process.kill()
        process.wait()
    assert list(temporary.iterdir()) == []
    process.stdin.close()
