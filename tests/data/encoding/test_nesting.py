"""Nested categories are found by their levels, and only where there is evidence."""

import numpy as np
from encoded import mixed

from localsvm.data.encoding import learn_encoding
from localsvm.data.encoding.nesting import coarser_slots, is_nested
from localsvm.data.table import Table


def test_a_few_exceptions_do_not_matter():
    rng = np.random.default_rng(0)
    fine = rng.integers(0, 50, 5000)
    coarse = fine // 10
    assert is_nested(fine, np.where(rng.random(5000) < 0.01, 4, coarse))
    assert not is_nested(fine, np.where(rng.random(5000) < 0.1, 4, coarse))
    assert not is_nested(coarse, fine)


def test_a_column_with_hardly_any_variation_is_not_a_coarser_category():
    rng = np.random.default_rng(0)
    assert not is_nested(rng.integers(0, 50, 5000), (rng.random(5000) < 0.01).astype(int))


def test_identifiers_are_nested_in_nothing():
    assert not is_nested(np.arange(5000), np.arange(5000) % 7)
    assert not is_nested(np.arange(5000) // 2, np.random.default_rng(0).integers(0, 7, 5000))


def test_every_fine_level_has_the_coarse_one_that_it_has_most_often():
    fine, coarse = np.array([0, 0, 0, 1, 1]), np.array([2, 1, 1, 0, 2])
    assert coarser_slots(fine, coarse, np.ones(5), 3, 4).tolist() == [1, 0, 3]
    assert coarser_slots(fine, coarse, np.array([5.0, 1, 1, 1, 2]), 3, 4).tolist() == [2, 2, 3]


def coarser(table, y):
    encoding = learn_encoding(table, y, np.ones(len(table))).encoding
    return {category.column: category.coarser for category in encoding.categories}


def test_a_table_has_the_nearest_coarser_category_of_each():
    table, y = mixed(n=2000)
    assert coarser(table, y)[4] == 5
    rng = np.random.default_rng(0)
    street = rng.integers(0, 300, 4000)
    X = np.column_stack([street, street // 10, street // 100, rng.normal(size=4000)])
    y = sum(rng.normal(size=300)[street // size] for size in (1, 10, 100)) + rng.normal(size=4000)
    names = {j: tuple(f"{k:03}" for k in range(count)) for j, count in enumerate((300, 30, 3))}
    assert coarser(Table(X, names), y[:, None]) == {0: 1, 1: 2, 2: None}
