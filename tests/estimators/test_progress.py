"""What `verbose` writes, and where."""

import re

import pytest

from localsvm import Grid, LocalSVC
from localsvm.data import toy_mixture
from localsvm.estimators.progress import ProgressBar, line
from localsvm.fit.training import Progress

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
    assert re.fullmatch(rf"\rlocalsvm \[#{{24}}\] 100%  {n}/{n} cells  [\d,]+ rows/s  \d+ s \n", err)


def test_verbose_0_writes_nothing(toy, capfd):
    LocalSVC(grid=SMALL, cell_size=60).fit(*toy).predict(toy[0])
    assert capfd.readouterr() == ("", "")


def test_a_terminal_sees_every_state_on_one_line(capsys, monkeypatch):
    bar = ProgressBar()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for progress in (state(0, 400), state(40, 50_000), state(80, 100_000)):
        bar(progress)
    _, err = capsys.readouterr()
    shares = [re.search(r" (\d+)%", part)[1] for part in err.split("\r")[1:]]
    assert shares == ["0", "50", "100"]
    assert err.count("\n") == 1 and err.endswith("\n")


@pytest.mark.parametrize(
    ("seconds", "left"),
    [(1.0, "1 s left"), (119.0, "119 s left"), (1200.0, "20 min left"), (14_400.0, "4.0 h left")],
)
def test_the_time_left_has_a_readable_unit(seconds, left):
    # Half of the rows are done: as much time again is left.
    assert line(state(40, 50_000, seconds)).endswith(f"  {left} ")


def test_the_last_line_has_the_time_taken():
    assert line(state(80, 100_000, 12.0)).endswith("80/80 cells  8,333 rows/s  12 s ")
