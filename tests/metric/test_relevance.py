"""Relevance and kernel on a pilot sample: what matters weighs more, noise changes nothing, content decides."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from cells import same_cells
from single import svc, svr

import localsvm
import localsvm.metric.relevance
from localsvm import (
    Grid,
    InvalidParameter,
    LocalExpectileRegressor,
    LocalQuantileRegressor,
)
from localsvm.cell.grid import KERNELS, cell_radius
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.data.content import canonical_rows, distinct_rows
from localsvm.data.disk import RowFile
from localsvm.data.scaling import fit_to_ends
from localsvm.data.table import Table
from localsvm.metric.choose_scaling import Sample
from localsvm.metric.relevance import MetricChoices, learn_metric
from localsvm.partition import voronoi_partition
from localsvm.tasks import Regression

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

SMALL = {"grid": Grid(n_widths=3, n_lams=3), "n_folds": 2}


def waves(n=1500, d=6, seed=0):
    """The first two of the features matter."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, d))
    return X, np.sin(9 * X[:, 0]) + np.cos(7 * X[:, 1]) + 0.05 * rng.normal(size=n)


def classes(y, count):
    return np.searchsorted(np.quantile(y, np.arange(1, count) / count), y)


@pytest.fixture(scope="module")
def rows():
    return waves()


@pytest.fixture(scope="module")
def fitted(rows):
    X, y = rows
    return svr(**SMALL).fit(X, y)


# --------------------------------------------------------------------------------------------- weights


def matters(estimator):
    weights = estimator.feature_relevance_
    return weights[:2].min() > 2 * weights[2:].max()


@pytest.mark.parametrize(
    "estimator",
    [
        svr(),
        svr(loss="epsilon_insensitive"),
        LocalQuantileRegressor(quantile=[0.2, 0.7]),
        LocalExpectileRegressor(),
        svr(kernel="laplace"),
        svr(scaling="quantile"),
        svr(cell_size=400),
        svr(cell_size=400, partition="chunks"),
    ],
    ids=repr,
)
def test_features_that_matter_weigh_more_in_regression(rows, estimator):
    assert matters(estimator.set_params(**SMALL).fit(*rows))


@pytest.mark.parametrize("count", [2, 4])
def test_features_that_matter_weigh_more_in_classification(rows, count):
    X, y = rows
    assert matters(svc(**SMALL).fit(X, classes(y, count)))


def test_a_feature_matters_if_one_of_the_targets_needs_it_whatever_their_units(rows):
    X, _ = rows
    targets = np.column_stack([1e6 * np.sin(9 * X[:, 0]), 1e-6 * np.cos(7 * X[:, 1])])
    assert matters(svr(**SMALL).fit(X, targets))


def test_weights_have_mean_one(fitted):
    assert fitted.feature_relevance_.mean() == pytest.approx(1)
    assert fitted.feature_relevance_.shape == (6,)


def test_learned_weights_err_less_where_features_differ(rows, fitted):
    X, y = waves(seed=1)
    plain = svr(relevance=None, kernel="gauss", **SMALL).fit(*rows)
    assert fitted.score(X, y) > plain.score(X, y)


def test_noise_changes_nothing():
    rng = np.random.default_rng(0)
    model = svr(**SMALL).fit(rng.normal(size=(1500, 4)), rng.normal(size=1500))
    assert (model.feature_relevance_ == 1).all()
    assert model.model_.cells[0].functions.kernel == "gauss"


def test_targets_that_agree_at_every_place_change_nothing():
    X = np.random.default_rng(0).uniform(size=(1500, 3))
    assert (svr(**SMALL).fit(X, np.full(1500, 7.0)).feature_relevance_ == 1).all()


def test_small_fits_keep_the_plain_metric(rows, monkeypatch):
    monkeypatch.setattr(localsvm.metric.relevance, "train_cell", lambda *_: pytest.fail("a trial was trained"))
    X, y = rows
    assert (svr(scaling="minmax", **SMALL).fit(X[:999], y[:999]).feature_relevance_ == 1).all()


def test_a_partition_of_the_users_own_keeps_its_space(rows):
    X, y = rows
    cells = voronoi_partition(X.astype(np.float32), 500)
    model = svr(partition=cells, scaling=None, **SMALL).fit(X, y)
    assert (model.feature_relevance_ == 1).all()


# -------------------------------------------------------------------------------------- content decides


@pytest.mark.parametrize("cell_size", [400, 2000])
def test_row_order_and_threads_change_nothing(cell_size):
    X, y = waves(2500)
    model = svr(cell_size=cell_size, n_jobs=1, **SMALL).fit(X, y)
    order = np.random.default_rng(1).permutation(len(y))
    other = svr(cell_size=cell_size, n_jobs=3, **SMALL).fit(X[order], y[order])
    np.testing.assert_array_equal(other.feature_relevance_, model.feature_relevance_)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_a_weight_of_two_is_a_row_given_twice(rows):
    X, y = rows
    weight = np.random.default_rng(2).integers(0, 3, size=len(y))
    weighted = svr(**SMALL).fit(X, y, sample_weight=weight)
    repeated = svr(**SMALL).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.feature_relevance_, repeated.feature_relevance_)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_rows_on_disk_have_the_weights_of_rows_in_memory(rows, fitted, tmp_path):
    X, y = rows
    on_disk = RowFile(X.shape, X.dtype, tmp_path)
    on_disk.write(0, X)
    model = svr(**SMALL).fit(Table(on_disk), y)
    np.testing.assert_array_equal(model.feature_relevance_, fitted.feature_relevance_)
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))


def test_memory_does_not_matter(rows):
    X, y = rows
    plan = {"kernels": KERNELS, "learns_weights": True, "n_rows": 1500, "cell_size": 2000}
    sample = Sample(*distinct_rows(X, y, np.ones(len(y)))[:3])
    task = Regression((localsvm.tasks.losses.Squared(),))
    scaling = fit_to_ends("minmax", X)
    much = learn_metric(sample, scaling, np.ones(6), task, MetricChoices(**plan))
    with ThreadPoolExecutor(3) as pool:
        little = learn_metric(sample, scaling, np.ones(6), task, MetricChoices(**plan, max_bytes=1_000_000), pool.map)
    np.testing.assert_array_equal(much.weights, little.weights)
    assert much.kernel == little.kernel


def test_learned_weights_given_back_make_the_same_model_to_the_bit(rows, fitted):
    X, y = rows
    kernel = fitted.model_.cells[0].functions.kernel
    again = svr(relevance=fitted.feature_relevance_, kernel=kernel, **SMALL).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_a_checkpoint_of_other_weights_is_refused(rows, tmp_path):
    X, y = rows
    svr(checkpoint=tmp_path / "cells", **SMALL).fit(X, y)
    with pytest.raises(InvalidParameter, match="relevance was 'auto', is None"):
        svr(checkpoint=tmp_path / "cells", relevance=None, **SMALL).fit(X, y)


def test_a_saved_model_keeps_its_weights(fitted, rows, tmp_path):
    fitted.save(tmp_path / "model.lsvm")
    again = localsvm.load(tmp_path / "model.lsvm")
    np.testing.assert_array_equal(again.feature_relevance_, fitted.feature_relevance_)
    np.testing.assert_array_equal(again.predict(rows[0]), fitted.predict(rows[0]))


# ------------------------------------------------------------------------------------------ given ones


def test_given_weights_are_as_if_the_scaled_features_were_multiplied():
    X, y = waves(300, 3)
    weights = np.array([2.0, 0.75, 0.25])
    given = svr(scaling=None, relevance=weights, **SMALL).fit(X, y)
    multiplied = svr(scaling=None, relevance=None, **SMALL).fit(X * weights, y)
    np.testing.assert_array_equal(given.predict(X), multiplied.predict(X * weights))
    np.testing.assert_array_equal(given.feature_relevance_, weights)


def test_only_ratios_of_given_weights_count():
    X, y = waves(300, 3)
    models = [svr(relevance=w, **SMALL).fit(X, y) for w in ([4, 2, 0], [2e300, 1e300, 0])]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    np.testing.assert_allclose(models[0].feature_relevance_, [2, 1, 0])


def test_a_feature_of_weight_zero_does_not_count():
    X, y = waves(300, 3)
    model = svr(relevance=[1, 1, 0], **SMALL).fit(X, y)
    moved = X + np.array([0, 0, 5])
    np.testing.assert_array_equal(model.predict(moved), model.predict(X))


@pytest.mark.parametrize(
    ("relevance", "why"),
    [
        ("much", "relevance='much': give"),
        ([1, 2], "relevance has shape (2,), the data 3 features: give"),
        ([[1, 2, 3]], "relevance has shape (1, 3), the data 3 features: give"),
        ([1, -2, 3], "relevance[1]=-2: give"),
        ([1, 2, np.nan], "relevance[2]=nan: give"),
        ([0, 0, 0], "all weights of relevance are 0, so that all rows are equal: give"),
    ],
    ids=repr,
)
def test_weights_that_make_no_sense_are_refused(relevance, why):
    X, y = waves(50, 3)
    sentence = why + ' "auto", None, or a weight of at least 0 for every feature.'
    with pytest.raises(InvalidParameter, match=f"^{re.escape(sentence)}$"):
        svr(relevance=relevance).fit(X, y)


# ------------------------------------------------------------------------------------------ categories


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 1200
    data = pd.DataFrame(
        {"noise": rng.uniform(size=n), "colour": rng.choice(["red", "green", "blue"], n), "size": rng.uniform(size=n)}
    )
    y = (data["colour"] == "red") * 2.0 + np.sin(6 * data["size"]) + 0.05 * rng.normal(size=n)
    data.loc[::40, "size"] = np.nan
    return data, y


def test_a_category_has_one_weight(frame):
    model = svr(missing="impute", kernel="gauss", **SMALL).fit(*frame)
    weights = dict(zip(model.feature_names_in_, model.feature_relevance_, strict=True))
    assert np.mean(list(weights.values())) == pytest.approx(1)
    assert weights["noise"] < min(weights["colour"], weights["size"])


def test_given_weights_of_categories_and_gaps_are_those_of_all_their_columns(frame):
    data, y = frame
    model = svr(missing="impute", relevance=[1, 0, 2], **SMALL).fit(data, y)
    other = data.assign(colour="blue")
    np.testing.assert_array_equal(model.predict(other), model.predict(data))
    np.testing.assert_allclose(model.feature_relevance_, [1, 0, 2])


# ------------------------------------------------------------------------------------------- the kernel


def bump(X):
    """A wave in every direction."""
    return np.sin(30 * np.linalg.norm(X - 0.5, axis=1))


def fields(X):
    """Steps along the axes."""
    return np.floor(4 * X).sum(axis=1) % 2


def rings(X):
    """Steps in every direction."""
    return np.floor(8 * np.linalg.norm(X - 0.5, axis=1)) % 2


@pytest.mark.parametrize(("kernel", "truth"), [("gauss", bump), ("laplace", rings), ("manhattan", fields)])
def test_waves_take_the_smooth_kernel_and_steps_rough_ones_of_their_distance(kernel, truth):
    X, _ = waves(1500, 2)
    model = svr(relevance=None, scaling="minmax", **SMALL).fit(X, truth(X))
    assert {cell.functions.kernel for cell in model.model_.cells} == {kernel}


# ------------------------------------------------------------------------------------- the paper's method


def test_without_a_learned_metric_the_method_is_the_papers_to_the_bit():
    # Algorithm 1 from its parts: scale to [0, 1], cut into Voronoi cells, train each with the paper's grid.
    X, y = waves(1500, 3)
    y = np.where(y > 0, 1.0, -1.0)
    paper = {"relevance": None, "kernel": "gauss", "scaling": "minmax", "grid": Grid.paper(3), "cell_size": 400}
    model = svc(**paper).fit(X, y).model_
    scaled = fit_to_ends("minmax", X).apply(X)
    assigned = model.partition.assign(scaled)
    for number, found in enumerate(model.cells):
        members = assigned == number
        cell = canonical_rows(scaled[members], y[members], np.ones(members.sum()), 0)
        task = CellTask(cell, cell_radius(cell), number)
        same_cells(train_cell(task, CellSettings(kernel="gauss", grid=Grid.paper(3))).functions, found.functions)
