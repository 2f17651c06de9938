"""The rows nearest to a point, and the cells of a few rows."""

import numpy as np

from localsvm.partition.near import random_cells


def test_the_cells_of_a_few_rows_hold_them_and_are_small_enough():
    X = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)
    for row, cell in enumerate(random_cells(X, range(8), 200)):
        assert row in cell
        assert 0 < len(cell) <= 200
        assert (np.diff(cell) > 0).all()


def test_rows_of_a_cell_share_it():
    X = np.random.default_rng(1).normal(size=(500, 2)).astype(np.float32)
    cells = random_cells(X, range(60), 100)
    for a, first in enumerate(cells):
        for b in first[first < 60]:
            np.testing.assert_array_equal(cells[b], first, err_msg=f"rows {a} and {b}")


def test_equal_rows_are_cut_off_at_the_size():
    assert [len(cell) for cell in random_cells(np.ones((50, 2), dtype=np.float32), range(2), 20)] == [20, 20]
