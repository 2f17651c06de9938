"""Combinations of targets have the squared errors of all targets, on average."""

import numpy as np
import pytest

from localsvm.tasks import project_targets


@pytest.mark.parametrize("k", [1, 4])
def test_few_targets_are_their_own_combinations(k):
    targets = np.random.default_rng(0).normal(size=(50, k))
    np.testing.assert_array_equal(project_targets(targets), targets)


@pytest.mark.parametrize("k", [5, 26, 300])
def test_four_combinations_have_the_mean_square_of_many_targets(k):
    errors = np.random.default_rng(1).normal(size=(4000, k))
    combined = project_targets(errors)
    assert combined.shape == (4000, 4)
    assert np.square(combined).sum(axis=1).mean() == pytest.approx(np.square(errors).sum(axis=1).mean(), rel=0.1)


def test_no_class_counts_more_than_another():
    np.testing.assert_allclose(np.square(project_targets(np.eye(26))).sum(axis=1), 1.0)
