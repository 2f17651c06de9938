"""Levels become target means and indicators; missing is a level, unseen ones are none."""

import numpy as np
import pytest
from encoded import encoded

from localsvm import InvalidData
from localsvm.data.encoding import learn_encoding
from localsvm.data.table import Table
from localsvm.estimators.state import ENCODING


def letters(counts, seed=0):
    """A category with so many rows per level, and targets that depend on it."""
    codes = np.repeat(np.arange(len(counts)), counts)
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=len(codes)), codes])
    return Table(X, {1: tuple(f"{k:05}" for k in range(len(counts)))}), (codes % 3 + rng.normal(size=len(codes)))[
        :, None
    ]


def indicators(table, y, view=("plain", True)):
    """Names of the columns of the category, and the values of new rows."""
    columns, _, new = encoded(table, y, view=view)
    own = [k for k, column in enumerate(columns.columns) if column.origin == 1]
    return [columns.columns[k].text for k in own], new[:, own]


def test_a_category_of_two_levels_has_one_column_in_every_view():
    for view in (("plain", True), ("rank", False)):
        names, new = indicators(*letters([60, 20]), view)
        assert names == [" = 00001"]
        np.testing.assert_array_equal(new[:, 0] > 0, np.arange(80) >= 60)
        assert np.std(new) == pytest.approx(1.0)


def test_levels_with_a_hundredth_of_the_weight_have_a_column_the_heaviest_first():
    names, new = indicators(*letters([9, 500, 10, 480, 1]))
    assert names == [": target mean", " = 00001", " = 00003", " = 00002"]
    np.testing.assert_allclose(new[:, 1:3].std(axis=0), 1.0)
    assert (new[:, 1:] > 0).sum(axis=1).tolist() == [0] * 9 + [1] * 990 + [0]


def test_without_levels_there_are_target_means_only():
    names, new = indicators(*letters([100, 200, 300]), ("plain", False))
    assert names == [": target mean"]
    assert len(np.unique(new)) == 3


def test_missing_is_a_level_if_it_occurs():
    table, y = letters([50, 60, 70])
    X = table.X.copy()
    X[::6, 1] = np.nan
    names, new = indicators(Table(X, table.names), y)
    assert names[-1] == " missing"
    np.testing.assert_array_equal(new[:, -1] > 0, np.isnan(X[:, 1]))
    complete = learn_encoding(table, y, np.ones(180)).encoding
    view = complete.view()
    assert not complete.encode(Table(X, table.names), view)[::6][:, 1:].any()


def test_missing_and_one_level_are_two_levels():
    X = np.column_stack([np.arange(40.0), np.where(np.arange(40) < 10, np.nan, 0.0)])
    assert indicators(Table(X, {1: ("a",)}), np.zeros((40, 1)))[0] == [" missing"]


def test_unseen_levels_have_the_overall_mean_and_no_indicator():
    table, y = letters([50, 60, 70])
    encoding = learn_encoding(table, y, np.ones(180)).encoding
    view = encoding.view()
    later = encoding.encode(Table(np.array([[0.5, 0.0], [0.5, 1.0]]), {1: ("new", "00001")}), view)[:]
    assert not later[0, 1:].any() and later[1, 1:].any()


def test_a_list_in_another_order_means_the_same():
    table, y = letters([50, 60, 70])
    encoding = learn_encoding(table, y, np.ones(180)).encoding
    names = table.names[1]
    other = Table(np.column_stack([table.X[:, 0], 2 - table.X[:, 1]]), {1: names[::-1]})
    view = encoding.view()
    np.testing.assert_array_equal(encoding.encode(other, view)[:], encoding.encode(table, view)[:])


def test_a_level_for_all_rows_is_dropped():
    table, y = letters([50])
    assert indicators(table, y)[0] == []


def test_nothing_that_varies_is_an_error():
    table = Table(np.zeros((3, 2)), {1: ("a",)})
    with pytest.raises(InvalidData, match="no feature varies with the rows or has an effect"):
        learn_encoding(table, np.zeros((3, 1)), np.ones(3)).encoding.view()


def test_fifty_thousand_levels_are_a_small_file():
    counts = np.full(50_000, 2)
    table, y = letters(counts)
    encoding = learn_encoding(table, y, np.ones(100_000), transforms=("plain",)).encoding
    content = b"".join(ENCODING.pack(encoding))
    assert len(content) < 1_200_000
    again = ENCODING.unpack(content, "the encoding", n_columns=2)
    view = encoding.view()
    np.testing.assert_array_equal(again.encode(table, view)[:1000], encoding.encode(table, view)[:1000])
