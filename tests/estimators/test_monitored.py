"""How far rows are from the training data, and which of their categories were not in it."""

import numpy as np
import pandas as pd
import pytest
from single import svc

from localsvm import LocalSVC
from localsvm.data import toy_mixture

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")


@pytest.mark.parametrize("partition", ["voronoi", "chunks", "overlap", "none"])
def test_no_training_row_is_farther_than_the_radius_of_its_cell(partition):
    X, y = toy_mixture(300, 3, random_state=0)
    clf = svc(partition=partition, cell_size=60, grid=2).fit(X, y)
    distances = clf.cell_distance(X)
    assert distances.shape == (300,)
    assert 0.5 < distances.max() <= 1 + 1e-5


def test_distances_are_in_radii_of_the_cell_in_the_space_of_the_model():
    X, y = toy_mixture(300, 3, random_state=0)
    clf = svc(cell_size=60, grid=2).fit(X, y)
    rows = clf.model_.scaling.apply(X * 3)
    cells, partition = clf.apply(X * 3), clf.model_.partition
    expected = np.linalg.norm(rows - partition.centers[cells], axis=1) / partition.radii[cells]
    np.testing.assert_allclose(clf.cell_distance(X * 3), expected, rtol=1e-5)


def test_unseen_categories_are_counted_by_feature_and_missing_ones_are_not():
    rows = pd.DataFrame({"colour": ["red", "blue", None] * 20, "n": range(60), "size": ["s", "l"] * 30})
    clf = LocalSVC(grid=2, members=1, missing="impute").fit(rows, (rows["size"] == "s") ^ (rows["colour"] == "red"))
    new = pd.DataFrame({"colour": ["red", "green", None, "green"], "n": [1, 2, 3, 4], "size": ["s", "l", "s", "l"]})
    assert clf.unseen_categories(new) == {"colour": 0.5, "size": 0.0}


def test_a_model_of_numbers_has_no_unseen_categories():
    X, y = toy_mixture(300, 3, random_state=0)
    assert svc(grid=2).fit(X, y).unseen_categories(X) == {}
