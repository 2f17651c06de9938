"""What a fit that went through warns of: choices at an edge of the grid, solves that stopped early."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from single import svc

from localsvm import Grid, GridEdgeWarning, PrecisionWarning
from localsvm.cell.settings import CellSettings
from localsvm.estimators.warn import GridChoice, edge_sentences, grid_choices, precision_sentences


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
        clf = svc(grid=grid, **parameters).fit(*data)
    return clf, [str(warning.message) for warning in caught if warning.category is kind]


@pytest.mark.parametrize(
    ("grid", "edge", "advice"),
    [
        (
            Grid(n_widths=3, width=(1e-5, 0.2), n_lams=2),
            "largest width",
            r"Grid\(n_widths=4, n_lams=2, width=\(1e-05, 28\.3\)\)",
        ),
        (
            Grid(n_widths=3, width=(0.2, 2000), n_lams=2),
            "smallest width",
            r"Grid\(n_widths=4, n_lams=2, width=\(0\.002, 2000\.0\)\)",
        ),
        (
            Grid(widths=(1e-5, 1e-4, 0.2), n_lams=2),
            "largest width",
            r"Grid\(n_lams=2, widths=\(1e-05, 0\.0001, 0\.2, 28\.3\)\)",
        ),
        (Grid(widths=(0.3,), lams=(1e-5, 1.0, 3.0)), "smallest lam", r"lams=\(1\.83e-08, 1e-05, 1\.0, 3\.0\)\)"),
        (
            Grid(n_widths=1, width=(2, 2), n_lams=3, lam=(1e-3, 1000), rule="liquidsvm"),
            "smallest lam",
            r"n_lams=4, width=\(2, 2\), lam=\(.*e-08, 1000\.0\), rule='liquidsvm'\)",
        ),
    ],
    ids=["width largest", "width smallest", "widths", "lams", "rule"],
)
def test_a_choice_at_the_edge_is_warned_of_with_count_and_advice(rings, grid, edge, advice):
    clf, messages = caught_by(grid, rings, GridEdgeWarning)
    assert len(messages) == 1
    assert re.fullmatch(rf"1 of 1 cells chose the {edge} of the grid; .*grid=.*{advice}\.", messages[0])
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
    assert advised == replace(grid, n_widths=4, width=(1e-5, 28.3))


def test_a_fit_with_the_advised_grid_is_better_and_is_not_warned_of(rings):
    clf, messages = caught_by(Grid(n_widths=3, width=(1e-3, 1e-2), n_lams=3), rings, GridEdgeWarning)
    assert messages
    last = clf
    while messages:
        advised = eval(re.search(r"Grid\(.*\)", messages[0])[0], {"Grid": Grid})
        last, messages = caught_by(advised, rings, GridEdgeWarning)
    assert last.cells_[0]["cv_risk"] < clf.cells_[0]["cv_risk"]


def test_edges_in_a_few_rows_are_not_warned_of():
    settings = CellSettings(grid=Grid(n_widths=3, width=(1e-5, 0.2), n_lams=2))
    none = np.zeros(2, dtype=bool)
    at_edge = [GridChoice("gauss", 10, "largest width", np.array([2.0, 1.0]), np.ones(2), none, np.nan)]
    others = [GridChoice("gauss", 10, None, np.array([2.0, 1.0]), np.ones(2), none, np.nan)]
    assert edge_sentences(at_edge + 19 * others, settings) == []
    (sentence,) = edge_sentences(2 * at_edge + 19 * others, settings)
    assert sentence.startswith("2 of 21 cells chose the largest width of the grid")


def test_smaller_lams_are_not_advised_where_precision_is_at_its_end():
    beyond = np.array([False, False, True])
    choices = [GridChoice("gauss", 10, "smallest lam", np.ones(1), np.array([1e-2, 1e-4, 1e-6]), beyond, 0.3)]
    settings = CellSettings(grid=Grid(n_widths=5, lam=(1e-3, 0.01)))
    assert edge_sentences(choices, settings) == []
    (sentence,) = precision_sentences(choices, settings)
    assert sentence.endswith("It does without the smallest lams: grid=Grid(n_widths=5, lam=(0.1, 0.1)).")


def coins():
    """Coin flips, from which nothing is learned."""
    return np.random.RandomState(0).uniform(size=(200, 2)), np.random.RandomState(1).randint(2, size=200)


@pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning")
def test_a_choice_that_cannot_be_certified_is_warned_of_and_the_advised_grid_helps():
    # A wide kernel with next to no regularisation: coefficients grow until single precision cannot tell their sums
    # apart.
    grid = Grid(widths=(1.0, 3.0), lams=(1e-22, 1e-20, 1e-3))
    cell = svc(grid=grid).fit(*coins()).model_.cells[0]
    assert cell.certificates.n_unconverged > 0
    forced = replace(cell, lam=cell.lams[-1:])  # as if the smallest had won
    (sentence,) = precision_sentences(grid_choices([forced]), CellSettings(grid=grid))
    assert re.fullmatch(r"1 of 1 cells chose a lam for which single precision does not suffice \(.*\)\. .*", sentence)
    advised = eval(re.search(r"Grid\(.*\)", sentence)[0], {"Grid": Grid})
    assert advised == Grid(widths=(1.0, 3.0), lams=(1e-3,))
    assert svc(grid=advised).fit(*coins()).model_.cells[0].certificates.n_unconverged == 0


@pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning")
def test_solves_that_were_not_chosen_are_not_warned_of():
    grid = Grid(widths=(1.0, 3.0), lams=(1e-22, 1e-20, 1e-3))
    cell = svc(grid=grid).fit(*coins()).model_.cells[0]
    assert cell.certificates.n_unconverged > 0
    forced = replace(cell, lam=cell.lams[:1])  # as if the largest had won
    assert precision_sentences(grid_choices([forced]), CellSettings(grid=grid)) == []


def test_cells_without_a_solve_are_none_that_ended_early():
    X, y = coins()
    X, y = np.concatenate([X, 9 + X]), np.concatenate([y, np.zeros(200)])
    clf, messages = caught_by(Grid(widths=(1.0, 3.0), lams=(1e-22, 1e-20)), (X, y), PrecisionWarning, cell_size=200)
    sizes = sorted(cell.certificates.gap.size for cell in clf.model_.cells)
    assert sizes[0] == 0 < sizes[-1]
    assert all("1 of 2 cells" in message for message in messages)


def test_solves_within_the_tolerance_are_not_warned_of(rings):
    clf, messages = caught_by(10, rings, PrecisionWarning)
    assert messages == []
    assert np.nanmax(clf.model_.cells[0].certificates.gap) <= 1e-3
