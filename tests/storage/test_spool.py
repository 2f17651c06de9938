"""Cells of a fit on disk: the same cells, the same scores, in memory that does not grow with them."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from cells import same_cells, settings_for, toy_task

from localsvm.cell import train_cell
from localsvm.storage.spool import Spool
from localsvm.tasks import Binary

TASK = Binary(factors=(1.0, 3.0))


@pytest.fixture(scope="module")
def trained():
    settings = settings_for(reduction=TASK)
    cells = [train_cell(toy_task(n, 3, seed), settings) for seed, n in enumerate((40, 70, 55))]
    return [replace(cell, number=number) for number, cell in enumerate(cells)]


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path, 3, TASK)


def test_cells_and_scores_are_what_they_were(trained, spool, tmp_path):
    for cell in reversed(trained):
        spool.save(cell)
    points = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    for cell, kept, scores in zip(trained, spool.cells(), spool.out_of_fold(), strict=True):
        np.testing.assert_array_equal(kept.functions.values(points), cell.functions.values(points))
        assert kept.n_support == cell.n_support and kept.seconds == cell.seconds
        same_cells(replace(kept, out_of_fold=scores), cell)
    assert list(tmp_path.iterdir()) == []


def test_pickled_cells_do_not_need_the_file(trained, spool):
    for cell in trained:
        spool.save(cell)
    for cell, again in zip(trained, pickle.loads(pickle.dumps(spool.cells())), strict=True):
        same_cells(again, replace(cell, out_of_fold=None))


def test_cells_that_were_read_are_not_held(trained, spool):
    for cell in trained:
        spool.save(cell)
    cells = spool.cells()
    assert cells[0] is not cells[0]


def test_threads_do_not_write_over_each_other(trained, spool):
    many = [replace(cell, number=number) for number, cell in enumerate(trained * 20)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(spool.save, many))
    for cell, kept, scores in zip(many, spool.cells(), spool.out_of_fold(), strict=True):
        same_cells(replace(kept, out_of_fold=scores), cell)
