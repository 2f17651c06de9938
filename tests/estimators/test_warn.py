"""What a fit that went through warns of: choices at an edge of the grid, solves that stopped early."""

import re
import warnings

import numpy as np
import pytest

from localsvm import Grid, GridEdgeWarning, LocalSVC, PrecisionWarning


@pytest.fixture(scope="module")
def rings():
    """Rings of alternating labels: neither a very narrow nor a very wide kernel does."""
    random = np.random.RandomState(0)
    angle, ring = random.uniform(0, 2 * np.pi, 300), random.randint(4, size=300)
    radius = 1 + ring + random.normal(scale=0.35, size=300)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), ring % 2


def caught_by(grid, data, kind, **parameters):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = LocalSVC(grid=grid, **parameters).fit(*data)
    return clf, [str(warning.message) for warning in caught if warning.category is kind]


@pytest.mark.parametrize(
    ("grid", "edge", "advice"),
    [
        (
            Grid(n_widths=3, width=(1e-5, 0.2), n_lams=2),
            "largest width",
            r"Grid\(width=\(1e-05, 1\)\)",
        ),
        (
            Grid(n_widths=3, width=(0.2, 2000), n_lams=2),
            "smallest width",
            r"Grid\(width=\(0\.04, 2000\)\)",
        ),
        (Grid(widths=(1e-5, 1e-4, 0.2), n_lams=2), "largest width", "larger .*Grid.widths="),
        (Grid(widths=(0.3,), lams=(1e-5, 1.0, 3.0)), "smallest lam", "smaller .*Grid.lams="),
        (
            Grid(n_widths=1, width=(2, 2), n_lams=3, lam=(1e-3, 1000), rule="liquidsvm"),
            "smallest lam",
            r"Grid\(lam=\(0\.0002, 1000\), rule='liquidsvm'\)",
        ),
    ],
    ids=["width largest", "width smallest", "widths", "lams", "rule"],
)
def test_a_choice_at_the_edge_is_warned_of_with_count_and_advice(rings, grid, edge, advice):
    clf, messages = caught_by(grid, rings, GridEdgeWarning)
    assert len(messages) == 1
    assert re.fullmatch(rf"1 of 1 cells chose the {edge}; .*{advice}.*\.", messages[0])
    end, name = edge.split()
    candidates = getattr(clf.model_.cells[0], f"{name}s")
    assert clf.cells_[0][name] == candidates[0 if end == "largest" else -1]


def test_a_choice_inside_the_grid_is_not_warned_of(rings):
    clf, messages = caught_by(10, rings, GridEdgeWarning, scaling="minmax")
    assert messages == []
    cell = clf.model_.cells[0]
    assert cell.widths[-1] < cell.width < cell.widths[0]
    assert cell.lams[-1] < cell.lam < cell.lams[0]


def test_an_edge_that_beats_the_inside_by_less_than_noise_is_not_warned_of(rings):
    grid = Grid(widths=(0.19, 0.2, 0.21), n_lams=2)
    clf, messages = caught_by(grid, rings, GridEdgeWarning)
    assert messages == []
    assert np.ptp(clf.model_.cells[0].risks.min(axis=1)) < 0.05


def test_a_grid_without_a_choice_has_no_edge(rings):
    for steps in (1, 2):
        assert caught_by(steps, rings, GridEdgeWarning)[1] == []


def test_the_advised_range_is_taken_as_it_is_written(rings):
    grid = Grid(n_widths=3, width=(1e-5, 0.2), n_lams=2)
    _, (message,) = caught_by(grid, rings, GridEdgeWarning)
    advised = eval(re.search(r"Grid\(.*\)", message)[0], {"Grid": Grid})
    assert advised.width == (1e-5, 1)


def test_solves_that_cannot_be_certified_are_warned_of_with_count_and_advice(rings):
    # Coin flips under a wide kernel with next to no regularisation: coefficients grow until single
    # precision cannot tell their sums apart.
    X = np.random.RandomState(0).uniform(size=(200, 2))
    y = np.random.RandomState(1).randint(2, size=200)
    grid = Grid(widths=(1.0, 3.0), lams=(1e-22, 1e-20))
    clf, messages = caught_by(grid, (X, y), PrecisionWarning)
    certificates = clf.model_.cells[0].certificates
    assert certificates.n_unconverged > 0
    (message,) = messages
    assert re.fullmatch(
        rf"{certificates.n_unconverged} of 20 solves could not be certified \(gaps of up to .* in size\); "
        r".* Leave such lams out of Grid\(lams=\.\.\.\)\.",
        message,
    )
    assert np.isfinite(clf.decision_function(X)).all()


def test_cells_without_a_solve_do_not_count_beside_those_with_early_ends():
    random = np.random.RandomState(0)
    X = np.concatenate([random.uniform(size=(200, 2)), 9 + random.uniform(size=(200, 2))])
    y = np.concatenate([random.randint(2, size=200), np.zeros(200)])
    grid = Grid(widths=(1.0, 3.0), lams=(1e-22, 1e-20))
    clf, messages = caught_by(grid, (X, y), PrecisionWarning, cell_size=200, scaling=None)
    assert sorted(cell.certificates.gap.size for cell in clf.model_.cells) == [0, 20]
    assert len(messages) == 1
    assert " of 20 solves " in messages[0]


def test_solves_within_the_tolerance_are_not_warned_of(rings):
    clf, messages = caught_by(10, rings, PrecisionWarning)
    assert messages == []
    assert np.nanmax(clf.model_.cells[0].certificates.gap) <= 1e-3
