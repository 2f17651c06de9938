"""The flow of a fit: progress, timings, what is written where, and what is warned of."""

import itertools
import re
import warnings

import numpy as np
import pytest

import localsvm.fit
from localsvm import Grid, GridEdgeWarning, LocalSVC, PrecisionWarning
from localsvm.cell.train import CellSettings, CellTask, train_cell
from localsvm.data import toy_mixture
from localsvm.data.content import canonical_rows
from localsvm.fit import FitSettings, available_threads, cell_radius, fit_model, train_cells

SMALL = Grid(n_widths=4, n_lams=4)


@pytest.fixture(scope="module")
def toy():
    X, y = toy_mixture(200, 3, random_state=0)
    return X, y.astype(np.float64)


@pytest.fixture(scope="module")
def tasks(toy):
    """Cells of 50, 70 and 80 rows."""
    parts = np.split(np.arange(200), [50, 120])
    rows = [canonical_rows(toy[0][p], toy[1][p], np.ones(len(p)), 0) for p in parts]
    return [CellTask(r, radius=cell_radius(r), number=j) for j, r in enumerate(rows)]


# ----------------------------------------------------------------------------------------- progress


def test_progress_is_reported_for_every_cell_and_ends_at_the_totals(tasks):
    events = []
    cells = train_cells(tasks, CellSettings(grid=SMALL), 2, events.append)
    assert [event.cells_done for event in events] == sorted(e.cells_done for e in events)
    assert all(before != after for before, after in itertools.pairwise(events))
    assert all((event.n_cells, event.n_samples) == (3, 200) for event in events)
    assert (events[-1].cells_done, events[-1].samples_done) == (3, 200)
    assert [event.samples_done for event in events] == sorted(e.samples_done for e in events)
    assert [event.seconds for event in events] == sorted(event.seconds for event in events)
    assert events[0].seconds > 0
    assert [cell.number for cell in cells] == [0, 1, 2]


def test_a_fit_of_one_cell_reports_how_far_its_grid_is(toy, monkeypatch):
    monkeypatch.setattr(localsvm.fit, "_POLL_SECONDS", 1e-4)
    events = []
    settings = FitSettings(CellSettings(grid=SMALL), scaling="minmax", seed=0, n_threads=1)
    result = fit_model(*toy, np.ones(200), settings, events.append)
    assert {event.samples_done for event in events} <= {50, 100, 150, 200}
    assert len(events) > 1
    event = events[-1]
    assert (event.cells_done, event.n_cells) == (1, 1)
    assert (event.samples_done, event.n_samples) == (200, 200)
    assert event.seconds <= result.seconds["total"]


def test_cells_do_not_know_of_each_other(tasks):
    together = train_cells(tasks, CellSettings(grid=SMALL), 2)
    for task, cell in zip(tasks, together, strict=True):
        (alone,) = train_cells([task], CellSettings(grid=SMALL), 1)
        np.testing.assert_array_equal(alone.coefficients, cell.coefficients)


def test_a_callback_that_fails_stops_the_cells_that_wait(tasks):
    events = []

    def fail(progress):
        events.append(progress)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        train_cells(tasks * 20, CellSettings(grid=SMALL), 1, fail)
    assert len(events) == 1
    assert events[0].cells_done < 60


def test_a_cell_that_fails_fails_the_fit(tasks, monkeypatch):
    def train(task, *_):
        if task.number == 1:
            raise ArithmeticError(f"cell {task.number}")
        return train_cell(task, CellSettings(grid=SMALL))

    monkeypatch.setattr(localsvm.fit, "train_cell", train)
    with pytest.raises(ArithmeticError, match="cell 1"):
        train_cells(tasks, CellSettings(), 2)


def test_at_least_one_thread_is_available():
    assert available_threads() >= 1


# ------------------------------------------------------------------------------------------ timings


@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_timings_are_the_seconds_of_every_phase(toy, refit):
    clf = LocalSVC(refit=refit, n_jobs=1, grid=10).fit(*toy)
    phases = ["partition", "kernel", "solver", "validation", "selection"]
    assert list(clf.timings_) == [*phases, "total"]
    assert all(seconds > 0 for seconds in clf.timings_.values())
    # On one thread nothing overlaps.
    assert sum(clf.timings_[phase] for phase in phases) <= clf.timings_["total"]


# ------------------------------------------------------------------------------------------ streams


@pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")
def test_verbose_1_writes_progress_to_standard_error_only(toy, capfd):
    LocalSVC(verbose=1, grid=SMALL).fit(*toy)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(r"\rlocalsvm: 100%, 1/1 cells, [\d,]+ rows/s, 0 s left \n", err)


@pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")
def test_verbose_0_writes_nothing(toy, capfd):
    LocalSVC(grid=SMALL).fit(*toy).predict(toy[0])
    assert capfd.readouterr() == ("", "")


# ----------------------------------------------------------------------------------------- warnings


@pytest.fixture(scope="module")
def rings():
    """Rings of alternating labels: neither a very narrow nor a very wide kernel does."""
    random = np.random.RandomState(0)
    angle, ring = random.uniform(0, 2 * np.pi, 300), random.randint(4, size=300)
    radius = 1 + ring + random.normal(scale=0.35, size=300)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), ring % 2


def caught_by(grid, data, kind, **parameters):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = LocalSVC(grid=grid, **parameters).fit(*data)
    return clf, [str(warning.message) for warning in caught if warning.category is kind]


@pytest.mark.parametrize(
    ("grid", "edge", "advice"),
    [
        (
            Grid(n_widths=3, width=(1e-5, 0.2), n_lams=2),
            "largest width",
            r"Grid\(width=\(1e-05, 1\)\)",
        ),
        (
            Grid(n_widths=3, width=(0.2, 2000), n_lams=2),
            "smallest width",
            r"Grid\(width=\(0\.04, 2000\)\)",
        ),
        (Grid(widths=(1e-5, 1e-4, 0.2), n_lams=2), "largest width", "larger .*Grid.widths="),
        (Grid(widths=(1.0,), lams=(1e-5, 1.0, 3.0)), "smallest lam", "smaller .*Grid.lams="),
        (
            Grid(n_widths=1, width=(2, 2), n_lams=3, lam=(1e-3, 1000), rule="liquidsvm"),
            "smallest lam",
            r"Grid\(lam=\(0\.0002, 1000\), rule='liquidsvm'\)",
        ),
    ],
    ids=["width largest", "width smallest", "widths", "lams", "rule"],
)
def test_a_choice_at_the_edge_is_warned_of_with_count_and_advice(rings, grid, edge, advice):
    clf, messages = caught_by(grid, rings, GridEdgeWarning)
    assert len(messages) == 1
    assert re.fullmatch(rf"1 of 1 cells chose the {edge}; .*{advice}.*\.", messages[0])
    end, name = edge.split()
    candidates = getattr(clf.model_.cells[0], f"{name}s")
    assert clf.cells_[0][name] == candidates[0 if end == "largest" else -1]


def test_a_choice_inside_the_grid_is_not_warned_of(rings):
    clf, messages = caught_by(10, rings, GridEdgeWarning)
    assert messages == []
    cell = clf.model_.cells[0]
    assert cell.widths[-1] < cell.width < cell.widths[0]
    assert cell.lams[-1] < cell.lam < cell.lams[0]


def test_an_edge_that_beats_the_inside_by_less_than_noise_is_not_warned_of(rings):
    grid = Grid(widths=(0.19, 0.2, 0.21), n_lams=2)
    clf, messages = caught_by(grid, rings, GridEdgeWarning)
    assert messages == []
    assert np.ptp(clf.model_.cells[0].risks.min(axis=1)) < 0.05


def test_a_grid_without_a_choice_has_no_edge(rings):
    for steps in (1, 2):
        assert caught_by(steps, rings, GridEdgeWarning)[1] == []


def test_the_advised_range_is_taken_as_it_is_written(rings):
    grid = Grid(n_widths=3, width=(1e-5, 0.2), n_lams=2)
    _, (message,) = caught_by(grid, rings, GridEdgeWarning)
    advised = eval(re.search(r"Grid\(.*\)", message)[0], {"Grid": Grid})
    assert advised.width == (1e-5, 1)


def test_solves_that_end_above_the_tolerance_are_warned_of_with_count_and_advice(rings):
    # Coin flips under a wide kernel with next to no regularisation: coefficients grow until single
    # precision cannot tell their sums apart.
    X = np.random.RandomState(0).uniform(size=(200, 2))
    y = np.random.RandomState(1).randint(2, size=200)
    grid = Grid(widths=(1.0, 3.0), lams=(1e-22, 1e-20))
    clf, messages = caught_by(grid, (X, y), PrecisionWarning)
    certificates = clf.model_.cells[0].certificates
    assert certificates.n_unconverged > 0
    (message,) = messages
    assert re.fullmatch(
        rf"{certificates.n_unconverged} of 20 solves ended above the tolerance \(largest gap .*\); "
        r".* Leave such lams out of Grid\(lams=\.\.\.\)\.",
        message,
    )
    assert np.isfinite(clf.decision_function(X)).all()


def test_solves_within_the_tolerance_are_not_warned_of(rings):
    clf, messages = caught_by(10, rings, PrecisionWarning)
    assert messages == []
    assert clf.model_.cells[0].certificates.gap.max() <= 1e-3
