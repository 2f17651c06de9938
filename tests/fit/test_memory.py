"""How much memory there is, the least of what anyone allows, and that fits and cells keep to it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import localsvm.fit.memory
from localsvm.cell import CellSettings
from localsvm.fit.memory import available_memory
from localsvm.tasks import OneVsOne, OneVsRest

resource = pytest.importorskip("resource", reason="not a Unix")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and only Linux keeps to RLIMIT_AS")

MB = 10**6


@pytest.fixture
def control_group(tmp_path, monkeypatch):
    """A control group whose files can be written."""
    monkeypatch.setattr(localsvm.fit.memory, "_CGROUP", tmp_path)

    def write(**files):
        for name, text in files.items():
            (tmp_path / f"memory.{name}").write_text(text)

    return write


def test_available_memory_is_a_part_of_the_machine():
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


@on_linux
@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_process_leaves_what_is_not_yet_taken(name):
    program = f"""
import resource
from localsvm.fit.memory import available_memory
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


def test_unknown_memory_is_none(control_group, monkeypatch):
    monkeypatch.setattr(localsvm.fit.memory, "_process_limits", list)
    monkeypatch.setattr(localsvm.fit.memory, "_fields", lambda path: {})
    monkeypatch.setattr("os.sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert available_memory() is None


# ---------------------------------------------------------------- a fit under a limit of the system

# Two cells of 6000 rows: a kernel matrix takes 144 MB, one with its distances 288 MB, those of both cells 576 MB.
LIMITED_FIT = """
import json, resource, sys
import numpy as np
from localsvm import Grid, LocalSVC

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(6000, 4)), 20 + rng.normal(size=(6000, 4))]).astype(np.float32)
y = (X[:, 0] % 2 > 1).astype(int)
small = LocalSVC(grid=Grid(widths=[0.1], lams=[0.1]), n_folds=2, n_jobs=2).fit(X[:100], y[:100])
limit, max_memory = json.loads(sys.argv[1])
if limit:
    (taken,) = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize:")]
    resource.setrlimit(resource.RLIMIT_AS, (1024 * taken + limit, 1024 * taken + limit))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
clf = LocalSVC(
    grid=Grid(widths=[0.3, 0.1], lams=[1e-2, 1e-4]), n_folds=2, n_jobs=2, cell_size=6000, scaling="minmax",
    objective="accuracy", max_memory=max_memory,
)
try:
    clf.fit(X, y)
    result = {"values": clf.decision_function(X[::50]).tolist(), "sizes": [cell["size"] for cell in clf.cells_]}
except ValueError as error:
    result = {"refused": str(error)}
result["resident"] = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
print(json.dumps(result))
"""


def limited_fit(limit, max_memory=None):
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LIMITED_FIT, json.dumps([limit, max_memory])],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert output.returncode == 0, output.stderr
    return json.loads(output.stdout)


@pytest.fixture(scope="module")
def unlimited():
    return limited_fit(0)


@on_linux
def test_a_fit_under_a_limit_of_the_system_trains_cell_after_cell(unlimited):
    assert unlimited["sizes"] == [6000, 6000]
    limited = limited_fit(450 * MB)
    assert limited["sizes"] == [6000, 6000]
    assert limited["resident"] < 450 * MB
    assert limited["values"] == unlimited["values"]


@on_linux
@pytest.mark.parametrize("limit", [250, 60])
def test_a_fit_under_a_tight_limit_ends_well_or_is_refused_with_a_sentence(unlimited, limit):
    limited = limited_fit(limit * MB)
    assert limited["resident"] < limit * MB
    if "refused" in limited:
        assert re.search(rf"6000 samples.*, but this process can have {limit} MB\. .*cell_size", limited["refused"])
    else:
        assert limited["values"] == unlimited["values"]


@on_linux
def test_a_cell_for_which_less_memory_is_left_than_was_planned_is_trained_with_the_least(unlimited):
    limited = limited_fit(250 * MB, 600 * MB)
    assert limited["resident"] < 250 * MB
    assert limited["values"] == unlimited["values"]


@on_linux
def test_a_fit_keeps_to_max_memory(unlimited):
    limited = limited_fit(0, 400 * MB)
    # The rows of the caller and the model are not training.
    assert limited["resident"] < 400 * MB + 20 * MB
    assert limited["values"] == unlimited["values"]


# ------------------------------------------------------------------------------- a cell and its plan

# One cell of many classes, after a small one that warms up the interpreter; prints by how much it raised the peak.
MANY_CLASSES = """
import sys
from pathlib import Path
from cells import blobs, task_of
from localsvm.cell import CellSettings, Grid, train_cell
from localsvm.tasks import OneVsOne, OneVsRest

def bytes_of(field):
    return 1024 * int(Path("/proc/self/status").read_text().partition(field)[2].split()[0])

settings = CellSettings(reduction=eval(sys.argv[1]), grid=Grid(n_widths=2, n_lams=10), search=sys.argv[2])
train_cell(task_of(*blobs(200, 30)), settings)
task = task_of(*blobs(1500, 30))
Path("/proc/self/clear_refs").write_text("5")
before = bytes_of("VmRSS:")
train_cell(task, settings)
print(bytes_of("VmHWM:") - before)
"""


@on_linux
@pytest.mark.parametrize("search", ["full", "racing"])
@pytest.mark.parametrize("reduction", [OneVsOne(30), OneVsRest(30)], ids=["ovo", "ovr"])
def test_a_cell_of_many_classes_keeps_to_what_was_planned(reduction, search):
    support = Path(__file__).parents[1] / "support"
    program = [sys.executable, "-c", MANY_CLASSES, f"{type(reduction).__name__}(30)", search]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(support)}
    output = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert int(output.stdout) <= CellSettings(reduction=reduction).bytes_needed(1500, 2).full
