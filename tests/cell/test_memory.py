"""A cell trained in little memory: the same cell, or an error that states the memory needed."""

import numpy as np
import pytest
from cells import same_cells
from hypothesis import given
from hypothesis import strategies as st

from localsvm.cell import CellSettings, CellTask, Grid, path, squares, train_cell
from localsvm.cell.memory import cell_bytes
from localsvm.data import toy_mixture
from localsvm.data.content import canonical_rows
from localsvm.errors import InvalidParameter
from localsvm.tasks import Regression
from localsvm.tasks.losses import Expectile, Squared

N, D = 400, 4
GRID = Grid(widths=[4.0, 1.0, 0.3], lams=[1e-1, 1e-2, 1e-3])


@pytest.fixture(scope="module")
def task():
    X, y = toy_mixture(N, D, random_state=1)
    return CellTask(canonical_rows(X.astype(np.float32), y.astype(np.float64), np.ones(N), 0), radius=2.0)


@pytest.fixture
def native_cells(monkeypatch):
    """The native cells that training makes."""
    made = []

    def keeping(make):
        def keep(*arguments):
            made.append(make(*arguments))
            return made[-1]

        return keep

    monkeypatch.setattr(path, "Cell", keeping(path.Cell))
    monkeypatch.setattr(squares, "SquareCell", keeping(squares.SquareCell))
    return made


def needed(n_threads, options):
    has_squares, n_blended = "reduction" in options, 9 if options.get("refit") == "blend" else 0
    return cell_bytes(N, D, n_lams=3, n_folds=5, n_threads=n_threads, has_squares=has_squares, n_blended=n_blended)


def regression(*losses):
    return {"reduction": Regression(losses)}


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("storage", ["full", "kernel", "rows"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"refit": "retrain"},
        {"search": "racing"},
        {"kernel": "laplace"},
        {"kernel": "manhattan"},
        regression(Squared()),
        regression(Expectile(0.8)) | {"search": "racing", "refit": "retrain"},
        regression(Squared()) | {"refit": "blend"},
    ],
    ids=str,
)
def test_memory_and_threads_do_not_change_a_cell(task, native_cells, options, storage, n_threads):
    settings = CellSettings(grid=GRID, **options)
    expected = train_cell(task, settings)
    plan = needed(n_threads, options)
    max_bytes = {"full": plan.full, "kernel": plan.kernel, "rows": plan.smallest}[storage]
    cell = train_cell(task, settings, max_bytes=max_bytes, n_threads=n_threads)
    same_cells(cell, expected)
    assert native_cells[-1].storage == storage


@pytest.mark.parametrize("options", [{}, regression(Squared())], ids=["hinge", "squared"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_plan_predicts_what_is_stored(task, native_cells, n_threads, options):
    plan = needed(n_threads, options)
    settings = CellSettings(grid=GRID, **options)
    for max_bytes in (None, plan.full, plan.full - 1, plan.kernel, plan.kernel - 1, plan.smallest):
        train_cell(task, settings, max_bytes=max_bytes, n_threads=n_threads)
        assert native_cells[-1].storage == plan.storage(max_bytes)


def test_too_little_memory_is_refused_with_the_memory_needed(task):
    smallest = needed(1, {}).smallest
    with pytest.raises(InvalidParameter, match=f"in {smallest - 1} bytes: it needs {smallest} at least"):
        train_cell(task, CellSettings(grid=GRID), max_bytes=smallest - 1)


@given(
    n=st.integers(1, 10**6),
    d=st.integers(1, 3000),
    n_lams=st.integers(1, 30),
    n_folds=st.integers(1, 20),
    n_threads=st.integers(1, 64),
    has_squares=st.booleans(),
)
def test_less_storage_takes_less_memory_and_more_samples_more(n, d, n_lams, n_folds, n_threads, has_squares):
    def plan(size):
        return cell_bytes(size, d, n_lams=n_lams, n_folds=n_folds, n_threads=n_threads, has_squares=has_squares)

    assert plan(n).smallest <= plan(n).kernel
    assert plan(n).around < plan(n).smallest
    for storage in ("full", "kernel", "smallest"):
        assert getattr(plan(n + 1), storage) >= getattr(plan(n), storage)


def test_squares_take_half_the_matrices():
    for n in (1000, 20_000):
        plan, squared = cell_bytes(n, 10), cell_bytes(n, 10, has_squares=True)
        matrices, halves = (p.full - p.around - 4 * n * 10 for p in (plan, squared))
        assert 0.45 < halves / matrices < 0.55


@pytest.mark.parametrize("n_features", [54, 631])
def test_a_cell_of_100_000_samples_can_be_trained_in_8_gigabytes(n_features):
    plan = cell_bytes(100_000, n_features, n_threads=2)
    assert plan.storage(8 * 10**9) == "rows"
    row = 400_000
    n_rows = (8 * 10**9 - plan.smallest) // row
    assert n_rows > 15_000
