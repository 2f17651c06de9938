"""Cells whose arrays are on disk: the same functions, the same scores."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cells import same_cells, settings_for, toy_task

from localsvm.cell import train_cell
from localsvm.storage.spool import Spool
from localsvm.tasks import Binary


@pytest.fixture(scope="module")
def trained():
    settings = settings_for(reduction=Binary(factors=(1.0, 3.0)))
    return [train_cell(toy_task(n, 3, seed), settings) for seed, n in enumerate((40, 70, 55))]


def test_spooled_cells_are_unchanged(trained, tmp_path):
    spool = Spool(tmp_path)
    points = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    for cell, kept in zip(trained, [spool.keep(cell) for cell in trained], strict=True):
        np.testing.assert_array_equal(kept.functions.values(points), cell.functions.values(points))
        np.testing.assert_array_equal(kept.out_of_fold.scores, cell.out_of_fold.scores)
        assert kept.n_support == cell.n_support
        same_cells(pickle.loads(pickle.dumps(kept)), cell)
    assert list(tmp_path.iterdir()) == []


def test_threads_do_not_overwrite_each_other(trained, tmp_path):
    spool = Spool(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        kept = list(pool.map(spool.keep, trained * 20))
    for ours, theirs in zip(kept, trained * 20, strict=True):
        same_cells(pickle.loads(pickle.dumps(ours)), theirs)
