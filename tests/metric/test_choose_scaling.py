"""The choice of a scaling on a pilot sample: the best by measurement, ties to the simplest."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from single import svc

import localsvm.metric.choose_scaling
from localsvm import Grid
from localsvm.cell.settings import CellSettings
from localsvm.data.content import distinct_rows
from localsvm.data.scaling import METHODS
from localsvm.metric.choose_scaling import Sample, choose_scaling, simplest_of_best

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")

SMALL = Grid(n_widths=3, n_lams=3)


def checkerboard(ranks, fields=4):
    return np.where(np.floor(ranks * fields).sum(axis=1) % 2 == 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def uniform():
    """All scalings are as good."""
    X = np.random.default_rng(0).uniform(size=(3000, 2))
    return X, checkerboard(X)


@pytest.fixture(scope="module")
def heavy(uniform):
    """The same rows as ranks of a distribution with heavy tails: only quantiles tell them apart."""
    X, y = uniform
    return np.tan(np.pi * (X - 0.5)), y


def sample_of(X, y, weight=None):
    return Sample(*distinct_rows(X, y, np.ones(len(y)) if weight is None else weight)[:3])


def chosen(data, n_rows=3000, cell_size=1000, seed=0, **options):
    return choose_scaling(sample_of(*data), CellSettings(grid=SMALL), seed, n_rows, cell_size, **options)


# ------------------------------------------------------------------------------------------- choice


def test_heavy_tails_are_scaled_by_quantiles(heavy):
    assert chosen(heavy) == "quantile"


def test_the_simplest_scaling_is_kept_where_all_are_as_good(uniform):
    assert chosen(uniform) == "minmax"


def test_a_scaling_that_spoils_the_rows_is_not_taken():
    # Two dense lumps carry the label; ranks blow the noise inside them up to the whole range.
    rng = np.random.default_rng(0)
    lump = rng.integers(0, 2, size=(3000, 6))
    X = lump + rng.normal(scale=1e-3, size=lump.shape)
    assert chosen((X, np.where(lump.sum(axis=1) % 2 == 0, 1.0, -1.0))) == "minmax"


@pytest.mark.parametrize("n_rows", [10, 150, 999])
def test_small_fits_take_the_simplest_scaling(heavy, n_rows, monkeypatch):
    monkeypatch.setattr(localsvm.metric.choose_scaling, "train_cell", lambda *_: pytest.fail("a trial was trained"))
    X, y = heavy
    assert chosen((X[:n_rows], y[:n_rows]), n_rows) == "minmax"


def test_beside_columns_of_unit_variance_the_simplest_scaling_is_standardization(uniform):
    X, y = uniform
    indicator = (np.arange(3000) % 2)[:, None] * 2.0
    for n_rows in (100, 3000):
        sample = sample_of(np.column_stack([X, indicator])[:n_rows], y[:n_rows])
        for n_scaled, expected in ((2, "standard"), (3, "minmax")):
            of_some = Sample(sample.X, sample.y, sample.weight, n_scaled)
            assert choose_scaling(of_some, CellSettings(grid=SMALL), 0, n_rows, 1000) == expected


def test_memory_does_not_matter(heavy):
    assert chosen(heavy, max_bytes=1_000_000) == chosen(heavy)


def test_scalings_are_compared_where_rows_are_near_to_each_other():
    # Far apart, two columns of noise hide the label as they like; ranks spread the noise inside the dense lumps, where
    # the cells of many rows lie, over the whole range.
    rng = np.random.default_rng(0)
    lump = rng.integers(0, 8, size=(8000, 1)).astype(float)
    inside = rng.uniform(-0.05, 0.05, size=(8000, 2))
    X = np.column_stack([lump + inside[:, :1], inside[:, 1:] ** 9])
    y = np.where(np.floor(inside[:, 0] * 80) % 2 == 0, 1.0, -1.0)
    assert chosen((X, y), 60_000) == "minmax"


@pytest.mark.parametrize("data", ["heavy", "uniform"])
def test_threads_do_not_matter(request, data):
    rows = request.getfixturevalue(data)
    with ThreadPoolExecutor(3) as pool:
        assert chosen(rows, thread_map=pool.map) == chosen(rows)


# ------------------------------------------------------------------------------------------- in fit


def fitted(X, y, **parameters):
    return svc(**{"grid": SMALL, "cell_size": 1000, "n_folds": 2, **parameters}).fit(X, y)


@pytest.mark.parametrize(("data", "method"), [("heavy", "quantile"), ("uniform", "minmax")])
def test_auto_is_the_model_of_the_scaling_it_chooses_bit_for_bit(request, data, method):
    X, y = request.getfixturevalue(data)
    auto, by_name = fitted(X, y), fitted(X, y, scaling=method)
    np.testing.assert_array_equal(auto.decision_function(X), by_name.decision_function(X))
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = fitted(X[order], y[order], n_jobs=1)
    np.testing.assert_array_equal(shuffled.decision_function(X), auto.decision_function(X))


def test_the_choice_pays(heavy):
    X, y = heavy
    train, test = slice(0, 2000), slice(2000, 3000)
    plain = {"relevance": None, "kernel": "gauss"}
    score = {
        scaling: fitted(X[train], y[train], scaling=scaling, **plain).score(X[test], y[test])
        for scaling in ("auto", *METHODS)
    }
    assert score["auto"] == max(score.values())
    assert 1 - score["auto"] < (1 - score["minmax"]) / 2


# --------------------------------------------------------------------------------------------- ties


def test_the_first_that_is_not_worse_than_one_standard_error_wins():
    good, bad = np.full(10, 0.10), np.full(10, 0.25)
    noisy = 0.105 + 0.05 * np.array([1, -1] * 5)  # a little worse on average, better at half of the places
    assert simplest_of_best(np.stack([bad, good, noisy]), 400) == 1
    assert simplest_of_best(np.stack([noisy, good, bad]), 400) == 0
    assert simplest_of_best(np.stack([good, good, good]), 400) == 0
    assert simplest_of_best(np.stack([bad, bad, good]), 400) == 2


def test_few_places_that_agree_by_chance_are_not_believed_beyond_the_noise_of_a_rate():
    better, worse = np.array([0.20, 0.20]), np.array([0.21, 0.21])
    assert simplest_of_best(np.stack([worse, better]), 400) == 0
    assert simplest_of_best(np.stack([worse, better]), 40_000) == 1
