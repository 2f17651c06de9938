"""Ctrl-C stops a fit, and so does a callback that fails: soon, quietly, without threads left."""

import _thread
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from localsvm import LocalSVC
from localsvm.cell.settings import CellSettings
from localsvm.fit.fit import fit_model
from localsvm.fit.prepare import TargetRows
from localsvm.fit.settings import FitSettings

# Each takes half a minute and more: large cells; a great many small ones; one traversal that splits off cell after
# cell; a pilot beside which there is nothing to do.
SLOW_FITS = {
    "large cells": ("uniform", 12_000, 6, {"grid": 20, "cell_size": 6000, "scaling": "minmax"}),
    "many cells": ("uniform", 200_000, 4, {"grid": 15, "cell_size": 300, "scaling": "minmax"}),
    "partition": ("normal", 50_000, 50, {"grid": 3, "cell_size": 10, "scaling": "minmax"}),
    "pilot": ("normal", 200_000, 40, {"grid": 10, "cell_size": 4000}),
}

SLOW_FIT = """
import pathlib, signal, sys
import numpy as np
from localsvm import LocalSVC

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
random = np.random.RandomState(0)
kind, n, d, parameters = eval(sys.argv[2])
X, y = getattr(random, kind)(size=(n, d)), random.randint(2, size=n)
pathlib.Path(sys.argv[1]).touch()
LocalSVC(**parameters).fit(X, y)
print("fitted")
"""


def wait_for(file, seconds):
    end = time.monotonic() + seconds
    while not file.exists():
        assert time.monotonic() < end, "the process did not start"
        time.sleep(0.02)


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("delay", [0.3, 2.5], ids=["at the beginning", "in the middle"])
@pytest.mark.parametrize("fit", SLOW_FITS)
def test_ctrl_c_stops_a_long_fit_with_nothing_but_a_traceback(tmp_path, fit, delay):
    started = tmp_path / "started"
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW_FIT, str(started), repr(SLOW_FITS[fit])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(started, 60)
        time.sleep(delay)
        assert child.poll() is None, "the fit ended before the signal"
        begin = time.perf_counter()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        seconds = time.perf_counter() - begin
    finally:
        child.kill()
    print(f"stopped {seconds:.2f} s after the signal")
    assert seconds < 5  # one second is the aim; a busy machine may need more
    assert child.returncode == -signal.SIGINT
    assert out == ""
    assert err.startswith("Traceback (most recent call last):")
    assert err.count("Traceback") == 1
    assert err.rstrip().endswith("KeyboardInterrupt")


@pytest.fixture
def coin_flips():
    random = np.random.RandomState(0)
    return random.uniform(size=(3000, 4)), random.choice([-1.0, 1.0], size=3000)


@pytest.fixture
def no_new_threads():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def test_an_interrupted_fit_leaves_no_threads_and_nothing_fitted(coin_flips, no_new_threads):
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    try:
        clf = LocalSVC(grid=20)
        with pytest.raises(KeyboardInterrupt):
            clf.fit(*coin_flips)
        assert not hasattr(clf, "model_")
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, handler)


def test_a_callback_that_fails_fails_the_fit_and_leaves_no_threads(coin_flips, no_new_threads):
    X, y = coin_flips[0][:100], coin_flips[1][:100]
    settings = FitSettings(CellSettings(), seed=0, n_threads=3)
    caught = []

    def fail(progress):
        raise RuntimeError("no more")

    def fit():
        try:
            fit_model(TargetRows(X, y, np.ones(100)), settings, fail)
        except RuntimeError as error:
            caught.append(str(error))

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    assert caught == ["no more"]
