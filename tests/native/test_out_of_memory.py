"""Memory that is exhausted is a MemoryError with advice, in whatever thread; the process goes on."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from localsvm import _native

def used():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmSize"))

X = np.random.default_rng(0).normal(size=(6000, 4)).astype(np.float32)
resource.setrlimit(resource.RLIMIT_AS, (used() + (100 << 20), resource.RLIM_INFINITY))
try:
    _native.{kind}(X, [3000, 6000], "gauss", n_threads={n_threads})
except MemoryError as error:
    print(error)
small = _native.{kind}(X[:100], [50, 100], "gauss", n_threads={n_threads})
small.set_width(1.0)
print(small.kernel_matrix().shape)
"""


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", ["Cell", "SquareCell"])
def test_a_cell_too_large_for_memory_is_a_memory_error_and_a_smaller_one_is_trained(kind, n_threads):
    program = PROGRAM.format(kind=kind, n_threads=n_threads)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    sentence, shape = done.stdout.splitlines()
    assert sentence.startswith("memory is exhausted (an array of ")
    assert "max_memory" in sentence
    assert shape == "(100, 100)"
