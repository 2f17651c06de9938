"""The candidates for width and lam."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm import Grid, InvalidParameter
from localsvm.cell import CellSettings
from localsvm.tasks import Regression
from localsvm.tasks.losses import Squared

positive = st.floats(1e-3, 1e3)
RULES = ("default", "liquidsvm", "paper")


def candidates(grid, n_train=1600.0, radius=2.0, unit=1.5, n_features=4):
    return grid.candidates(n_train=n_train, radius=radius, unit=unit, n_features=n_features)


@given(
    rule=st.sampled_from(RULES),
    n_widths=st.integers(1, 20),
    n_lams=st.integers(1, 20),
    n_train=st.floats(1, 1e7),
    radius=positive,
    unit=positive,
    n_features=st.integers(1, 1000),
)
@settings(deadline=None)
def test_candidates_are_positive_finite_descending_and_as_many_as_asked(
    rule, n_widths, n_lams, n_train, radius, unit, n_features
):
    grid = Grid(n_widths=n_widths, n_lams=n_lams, rule=rule)
    widths, lams = candidates(grid, n_train, radius, unit, n_features)
    assert (len(widths), len(lams)) == (n_widths, n_lams)
    for values in (widths, lams):
        assert np.isfinite(values).all()
        assert (values > 0).all()
        assert (np.diff(values) <= 0).all()


@given(rule=st.sampled_from(RULES), steps=st.integers(3, 20))
@settings(deadline=None)
def test_candidates_are_geometrically_spaced(rule, steps):
    for values in candidates(Grid(n_widths=steps, n_lams=steps, rule=rule)):
        ratios = values[1:] / values[:-1]
        np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)


@given(rule=st.sampled_from(RULES), factor=positive)
@settings(deadline=None)
def test_widths_have_the_unit_of_the_features(rule, factor):
    grid = Grid(rule=rule)
    widths, lams = candidates(grid)
    scaled_widths, same_lams = candidates(grid, radius=2.0 * factor, unit=1.5 * factor)
    np.testing.assert_allclose(scaled_widths, factor * widths)
    np.testing.assert_array_equal(same_lams, lams)


def test_the_paper_s_grid_has_the_endpoints_of_its_appendix():
    n, r, d = 1600.0, 2.0, 4
    widths, lams = candidates(Grid.paper(), n, r, 1.0, d)
    np.testing.assert_allclose([widths[0], widths[-1]], [5 * r, 0.2 * r * n ** (-1 / d)])
    np.testing.assert_allclose([lams[0], lams[-1]], [0.01 / n, 0.001 / n])
    assert (len(widths), len(lams)) == (10, 10)


@pytest.mark.parametrize(
    ("steps", "low", "high", "smallest_lam"),
    [(10, 0.2, 5.0, 1e-3), (15, 0.1, 10.0, 1e-4), (20, 0.05, 20.0, 1e-5)],
)
def test_liquidsvm_s_grid_widens_with_its_steps(steps, low, high, smallest_lam):
    n, r, d = 1600.0, 2.0, 4
    widths, lams = candidates(Grid.liquidsvm(steps), n, r, 1.0, d)
    ends = [high * r / np.sqrt(d), low * r / np.sqrt(d) * n ** (-1 / d)]
    np.testing.assert_allclose([widths[0], widths[-1]], ends)
    np.testing.assert_allclose([lams[0], lams[-1]], [0.01, smallest_lam / n])


def test_given_ends_are_multiples_of_the_unit_and_of_one_over_n():
    grid = Grid(width=(0.5, 8.0), lam=(0.1, 2.0), n_widths=3, n_lams=2)
    widths, lams = candidates(grid, n_train=100.0, unit=3.0)
    np.testing.assert_allclose(widths, [24.0, 6.0, 1.5])
    np.testing.assert_allclose(lams, [2.0, 1e-3])


def test_given_candidates_replace_the_rule_and_are_put_in_order():
    grid = Grid(widths=[1, 4, 2], lams=[1e-3, 1e-1], rule="paper")
    widths, lams = candidates(grid)
    np.testing.assert_array_equal(widths, [4.0, 2.0, 1.0])
    np.testing.assert_array_equal(lams, [1e-1, 1e-3])


@pytest.mark.parametrize("rule", RULES)
def test_one_step_lies_in_the_middle_of_the_range(rule):
    ends = candidates(Grid(n_widths=2, n_lams=2, rule=rule))
    middle = candidates(Grid(n_widths=1, n_lams=1, rule=rule))
    for (value,), range_ in zip(middle, ends, strict=True):
        assert value == pytest.approx(np.sqrt(range_[0] * range_[-1]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_train", [0.0, 0.5, 1.0])
def test_a_training_fold_of_almost_no_weight_has_candidates(rule, n_train):
    for values in candidates(Grid(rule=rule), n_train=n_train):
        assert np.isfinite(values).all()
        assert (values > 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_a_cell_of_radius_zero_has_candidates(rule):
    for values in candidates(Grid(rule=rule), radius=0.0):
        assert np.isfinite(values).all()
        assert (values > 0).all()


def test_factors_move_the_ends_of_default_candidates_only():
    (widths, lams), moved = candidates(Grid()), candidates(Grid().with_factors(width=(2.0, 0.25), lam=(0.1, 1.0)))
    np.testing.assert_allclose(moved[0][[0, -1]], [0.25 * widths[0], 2 * widths[-1]])
    np.testing.assert_allclose(moved[1][[0, -1]], [lams[0], 0.1 * lams[-1]])
    factors = {"width": (2.0, 0.5), "lam": (0.1, 2.0)}
    for grid in (
        Grid(width=(0.1, 1.0), lam=(1e-3, 1e-2)),
        Grid.paper(),
        Grid.liquidsvm(),
        Grid(widths=[1.0], lams=[0.1]),
    ):
        for found, expected in zip(candidates(grid.with_factors(**factors)), candidates(grid), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_the_laplace_kernel_gets_larger_widths_and_regression_a_narrower_span():
    gauss, laplace = (candidates(CellSettings(kernel=kernel).own_grid)[0] for kernel in ("gauss", "laplace"))
    assert (laplace > gauss).all()
    means = candidates(CellSettings(reduction=Regression((Squared(),))).own_grid)[0]
    assert gauss[-1] < means[-1] < means[0] < gauss[0]


@pytest.mark.parametrize("steps", [1, 10, np.int64(15)])
def test_a_number_names_a_square_grid(steps):
    grid = Grid.of(steps)
    assert (grid.n_widths, grid.n_lams) == (steps, steps)


def test_a_grid_names_itself():
    grid = Grid.paper(7)
    assert Grid.of(grid) is grid


@pytest.mark.parametrize("grid", [0, -3, 2.5, "10", None, True, [1, 2]])
def test_anything_else_than_a_grid_is_refused_with_a_sentence(grid):
    with pytest.raises(InvalidParameter, match="give the number of steps"):
        Grid.of(grid)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rule": "mine"}, "rule='mine'.* is unknown; use one of 'default', 'liquidsvm', 'paper'"),
        ({"n_widths": 0}, "n_widths=0.*at least 1"),
        ({"n_lams": -1}, "n_lams=-1.*at least 1"),
        ({"width": (2.0, 1.0)}, "width=.*positive smallest and largest"),
        ({"lam": (0.0, 1.0)}, "lam=.*positive smallest and largest"),
        ({"width": (1.0, np.inf)}, "width=.*positive smallest and largest"),
        ({"width": (1.0,)}, "width=.*positive smallest and largest"),
        ({"widths": []}, "widths=.*must be positive"),
        ({"lams": [1.0, np.nan]}, "lams=.*must be positive"),
        ({"widths": [1.0, -2.0]}, "widths=.*must be positive"),
    ],
)
def test_invalid_grids_are_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        Grid(**arguments)
