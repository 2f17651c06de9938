"""Training of all cells: progress, failures, and what the number of workers must not change."""

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest

import localsvm.training
from localsvm import Grid
from localsvm.cell.train import CellSettings, CellTask, cell_radius, train_cell
from localsvm.data import toy_mixture
from localsvm.data.content import canonical_rows
from localsvm.fit import FitSettings, available_threads, fit_model
from localsvm.training import MemoryPlan, Progress, train_cells

SMALL = CellSettings(grid=Grid(n_widths=4, n_lams=4))


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


def sizes_of(tasks):
    return np.array([len(task.rows.y) for task in tasks])


def train(tasks, n_threads, on_progress=None, *, settings=SMALL, cells_at_once=None):
    plan = MemoryPlan(n_threads, cells_at_once or n_threads)
    return train_cells(tasks, sizes_of(tasks), settings, plan, on_progress)


def same_functions(first, second):
    for a, b in zip(first, second, strict=True):
        assert a.number == b.number
        np.testing.assert_array_equal(a.coefficients, b.coefficients)
        np.testing.assert_array_equal(a.support_vectors, b.support_vectors)
        np.testing.assert_array_equal(a.risks, b.risks)
        assert (a.width, a.lam) == (b.width, b.lam)


# ----------------------------------------------------------------------------------------- progress


def test_progress_is_reported_for_every_cell_and_ends_at_the_totals(tasks):
    events = []
    cells = train(tasks, 2, events.append)
    assert [event.cells_done for event in events] == sorted(e.cells_done for e in events)
    assert all(before != after for before, after in itertools.pairwise(events))
    assert all((event.n_cells, event.n_samples) == (3, 200) for event in events)
    assert (events[-1].cells_done, events[-1].samples_done) == (3, 200)
    assert [event.samples_done for event in events] == sorted(e.samples_done for e in events)
    assert [event.seconds for event in events] == sorted(event.seconds for event in events)
    assert events[0].seconds > 0
    assert [cell.number for cell in cells] == [0, 1, 2]


def test_a_fit_of_one_cell_reports_how_far_its_grid_is(toy, monkeypatch):
    monkeypatch.setattr(localsvm.training, "_POLL_SECONDS", 1e-4)
    events = []
    settings = FitSettings(SMALL, scaling="minmax", seed=0, n_threads=1)
    result = fit_model(*toy, np.ones(200), settings, events.append)
    assert {event.samples_done for event in events} <= {50, 100, 150, 200}
    assert len(events) > 1
    event = events[-1]
    assert (event.cells_done, event.n_cells) == (1, 1)
    assert (event.samples_done, event.n_samples) == (200, 200)
    assert event.seconds <= result.seconds["total"]


def test_the_rate_and_the_time_left_follow_from_the_samples_done():
    progress = Progress(cells_done=1, n_cells=4, samples_done=300, n_samples=1200, seconds=2.0)
    assert (progress.rate, progress.seconds_left) == (150.0, 6.0)
    begin = Progress(cells_done=0, n_cells=4, samples_done=0, n_samples=1200, seconds=0.0)
    assert begin.rate == 0 and begin.seconds_left > 0


# ------------------------------------------------------------------------------------------ workers


def test_cells_do_not_know_of_each_other(tasks):
    together = train(tasks, 2)
    for task, cell in zip(tasks, together, strict=True):
        same_functions(train([task], 1), [cell])


@pytest.mark.parametrize(("n_threads", "cells_at_once"), [(1, 1), (2, 1), (2, 2), (5, 2), (8, 8)])
def test_the_plan_does_not_change_the_functions(tasks, n_threads, cells_at_once):
    many = [replace(tasks[j % 3], number=j) for j in range(7)]
    planned = train(many, n_threads, cells_at_once=cells_at_once)
    same_functions(planned, [train_cell(task, SMALL) for task in many])


def test_no_more_cells_are_at_work_than_planned(tasks, monkeypatch):
    at_work, most, lock = [], [], threading.Lock()

    def counted(task, *rest):
        with lock:
            at_work.append(task.number)
            most.append(len(at_work))
        try:
            return train_cell(task, *rest)
        finally:
            with lock:
                at_work.remove(task.number)

    monkeypatch.setattr(localsvm.training, "train_cell", counted)
    many = [replace(tasks[j % 3], number=j) for j in range(12)]
    train(many, 6, cells_at_once=2)
    assert len(most) == 12
    assert max(most) <= 2


def test_the_largest_cells_come_first(tasks, monkeypatch):
    begun = []

    def noted(task, *rest):
        begun.append(len(task.rows.y))
        return train_cell(task, *rest)

    monkeypatch.setattr(localsvm.training, "train_cell", noted)
    train(tasks, 1)
    assert begun == [80, 70, 50]


def test_at_least_one_thread_is_available():
    assert available_threads() >= 1


# ----------------------------------------------------------------------------------------- failures


def test_a_callback_that_fails_stops_the_cells_that_wait(tasks):
    events = []

    def fail(progress):
        events.append(progress)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        train(tasks * 20, 1, fail)
    assert len(events) == 1
    assert events[0].cells_done < 60


def test_a_cell_that_fails_fails_the_fit(tasks, monkeypatch):
    def fail(task, *rest):
        if task.number == 1:
            raise ArithmeticError(f"cell {task.number}")
        return train_cell(task, *rest)

    monkeypatch.setattr(localsvm.training, "train_cell", fail)
    before = threading.active_count()
    for n_threads in (1, 2, 4):
        with pytest.raises(ArithmeticError, match="cell 1"):
            train(tasks, n_threads)
    assert threading.active_count() == before
