"""Encodings of old files have the columns that they had."""

import numpy as np

from localsvm.data.encoding.one_hot import OneHot, OneHotCategory
from localsvm.data.table import Table


def test_columns_are_numbers_gaps_levels_others_and_missing():
    old = OneHot(
        numbers=(3, 0),
        fills=(9.0, 5.0),
        gappy=(0,),
        categories=(OneHotCategory(2, ("a", "b"), True, True), OneHotCategory(4, ("x",), False, False)),
        category_value=0.5,
        gap_value=0.1,
    )
    encoding = old.encoding(5)
    assert encoding.kinds == ("number", "empty", "category", "number", "category") and encoding.imputes
    nan = np.nan
    rows = np.array([[1.0, nan, 0, 2.0, 0], [nan, 7.0, 1, nan, 1], [3.0, nan, 2, 4.0, nan], [3.0, nan, nan, 4.0, 1]])
    view = encoding.view()
    np.testing.assert_array_equal(
        encoding.encode(Table(rows, {2: ("a", "b", "c"), 4: ("x", "y")}), view)[:],
        [
            [2.0, 1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5],
            [9.0, 5.0, 0.1, 0.0, 0.5, 0.0, 0.0, 0.0],
            [4.0, 3.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0],
            [4.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0],
        ],
    )
    names = ["n", "p", "p missing", "c = a", "c = b", "c = other", "c missing", "d = x"]
    assert view.names(["p", "q", "c", "n", "d"]) == names and view.n_numbers == 2
