"""Native calls refuse what is not finite, before work starts; nearest centers say what they do with it."""

import numpy as np
import pytest

from localsvm import _native

bad_numbers = pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])


def samples(bad=None):
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    if bad is not None:
        X[17, 1] = bad
    return X


def cell():
    return _native.Cell(samples(), [20, 40], "gauss")


@bad_numbers
@pytest.mark.parametrize("kind", [_native.Cell, _native.SquareCell])
def test_cells_refuse_samples_that_are_not_finite(kind, bad):
    with pytest.raises(ValueError, match=r"samples must be finite, got -?(nan|inf)"):
        kind(samples(bad), [20, 40], "gauss")


@bad_numbers
def test_problems_refuse_targets_and_boxes_that_are_not_finite(bad):
    ones = np.ones(40, np.float32)
    spoilt = ones.copy()
    spoilt[3] = bad
    with pytest.raises(ValueError, match="targets must be finite"):
        cell().add_problem(spoilt, 0 * ones, ones, 1.0)
    with pytest.raises(ValueError, match="box must be finite"):
        cell().add_problem(ones, 0 * ones, spoilt, 1.0)
    with pytest.raises(ValueError, match="box must be finite"):
        cell().add_problem(ones, -spoilt, ones, 1.0)


@bad_numbers
def test_squares_refuse_targets_that_are_not_finite(bad):
    made, targets = _native.SquareCell(samples(), [20, 40], "gauss"), np.ones((2, 40), np.float32)
    made.set_width(1.0)
    targets[1, 30] = bad
    weight, stop = np.ones(40, np.float32), _native.StopRule(1e-3, 100)
    with pytest.raises(ValueError, match="targets must be finite"):
        made.solve_ridge(targets, weight, [0, 1], [1e-2], stop)
    with pytest.raises(ValueError, match="targets must be finite"):
        made.solve_expectile(targets, weight, [0, 1], [1e-2], 0.5, stop)


@bad_numbers
def test_paths_refuse_guesses_lams_and_weights_that_are_not_finite(bad):
    made, ones = cell(), np.ones(40, np.float32)
    made.add_problem(ones, 0 * ones, ones, 1.0)
    made.set_width(1.0)
    stop = _native.StopRule(1e-3, 1000)
    guesses = np.zeros((2, 40), np.float32)
    guesses[1, 5] = bad
    job = _native.PathJob(made, 0, [1e-2], [20.0, 20.0])
    with pytest.raises(ValueError, match="guesses must be finite"):
        _native.solve_paths([job], [0, 1], stop, guesses=guesses)
    with pytest.raises(ValueError, match="lams must be positive"):
        _native.PathJob(made, 0, [bad], [20.0, 20.0])
    with pytest.raises(ValueError, match="weights must be positive and finite"):
        _native.PathJob(made, 0, [1e-2], [20.0, bad])
    with pytest.raises(ValueError, match="total weight must be positive and finite"):
        made.solve_path(0, 0, [1e-2], bad, stop)


@bad_numbers
def test_a_traversal_refuses_rows_and_counts_that_are_not_finite(bad):
    with pytest.raises(ValueError, match="rows must be finite"):
        _native.farthest_first(samples(bad), np.ones(40), 10.0)
    counts = np.ones(40)
    counts[8] = bad
    with pytest.raises(ValueError, match="counts must be finite"):
        _native.farthest_first(samples(), counts, 10.0)


def test_a_row_with_nan_has_the_first_center_at_an_infinite_distance():
    labels, distances = _native.nearest_centers(samples(np.nan), samples()[:5])
    assert labels[17] == 0
    assert distances[17] == np.inf
    assert np.isfinite(np.delete(distances, 17)).all()
