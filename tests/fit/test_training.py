"""Training of all cells: progress, failures, and what the number of workers must not change."""

import itertools
import re
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from cells import same_cells
from hypothesis import given, settings
from hypothesis import strategies as st
from single import svc

import localsvm.fit.training
from localsvm import Grid, InvalidData
from localsvm.cell.grid import cell_radius
from localsvm.cell.memory import cell_bytes
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.data import toy_mixture
from localsvm.data.content import canonical_rows
from localsvm.fit.fit import fit_model
from localsvm.fit.memory import MemoryLimit, MemoryPlan, plan_memory
from localsvm.fit.prepare import TargetRows
from localsvm.fit.settings import FitSettings
from localsvm.fit.training import Progress, train_cells

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")

MB = 10**6
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


# ----------------------------------------------------------------------------------------- progress


def test_progress_grows_and_ends_at_the_totals(tasks, monkeypatch):
    monkeypatch.setattr(localsvm.fit.training, "_POLL_SECONDS", 1e-4)
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
    def slow(task, *rest, on_progress, **options):
        def told(share):
            on_progress(share)
            time.sleep(0.01)

        return train_cell(task, *rest, on_progress=told, **options)

    monkeypatch.setattr(localsvm.fit.training, "_POLL_SECONDS", 1e-3)
    monkeypatch.setattr(localsvm.fit.training, "train_cell", slow)
    events = []
    settings = FitSettings(SMALL, seed=0, n_threads=1)
    result = fit_model(TargetRows(*toy, np.ones(200)), settings, events.append)
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


def test_cells_are_trained_independently(tasks):
    together = train(tasks, 2)
    for task, cell in zip(tasks, together, strict=True):
        same_cells(*train([task], 1), cell)


@pytest.mark.parametrize(("n_threads", "cells_at_once"), [(1, 1), (2, 1), (2, 2), (5, 2), (8, 8)])
def test_the_plan_does_not_change_the_functions(tasks, n_threads, cells_at_once):
    many = [replace(tasks[j % 3], number=j) for j in range(7)]
    planned = train(many, n_threads, cells_at_once=cells_at_once)
    same_cells(tuple(planned), tuple(train_cell(task, SMALL) for task in many))


def threads_by_size(sizes, toy, plan, monkeypatch):
    """Return by how many threads each cell of so many rows is trained, by its number."""
    given_threads = {}

    def noted(task, *rest, n_threads, **options):
        given_threads[task.number] = n_threads
        return train_cell(task, *rest, n_threads=n_threads, **options)

    monkeypatch.setattr(localsvm.fit.training, "train_cell", noted)
    parts = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    rows = [canonical_rows(toy[0][p], toy[1][p], np.ones(len(p)), 0) for p in parts]
    tasks = [CellTask(r, radius=cell_radius(r), number=j) for j, r in enumerate(rows)]
    train_cells(tasks, sizes_of(tasks), SMALL, plan)
    return [given_threads[number] for number in range(len(sizes))]


def test_a_cell_larger_than_all_others_together_is_trained_by_all_threads(toy, monkeypatch):
    assert threads_by_size([30, 120, 40], toy, MemoryPlan(2, 2), monkeypatch)[1] == 2


def test_cells_that_keep_all_threads_busy_are_trained_by_one_each(toy, monkeypatch):
    *_, taken_first = threads_by_size([50, 50, 50, 50], toy, MemoryPlan(2, 2), monkeypatch)
    assert taken_first == 1


def test_a_large_cell_has_one_thread_where_memory_is_for_one_only(toy, monkeypatch):
    plan = MemoryPlan(2, 2, all_threads_fit=False)
    assert threads_by_size([30, 120, 40], toy, plan, monkeypatch)[1] == 1


def test_no_more_cells_are_at_work_than_planned(tasks, monkeypatch):
    at_work, most, lock = [], [], threading.Lock()

    def counted(task, *rest, **options):
        with lock:
            at_work.append(task.number)
            most.append(len(at_work))
        try:
            return train_cell(task, *rest, **options)
        finally:
            with lock:
                at_work.remove(task.number)

    monkeypatch.setattr(localsvm.fit.training, "train_cell", counted)
    many = [replace(tasks[j % 3], number=j) for j in range(12)]
    train(many, 6, cells_at_once=2)
    assert len(most) == 12
    assert max(most) <= 2


def test_the_largest_cells_come_first(tasks, monkeypatch):
    begun = []

    def noted(task, *rest, **options):
        begun.append(len(task.rows.y))
        return train_cell(task, *rest, **options)

    monkeypatch.setattr(localsvm.fit.training, "train_cell", noted)
    train(tasks, 1)
    assert begun == [80, 70, 50]


# --------------------------------------------------------------------------------------- memory plan


def plan_of(sizes, limit, n_threads=2, n_features=5):
    return plan_memory(np.array(sizes), n_features, SMALL, n_threads, MemoryLimit(limit, "max_memory allows"))


def smallest_limit(sizes, n_threads=2):
    """The least whole megabyte that is not refused."""
    low, high = 0, 10**6
    while high - low > 1:
        middle = (low + high) // 2
        try:
            plan_of(sizes, middle * MB, n_threads)
            high = middle
        except InvalidData:
            low = middle
    return high * MB


@given(
    sizes=st.lists(st.integers(1, 20_000), min_size=1, max_size=20),
    n_threads=st.integers(1, 16),
    limits=st.lists(st.integers(1, 20_000), min_size=2, max_size=5),
)
@settings(deadline=None)
def test_cells_at_once_stay_within_the_limit_and_more_memory_never_means_fewer(sizes, n_threads, limits):
    planned = []
    for limit in sorted(limits):
        try:
            plan = plan_of(sizes, limit * MB, n_threads)
        except InvalidData:
            planned.append(0)
            continue
        assert 1 <= plan.cells_at_once <= n_threads
        assert plan.cells_at_once * plan.bytes_per_cell <= limit * MB
        planned.append(plan.cells_at_once)
    assert planned == sorted(planned)


@pytest.mark.parametrize("size", [10, 2000, 20_000])
@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_what_the_plan_gives_a_cell_is_enough_to_train_it(size, n_threads):
    least = smallest_limit([size] * 3, n_threads)
    plan = plan_of([size] * 3, least, n_threads)
    threads_of_a_cell = n_threads if plan.all_threads_fit else 1
    needed = cell_bytes(size, 5, n_lams=4, n_folds=5, n_threads=threads_of_a_cell)
    assert plan.bytes_per_cell >= needed.smallest


def test_a_refusal_has_the_memory_that_would_suffice():
    sizes = [8000, 100]
    with pytest.raises(InvalidData, match="8000 samples") as refused:
        plan_of(sizes, 10 * MB)
    model, least, fast = (float(number) for number in re.findall(r"([\d.]+) MB", str(refused.value))[:3])
    assert model < least < fast
    # Numbers in the sentence have three digits.
    assert smallest_limit(sizes) == pytest.approx((model + least) * MB, rel=0.02)


def test_without_a_limit_every_thread_has_a_cell():
    assert plan_of([500] * 9, None, 4) == MemoryPlan(4, 4)


def test_cells_of_one_hundred_thousand_rows_are_trained_in_eight_gigabytes():
    assert plan_of([100_000] * 4, 8000 * MB, n_features=28).cells_at_once == 1


def test_many_rows_in_small_cells_take_the_memory_of_small_cells():
    X, y = toy_mixture(20_000, 2, random_state=0)
    clf = svc(cell_size=200, grid=Grid(n_widths=1, n_lams=1), n_folds=1, scaling=None, max_memory="4MB")
    assert clf.fit(X, y).n_cells_ >= 100


@pytest.mark.parametrize("max_memory", ["100MB", "150MB"])
def test_memory_does_not_change_the_model(max_memory):
    X, y = toy_mixture(3000, 4, random_state=1)
    grid = Grid(widths=[0.5, 0.1], lams=[1e-2, 1e-4])
    clf = svc(partition="none", scaling="minmax", grid=grid, n_folds=2)
    expected = clf.fit(X, y).decision_function(X)
    values = clf.set_params(max_memory=max_memory).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(values, expected)


# ----------------------------------------------------------------------------------------- failures


def test_a_callback_that_fails_stops_the_cells_that_wait(tasks, monkeypatch):
    monkeypatch.setattr(localsvm.fit.training, "_POLL_SECONDS", 1e-4)
    events = []

    def fail(progress):
        events.append(progress)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        train(tasks * 20, 1, fail)
    assert len(events) == 1
    assert events[0].cells_done < 60


def test_a_cell_that_fails_fails_the_fit(tasks, monkeypatch):
    def fail(task, *rest, **options):
        if task.number == 1:
            raise ArithmeticError(f"cell {task.number}")
        return train_cell(task, *rest, **options)

    monkeypatch.setattr(localsvm.fit.training, "train_cell", fail)
    before = threading.active_count()
    for n_threads in (1, 2, 4):
        with pytest.raises(ArithmeticError, match="cell 1"):
            train(tasks, n_threads)
    assert threading.active_count() == before
