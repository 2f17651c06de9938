"""The regressors are full scikit-learn citizens."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from localsvm import Grid, GridEdgeWarning, LocalExpectileRegressor, LocalQuantileRegressor, LocalSVR

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]

SMALL = Grid(n_widths=4, n_lams=4)
ALL = {
    "squares": LocalSVR(grid=SMALL),
    "tube": LocalSVR(grid=SMALL, loss="epsilon_insensitive"),
    "median": LocalQuantileRegressor(grid=SMALL),
    "quantiles": LocalQuantileRegressor(quantile=[0.9, 0.1, 0.5], grid=SMALL),
    "mean": LocalExpectileRegressor(grid=SMALL),
    "expectiles": LocalExpectileRegressor(expectile=[0.2, 0.8], grid=SMALL),
}


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=200)


@pytest.fixture(params=ALL)
def regressor(request):
    return clone(ALL[request.param])


@parametrize_with_checks(
    [
        LocalSVR(),
        LocalQuantileRegressor(),
        LocalExpectileRegressor(),
        LocalExpectileRegressor(grid=2, partition="radius", cell_radius=0.3),
        LocalSVR(grid=2, loss="epsilon_insensitive", refit="combine", search="racing", kernel="laplace"),
        LocalSVR(grid=2, missing="impute", partition="none", n_folds=1),
    ]
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def beyond_small_cells_and_several_levels(estimator):
    """What the checks ask for that many small cells, and a column for every level, cannot do."""
    found = {}
    weights = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    if estimator.cell_size != "auto":
        found |= dict.fromkeys(weights, "cell_size counts rows")
    level = getattr(estimator, "quantile", getattr(estimator, "expectile", None))
    if np.ndim(level) == 1:
        shaped = ("check_regressors_train", "check_estimator_sparse_array", "check_estimator_sparse_matrix")
        found |= dict.fromkeys(shaped, "there is a column for every level")
    return found


@parametrize_with_checks(
    [
        LocalExpectileRegressor(grid=2, expectile=[0.2, 0.8], cell_size=20),
        LocalSVR(grid=2, cell_size=20, partition="chunks"),
        LocalQuantileRegressor(grid=2, quantile=[0.2, 0.8], cell_size=20, partition="overlap"),
    ],
    expected_failed_checks=beyond_small_cells_and_several_levels,
)
def test_the_checks_pass_with_several_levels_and_several_cells(estimator, check):
    check(estimator)


def test_a_pickled_regressor_predicts_the_same_bits(wave, regressor):
    again = pickle.loads(pickle.dumps(regressor.fit(*wave)))
    np.testing.assert_array_equal(again.predict(wave[0]), regressor.predict(wave[0]))
    assert again.cells_ == regressor.cells_


def test_a_clone_has_the_parameters_and_nothing_fitted(wave, regressor):
    copy = clone(regressor.fit(*wave))
    assert repr(copy.get_params()) == repr(regressor.get_params())
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        copy.predict(wave[0])


def test_parameters_that_are_got_can_be_set(regressor):
    kind = type(regressor)
    assert repr(kind().set_params(**regressor.get_params())) == repr(regressor)


def test_predictions_are_those_of_the_fit_when_parameters_are_set_later(wave):
    model = LocalQuantileRegressor(quantile=[0.9, 0.1], grid=SMALL).fit(*wave)
    predicted, score = model.predict(wave[0]), model.score(*wave)
    model.set_params(quantile=0.5, missing="impute")
    np.testing.assert_array_equal(model.predict(wave[0]), predicted)
    assert model.score(*wave) == score


def test_repr_and_html_name_the_estimator(wave, regressor):
    assert repr(LocalQuantileRegressor(quantile=0.9)) == "LocalQuantileRegressor(quantile=0.9)"
    assert type(regressor).__name__ in estimator_html_repr(regressor)
    assert type(regressor).__name__ in estimator_html_repr(regressor.fit(*wave))


def test_tags_are_those_of_a_regressor_and_only_squares_and_tubes_take_several_targets(regressor):
    tags = get_tags(regressor)
    assert is_regressor(regressor)
    assert tags.target_tags.required and tags.target_tags.single_output
    assert tags.target_tags.multi_output == isinstance(regressor, LocalSVR)
    assert tags.input_tags.sparse and not tags.input_tags.allow_nan


def test_set_output_does_not_exist_on_a_regressor(regressor):
    assert not hasattr(regressor, "set_output")


def test_feature_names_of_a_data_frame_are_kept_and_compared(wave, regressor):
    frame = pd.DataFrame(wave[0], columns=["a", "b", "c"])
    regressor.fit(frame, wave[1])
    assert regressor.feature_names_in_.tolist() == ["a", "b", "c"]
    assert regressor.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names should match"):
        regressor.predict(frame[["c", "b", "a"]])


def test_frames_with_categories_and_sparse_matrices_are_learned_from(wave, regressor):
    X, y = wave
    side = np.where(X[:, 2] > 0, "right", "left")
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "side": pd.Categorical(side)})
    target = y + 2 * (side == "right")
    assert regressor.fit(frame, target).score(frame, target) > 0.5
    thin = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = clone(regressor).fit(thin, y).predict(thin)
    np.testing.assert_array_equal(regressor.fit(sparse.csr_array(thin), y).predict(sparse.csc_array(thin)), dense)


def test_missing_values_are_imputed(wave, regressor):
    X, y = wave
    gappy = np.where(np.arange(X.size).reshape(X.shape) % 11 == 0, np.nan, X)
    assert regressor.set_params(missing="impute").fit(gappy, y).score(gappy, y) > 0.5


def test_targets_may_be_a_series_or_a_frame(wave, regressor):
    X, y = wave
    expected = clone(regressor).fit(X, y).predict(X)
    np.testing.assert_array_equal(clone(regressor).fit(X, pd.Series(y)).predict(X), expected)
    if isinstance(regressor, LocalSVR):
        both = clone(regressor).fit(X, pd.DataFrame({"y": y, "again": y})).predict(X)
        np.testing.assert_allclose(both, np.column_stack([expected, expected]), atol=1e-4)


def test_grid_search_over_the_size_of_cells_works(wave, regressor):
    search = GridSearchCV(regressor, {"cell_size": [40, 200]}, cv=2).fit(*wave)
    assert search.best_score_ > 0.3
    assert len(search.predict(wave[0])) == 200


def test_grid_search_over_levels_works(wave):
    search = GridSearchCV(LocalQuantileRegressor(grid=SMALL), {"quantile": [0.1, 0.5, [0.1, 0.9]]}, cv=2)
    assert np.isfinite(search.fit(*wave).cv_results_["mean_test_score"]).all()


def test_it_is_the_last_step_of_a_pipeline_and_cross_validated(wave, regressor):
    pipeline = make_pipeline(StandardScaler(), regressor.set_params(scaling=None))
    assert cross_val_score(pipeline, *wave, cv=3).mean() > 0.4
    left_out = cross_val_predict(pipeline, *wave, cv=3)
    assert left_out.shape == pipeline.fit(*wave).predict(wave[0]).shape


def test_it_votes_and_takes_transformed_targets(wave):
    X, y = wave
    vote = VotingRegressor([("mean", LocalSVR(grid=SMALL)), ("median", LocalQuantileRegressor(grid=SMALL))])
    assert vote.fit(X, y).score(X, y) > 0.8
    logarithmic = TransformedTargetRegressor(LocalSVR(grid=SMALL), func=np.log, inverse_func=np.exp)
    assert logarithmic.fit(X, np.exp(y)).score(X, np.exp(y)) > 0.8


def test_sample_weight_is_routed_through_pipelines_and_searches(wave, regressor):
    X, y = wave
    weight = np.where(np.arange(len(y)) < 120, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        regressor.set_params(members=1)
        asking = regressor.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), asking)
        routed = clone(pipeline).fit(X, y, sample_weight=weight).predict(X)
        choices = {f"{pipeline.steps[-1][0]}__n_folds": [2, 3]}
        search = GridSearchCV(pipeline, choices, cv=2).fit(X, y, sample_weight=weight)
    by_hand = make_pipeline(StandardScaler(), clone(regressor)).fit(X[:120], y[:120]).predict(X)
    np.testing.assert_allclose(routed, by_hand, atol=0.01)
    assert search.best_score_ > 0.3


def test_warnings_are_raised_where_fit_was_called(wave, regressor):
    edge = Grid(widths=(0.2, 0.1, 0.05), n_lams=3)
    with pytest.warns(GridEdgeWarning) as caught:
        regressor.set_params(grid=edge).fit(*wave)
    assert {warning.filename for warning in caught} == {__file__}
