"""What `verbose` writes, and where."""

import re
from itertools import pairwise

import pytest

from localsvm import Grid, LocalSVC
from localsvm.data import toy_mixture
from localsvm.estimators.progress import ProgressBar, line
from localsvm.fit.training import STAGES, Progress

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")

SMALL = Grid(n_widths=3, n_lams=3)


@pytest.fixture(scope="module")
def toy():
    return toy_mixture(200, 3, random_state=0)


def state(cells_done, samples_done, seconds=10.0):
    return Progress(cells_done, 80, samples_done, 100_000, seconds)


def test_verbose_1_writes_progress_to_standard_error_only(toy, capfd):
    clf = LocalSVC(verbose=1, members=1, grid=SMALL, cell_size=60).fit(*toy)
    out, err = capfd.readouterr()
    assert out == ""
    n = clf.n_cells_
    assert re.fullmatch(rf"\rlocalsvm \[#{{24}}\] 100%  {n}/{n} cells  \d+ s: .*training cells \d+ %.*\n", err)


def test_verbose_0_writes_nothing(toy, capfd):
    LocalSVC(grid=SMALL, cell_size=60).fit(*toy).predict(toy[0])
    assert capfd.readouterr() == ("", "")


def test_a_terminal_sees_every_state_on_one_line(capsys, monkeypatch):
    bar = ProgressBar()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    bar.stage("relevance", 1, 2)
    for progress in (state(0, 400), state(40, 50_000), state(80, 100_000)):
        bar(progress)
    bar.stage("relevance", 2, 2)
    bar.end()
    _, err = capsys.readouterr()
    parts = err.split("\r")[1:]
    assert [re.search(r" (\d+)%", part)[1] for part in parts] == ["0", "0", "50", "100", "100", "100"]
    assert parts[0].rstrip().endswith("weighting the features  model 1 of 2")
    assert parts[4].rstrip().endswith("weighting the features  model 2 of 2")
    assert err.count("\n") == 1 and err.endswith("\n")
    # What is drawn over a longer line covers all of it.
    assert all(len(after.rstrip("\n")) >= len(before.rstrip()) for before, after in pairwise(parts))


def test_a_fit_that_is_stopped_leaves_no_open_line(toy, capsys, monkeypatch):
    def stop(progress):
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with pytest.raises(KeyboardInterrupt):
        LocalSVC(verbose=1, grid=SMALL, cell_size=60).fit(*toy, callback=stop)
    assert capsys.readouterr().err.endswith("\n")


@pytest.mark.parametrize(
    ("seconds", "left"),
    [(1.0, "1 s left"), (119.0, "119 s left"), (1200.0, "20 min left"), (14_400.0, "4.0 h left")],
)
def test_the_time_left_has_a_readable_unit(seconds, left):
    # Half of the rows are done: as much time again is left.
    assert line(state(40, 50_000, seconds)).endswith(f"  {left}")


def test_the_last_line_has_the_time_taken_and_the_share_of_every_stage():
    took = {"scaling": 0.01, "relevance": 3.0, "cells": 9.0}
    expected = "80/80 cells  12 s: weighting the features 25 %, training cells 75 %"
    assert line(state(80, 100_000, 12.0), took).endswith(expected)


def test_a_callback_with_a_method_is_told_of_the_stages(toy):
    class Listener:
        stages = ()

        def __call__(self, progress):
            assert self.stages[-1] == ("cells", len(self.stages) // 5 + 1, 2)

        def stage(self, *told):
            self.stages += (told,)

    listener = Listener()
    LocalSVC(objective="log_loss", members=2, grid=SMALL, cell_size=60, verbose=0).fit(*toy, callback=listener)
    assert listener.stages == tuple((name, member, 2) for member in (1, 2) for name in STAGES)
