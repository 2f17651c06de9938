"""How much memory there is: the least of what anyone allows."""

import subprocess
import sys

import pytest

import localsvm.memory
from localsvm.memory import available_memory

resource = pytest.importorskip("resource", reason="not a Unix")


@pytest.fixture
def control_group(tmp_path, monkeypatch):
    """A control group whose files can be written."""
    monkeypatch.setattr(localsvm.memory, "_CGROUP", tmp_path)

    def write(**files):
        for name, text in files.items():
            (tmp_path / f"memory.{name}").write_text(text)

    return write


def test_it_is_some_of_what_the_machine_has():
    assert 10**6 < available_memory() < 10**14


def test_a_control_group_leaves_the_rest_of_its_limit(control_group):
    control_group(max="5000000\n", current="3000000\n")
    assert available_memory() == 2_000_000


def test_a_control_group_that_is_full_leaves_nothing(control_group):
    control_group(max="5000000\n", current="6000000\n")
    assert available_memory() == 0


@pytest.mark.parametrize("files", [{}, {"max": "max\n", "current": "1\n"}, {"max": "5000000\n"}, {"max": ""}])
def test_a_control_group_without_a_limit_does_not_count(control_group, files):
    control_group(**files)
    assert available_memory() > 10**7


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_process_leaves_what_is_not_yet_taken(name):
    program = f"""
import resource
from localsvm.memory import available_memory
before = available_memory()
resource.setrlimit(resource.{name}, (3 * 10**9, 3 * 10**9))
left = available_memory()
taken = bytearray(4 * 10**8)
print(before, left, available_memory())
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, left, after = map(int, output.stdout.split())
    if before < 3 * 10**9:
        pytest.skip("the machine has too little memory for the limit to show")
    assert 0 < left < 3 * 10**9
    assert abs(left - after - 4 * 10**8) < 2 * 10**7


def test_where_nobody_knows_it_says_so(control_group, monkeypatch):
    monkeypatch.setattr(localsvm.memory, "_fields", lambda path: {})
    monkeypatch.setattr("os.sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert available_memory() is None
