"""Regression against independent oracles and known distributions, and the laws that hold for every loss."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import d2_pinball_score, mean_squared_error

from localsvm import Grid, InvalidData, LocalExpectileRegressor, LocalQuantileRegressor, LocalSVR

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]

SMALL = Grid(n_widths=4, n_lams=4)
ALL = {
    "squares": LocalSVR(grid=SMALL),
    "tube": LocalSVR(grid=SMALL, loss="epsilon_insensitive"),
    "quantiles": LocalQuantileRegressor(quantile=[0.9, 0.1, 0.5], grid=SMALL),
    "expectiles": LocalExpectileRegressor(expectile=[0.2, 0.8], grid=SMALL),
}
KINDS = {
    "one cell": {},
    "voronoi": {"cell_size": 60},
    "chunks": {"cell_size": 60, "partition": "chunks"},
    "overlap": {"cell_size": 60, "partition": "overlap"},
    "radius": {"partition": "radius", "cell_radius": 0.4},
    "combine, racing": {"cell_size": 60, "refit": "combine", "search": "racing"},
    "one split": {"cell_size": 60, "n_folds": 1},
    "laplace": {"kernel": "laplace"},
    "manhattan": {"kernel": "manhattan"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
several_levels = pytest.mark.parametrize(
    "model",
    [
        LocalQuantileRegressor(quantile=[0.95, 0.05, 0.5, 0.45, 0.55], grid=SMALL),
        LocalExpectileRegressor(expectile=[0.95, 0.05, 0.5, 0.45, 0.55], grid=SMALL),
    ],
    ids=["quantiles", "expectiles"],
)


def spread(x):
    return 0.1 + 0.3 * np.abs(x)


def wave(n, seed=0):
    """Targets that are normal around a wave, with a spread that grows to both sides."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + spread(X[:, 0]) * rng.normal(size=n)


@pytest.fixture(scope="module")
def rows():
    return wave(240)


@pytest.fixture(scope="module")
def points():
    return np.concatenate([wave(300, seed=1)[0], [[30.0, 0.0], [0.0, -1e15]]])


@pytest.fixture(params=ALL)
def regressor(request):
    return clone(ALL[request.param])


# ------------------------------------------------------------------------------------------ oracles


def ridge(X, y, width, lam, weight=None):
    """The minimiser of lam ||f||^2 + mean weight (y - f)^2, as a function."""
    mean = np.average(y, weights=weight)
    ridge = KernelRidge(alpha=lam * len(y), kernel="rbf", gamma=width**-2).fit(X, y - mean, sample_weight=weight)
    return lambda points: mean + ridge.predict(points)


def certified(model, y):
    """The root mean square by which the predictions may miss the exact solution on the training samples."""
    (cell,) = model.model_.cells
    return np.sqrt(1.25 * cell.certificates.refit_gap) * y.std()


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_least_squares_are_kernel_ridge_regression_at_the_chosen_point(rows, unit):
    X, y = rows[0], 7.0 + unit * rows[1]
    model = LocalSVR(grid=SMALL, scaling=None, refit="retrain").fit(X, y)
    (cell,) = model.cells_
    exact = np.clip(ridge(X, y, cell["width"], cell["lam"])(X), y.min(), y.max())
    assert np.sqrt(mean_squared_error(exact, model.predict(X))) <= certified(model, y) < 0.1 * unit


def test_the_choice_is_the_best_of_the_grid_by_cross_validation(rows):
    model = LocalSVR(grid=SMALL, scaling=None, refit="retrain").fit(*rows)
    (cell,) = model.model_.cells
    found = np.unravel_index(cell.risks.argmin(), cell.risks.shape)
    assert (cell.widths[found[0]], cell.lams[found[1]]) == (cell.width[0], cell.lam[0])
    assert cell.risks.min() == pytest.approx(cell.risk, rel=1e-3)


def test_several_targets_are_those_of_each_alone(rows, points):
    X, y = rows
    targets = np.column_stack([y, 100 - 3 * y**2, X[:, 1] * y])
    for model in (LocalSVR(grid=SMALL, members=1), LocalSVR(grid=SMALL, loss="epsilon_insensitive")):
        together = clone(model).set_params(cell_size=100).fit(X, targets)
        assert together.predict(points).shape == (len(points), 3)
        for number, target in enumerate(targets.T):
            alone = clone(model).set_params(cell_size=100).fit(X, target)
            np.testing.assert_allclose(together.predict(points)[:, number], alone.predict(points), rtol=1e-3, atol=1e-3)


def test_several_targets_have_the_folds_of_one_with_a_random_state(rows):
    X, y = rows
    one, two = (
        LocalSVR(grid=SMALL, random_state=np.random.RandomState(3)).fit(X, target) for target in (y, np.c_[y, y])
    )
    np.testing.assert_allclose(two.predict(X)[:, 1], one.predict(X), rtol=1e-4, atol=1e-4)


def test_the_middle_expectile_is_least_squares_at_twice_the_lam(rows, points):
    # Half a square is lost where least squares lose one.
    at = {"scaling": None, "refit": "retrain"}
    mean = LocalExpectileRegressor(grid=Grid(widths=[0.7], lams=[1e-2]), **at).fit(*rows)
    squares = LocalSVR(grid=Grid(widths=[0.7], lams=[2e-2]), **at).fit(*rows)
    allowed = certified(mean, rows[1]) + certified(squares, rows[1])
    assert np.sqrt(mean_squared_error(mean.predict(rows[0]), squares.predict(rows[0]))) <= 2 * allowed < 0.1


@pytest.mark.parametrize("tau", [0.02, 0.3, 0.5, 0.9])
def test_an_expectile_is_the_fixed_point_of_weighted_least_squares(rows, tau):
    X, y = rows
    width, lam = 0.7, 1e-2
    model = LocalExpectileRegressor(expectile=tau, grid=Grid(widths=[width], lams=[lam]), scaling=None).fit(X, y)
    f = model.predict(X)
    offset = model.model_.cells[0].functions.constants[0]
    weight = np.where(y >= f, tau, 1 - tau)
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / width**2)
    again = offset + K @ np.linalg.solve(K + len(y) * lam * np.diag(1 / weight), y - offset)
    assert np.sqrt(np.mean(weight * (f - again) ** 2)) <= 2 * certified(model, y) < 0.1


def test_the_fraction_of_new_targets_below_a_quantile_is_its_level():
    levels = [0.9, 0.1, 0.5]
    model = LocalQuantileRegressor(quantile=levels, grid=5, cell_size=700).fit(*wave(2000))
    X, y = wave(5000, seed=1)
    predicted = model.predict(X)
    np.testing.assert_allclose((y[:, None] < predicted).mean(axis=0), levels, atol=0.05)
    true = np.sin(3 * X[:, :1]) + spread(X[:, :1]) * norm.ppf(levels)
    assert np.abs(predicted - true).mean() < 0.3 * spread(X[:, 0]).mean()


def test_expectiles_are_those_of_the_distribution():
    # Of a normal distribution with tau = 0.8; see Newey and Powell (1987): e with tau E(y-e)+ = (1-tau) E(e-y)+.
    tau, e = 0.8, np.linspace(-3, 3, 6001)
    above = norm.pdf(e) - e * norm.sf(e)
    standard = e[np.abs(tau * above - (1 - tau) * (above + e)).argmin()]
    X, _ = wave(3000, seed=1)
    predicted = LocalExpectileRegressor(expectile=tau, grid=5, cell_size=700).fit(*wave(2000)).predict(X)
    true = np.sin(3 * X[:, 0]) + spread(X[:, 0]) * standard
    assert np.abs(predicted - true).mean() < 0.3 * spread(X[:, 0]).mean()


def test_a_tube_is_robust_where_squares_are_not(rows):
    X, y = rows
    outliers = np.where(np.arange(len(y)) % 20 == 0, 50.0, y)
    clean, truth = np.arange(len(y)) % 20 != 0, np.sin(3 * X[:, 0])
    errors = [
        np.abs(LocalSVR(grid=SMALL, loss=loss).fit(X, outliers).predict(X) - truth)[clean].mean()
        for loss in ("squared", "epsilon_insensitive")
    ]
    assert errors[1] < 0.3 * errors[0]


def test_a_wide_tube_leaves_samples_out_of_the_model(rows):
    supports = [
        LocalSVR(grid=SMALL, loss="epsilon_insensitive", epsilon=epsilon).fit(*rows).cells_[0]["support_vectors"]
        for epsilon in (0.01, 0.5)
    ]
    assert supports[1] < 0.7 * supports[0]


def test_the_score_of_levels_is_the_explained_fraction_of_the_loss(rows):
    X, y = wave(300, seed=2)
    model = LocalQuantileRegressor(quantile=[0.8, 0.3], grid=SMALL).fit(*rows)
    by_level = [d2_pinball_score(y, f, alpha=tau) for f, tau in zip(model.predict(X).T, model.quantile, strict=True)]
    assert model.score(X, y) == pytest.approx(np.mean(by_level), rel=1e-3)
    weight = np.arange(300) % 3
    assert model.score(X, y, weight) == pytest.approx(model.score(np.repeat(X, weight, 0), np.repeat(y, weight)))


# ------------------------------------------------------------------------------------------- levels


@several_levels
@every_kind
def test_levels_never_cross_and_come_in_the_order_as_given(rows, points, model, kind):
    (name,) = {"quantile", "expectile"} & set(model.get_params())
    given = np.array(getattr(model, name))
    predicted = clone(model).set_params(**KINDS[kind]).fit(*rows).predict(points)
    assert (np.diff(predicted[:, given.argsort()], axis=1) >= 0).all()
    ascending = clone(model).set_params(**KINDS[kind], **{name: np.sort(given)}).fit(*rows).predict(points)
    np.testing.assert_array_equal(predicted[:, given.argsort()], ascending)


def test_a_level_alone_is_a_vector_and_one_of_a_list_a_column(rows, points):
    for kind, name in ((LocalQuantileRegressor, "quantile"), (LocalExpectileRegressor, "expectile")):
        alone = kind(**{name: 0.3}, grid=SMALL).fit(*rows).predict(points)
        listed = kind(**{name: [0.3]}, grid=SMALL).fit(*rows).predict(points)
        assert alone.shape == (len(points),)
        np.testing.assert_array_equal(listed, alone[:, None])


def test_equal_levels_have_equal_predictions(rows, points):
    low, again, high = LocalQuantileRegressor(quantile=[0.2, 0.2, 0.7], grid=SMALL).fit(*rows).predict(points).T
    np.testing.assert_array_equal(low, again)
    assert (low <= high).all() and (low < high).any()


# --------------------------------------------------------------------------------------------- laws


def predictions(regressor, X, y, points, weight=None, **parameters):
    return clone(regressor).set_params(**parameters).fit(X, y, sample_weight=weight).predict(points)


@every_kind
def test_every_kind_of_cells_learns(rows, regressor, kind):
    model = regressor.set_params(**KINDS[kind]).fit(*rows)
    assert model.score(*rows) > (0.4 if kind == "chunks" else 0.5)
    assert sum(record["size"] for record in model.cells_) >= len(rows[1])


@every_kind
def test_order_of_rows_and_threads_change_no_bit(rows, points, regressor, kind):
    X, y = rows
    weight = np.random.default_rng(2).gamma(1.0, size=len(y))
    expected = predictions(regressor, X, y, points, weight, n_jobs=1, **KINDS[kind])
    order = np.random.default_rng(3).permutation(len(y))
    again = predictions(regressor, X[order], y[order], points, weight[order], n_jobs=3, **KINDS[kind])
    np.testing.assert_array_equal(again, expected)


def test_an_integer_weight_is_a_repetition_and_zero_is_absence(rows, points, regressor):
    X, y = rows
    counts = np.random.default_rng(4).integers(0, 4, size=len(y))
    weighted = predictions(regressor, X, y, points, counts)
    repeated = predictions(regressor, np.repeat(X, counts, axis=0), np.repeat(y, counts), points)
    np.testing.assert_array_equal(weighted, repeated)
    far = np.where(counts > 0, y, 1e9)
    np.testing.assert_array_equal(predictions(regressor, X, far, points, counts), weighted)


@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e12, 1e30])
def test_the_unit_of_the_targets_is_that_of_the_predictions(rows, points, regressor, unit):
    X, y = rows
    plain = predictions(regressor, X, y, points, cell_size=100)
    if isinstance(regressor, LocalSVR):
        regressor.epsilon *= unit
    in_unit = predictions(regressor, X, unit * y, points, cell_size=100)
    np.testing.assert_allclose(in_unit / unit, plain, rtol=1e-3, atol=1e-2)


def test_targets_far_from_zero_are_learned_as_others(rows, points, regressor):
    X, y = rows
    y = np.round(y * 2**20) / 2**20  # so that 1e6 + y is exact: steps of a solver are not continuous in their targets
    moved = predictions(regressor, X, 1e6 + y, points)
    np.testing.assert_allclose(moved - 1e6, predictions(regressor, X, y, points), atol=1e-2)


@pytest.mark.parametrize("kind", ["one cell", "voronoi", "radius", "combine, racing"])
def test_predictions_stay_within_the_targets_of_their_cell(rows, points, regressor, kind):
    X, y = rows
    model = regressor.set_params(scaling=None, members=1, **KINDS[kind]).fit(X, y)
    of_rows, of_points = (model.model_.partition.assign(part.astype(np.float32)) for part in (X, points))
    predicted = model.predict(points).reshape(len(points), -1)
    for cell in range(model.n_cells_):
        targets, values = y[of_rows == cell], predicted[of_points == cell]
        assert ((values >= targets.min()) & (values <= targets.max())).all()


@every_kind
@pytest.mark.parametrize("constant", [0.0, -3.7, 1e20])
def test_constant_targets_are_predicted_exactly(rows, points, regressor, kind, constant):
    X, _ = rows
    model = regressor.set_params(**KINDS[kind]).fit(X, np.full(len(X), constant))
    np.testing.assert_array_equal(model.predict(points), np.full_like(model.predict(points), constant))
    assert model.score(X, np.full(len(X), constant)) == 1


def test_cells_whose_targets_agree_are_constants_beside_others(regressor):
    X = np.linspace(0, 1, 400)[:, None]
    y = np.where(X[:, 0] < 0.5, 2.0, np.sin(30 * X[:, 0]))
    model = regressor.set_params(cell_size=50).fit(X, y)
    assert any(np.isnan(record["width"]).all() for record in model.cells_)
    np.testing.assert_array_equal(model.predict([[0.1]]), np.full_like(model.predict([[0.1]]), 2.0))
    assert model.score(X, y) > 0.5


def test_a_constant_target_beside_others_is_predicted_exactly(rows, points):
    X, y = rows
    for loss in ("squared", "epsilon_insensitive"):
        predicted = LocalSVR(grid=SMALL, loss=loss).fit(X, np.column_stack([np.full(len(y), 4.5), y])).predict(points)
        assert (predicted[:, 0] == 4.5).all()
        assert np.ptp(predicted[:, 1]) > 1


def test_a_column_of_targets_is_one_target(rows, points, regressor):
    X, y = rows
    flat = predictions(regressor, X, y, points)
    if isinstance(regressor, LocalSVR):
        np.testing.assert_array_equal(predictions(regressor, X, y[:, None], points), flat[:, None])
    else:
        with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
            np.testing.assert_array_equal(predictions(regressor, X, y[:, None], points), flat)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_a_few_rows_are_learned_from(rows, regressor, n):
    X, y = rows[0][:n], rows[1][:n]
    predicted = regressor.fit(X, y).predict(rows[0])
    assert np.isfinite(predicted).all()
    assert ((predicted >= y.min()) & (predicted <= y.max())).all()


@pytest.mark.parametrize("refit", ["combine", "retrain"])
def test_equal_rows_get_a_value_between_their_targets(regressor, refit):
    X = np.full((12, 2), 3.0)
    y = np.arange(12.0)
    predicted = regressor.set_params(refit=refit).fit(X, y).predict(X[:1])
    assert ((predicted > 0) & (predicted < 11)).all()


def test_fewer_rows_than_folds_and_one_feature_that_is_constant(rows, regressor):
    X = np.column_stack([rows[0], np.full(len(rows[1]), 7.0)])
    assert regressor.set_params(n_folds=1000).fit(X[:40], rows[1][:40]).score(X[:40], rows[1][:40]) > 0.3


def test_memory_does_not_matter_until_it_is_too_little(rows, points, regressor):
    expected = predictions(regressor, *rows, points, n_jobs=1)
    np.testing.assert_array_equal(predictions(regressor, *rows, points, n_jobs=1, max_memory="3MB"), expected)
    with pytest.raises(InvalidData, match=r"training needs .* but max_memory allows"):
        predictions(regressor, *rows, points, max_memory="50kB")
