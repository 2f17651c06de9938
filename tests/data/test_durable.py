"""Files are written whole or not at all."""

import os
import stat
import subprocess
import sys
import tempfile
import threading

import pytest

from localsvm import CannotWrite
from localsvm.data.durable import replacing


def write(path, content):
    with replacing(path) as file:
        file.write(content)


def test_a_file_is_made_or_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "file"
    for content in (b"first", b"", b"x" * 100_000):
        write(path, content)
        assert path.read_bytes() == content
        assert os.listdir(tmp_path) == ["file"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    write(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, InterruptedError])
def test_an_error_on_the_way_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "file"
    write(path, b"old")
    with pytest.raises(CannotWrite if issubclass(error, OSError) else error), replacing(path) as file:
        file.write(b"new" * 100_000)
        raise error("stop")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("elsewhere/file")
    write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_bytes() == b"new"


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        mode = (tmp_path / name).stat().st_mode
        with pytest.raises(CannotWrite, match="is not a file"):
            write(tmp_path / name, b"")
        assert (tmp_path / name).stat().st_mode == mode
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CannotWrite, match=r"^cannot write '.*absent/file': no such file or directory\. "):
        write(tmp_path / "absent" / "file", b"")


def test_a_reader_never_sees_a_part(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([k]) * 200_000 for k in range(40)]
    write(path, contents[0])
    seen, done = [], threading.Event()

    def read():
        while not done.is_set():
            seen.append(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for content in contents:
        write(path, content)
    done.set()
    reader.join()
    assert seen and set(seen) <= set(contents)


# What a system refuses is asked of the system itself, in a process that it refuses something.

LIMITED = """
import resource, sys
from localsvm import CannotWrite
from localsvm.data.durable import replacing

resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with replacing(sys.argv[1]) as file:
        for _ in range(1000):
            file.write(b"x" * 1000)
except CannotWrite as error:
    print(error)
"""

UNPRIVILEGED = """
import os, sys
from localsvm import CannotWrite
from localsvm.data.durable import replacing

if os.getuid() == 0:  # root may write everywhere
    os.setuid(65534)
try:
    with replacing(sys.argv[1]) as file:
        file.write(b"x")
except CannotWrite as error:
    print(error)
"""


def said(script, path):
    run = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_a_disk_without_room_gives_an_error_and_keeps_what_is_there(tmp_path):
    path = tmp_path / "file"
    write(path, b"old")
    assert said(LIMITED, path).startswith(f"cannot write '{path}': file too large. What is there was not changed")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_read_only_directory_gives_an_error_and_keeps_what_is_there():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        write(path, b"old")
        os.chmod(folder, 0o555)
        assert said(UNPRIVILEGED, path).startswith(f"cannot write '{path}': permission denied. What is there")
        assert os.listdir(folder) == ["file"]
