"""LocalSVC is a full scikit-learn citizen."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from localsvm import Grid, GridEdgeWarning, LocalSVC
from localsvm.data import toy_bayes_error, toy_mixture

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

SMALL = Grid(n_widths=4, n_lams=4)


@pytest.fixture(scope="module")
def toy():
    return toy_mixture(300, 3, random_state=0)


@pytest.fixture(scope="module")
def fitted(toy):
    return LocalSVC(grid=SMALL).fit(*toy)


@parametrize_with_checks(
    [
        LocalSVC(),
        LocalSVC(grid=2, partition="none", n_folds=1, refit="retrain"),
        LocalSVC(grid=2, kernel="laplace", multiclass="ovr", scaling="standard", search="racing"),
        LocalSVC(grid=2, loss="squared", scaling="quantile", missing="impute"),
        LocalSVC(grid=2, scaling=None, n_jobs=1),
    ]
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def beyond_small_cells(estimator):
    """What the checks ask for that many small cells cannot do, and why."""
    found = {}
    if estimator.cell_size != "auto":
        found |= {
            f"check_sample_weight_equivalence_on_{kind}_data": "cell_size counts rows" for kind in ("dense", "sparse")
        }
    if estimator.partition in ("overlap", "radius"):
        found["check_class_weight_classifiers"] = "folds of a few rows may have no row of the class that has the weight"
    if estimator.objective == "accuracy":
        found["check_class_weight_classifiers"] = "a cell of one class predicts it whatever the weights"
        found["check_decision_proba_consistency"] = (
            "every cell has probabilities of its own: ranks differ between cells"
        )
    return found


@parametrize_with_checks(
    [
        LocalSVC(grid=2, cell_size=20),
        LocalSVC(grid=2, cell_size=20, partition="chunks"),
        LocalSVC(grid=2, cell_size=20, partition="overlap"),
        LocalSVC(grid=2, partition="radius", cell_radius=0.3),
        LocalSVC(grid=2, cell_size=20, objective="accuracy"),
    ],
    expected_failed_checks=beyond_small_cells,
)
def test_the_checks_pass_with_the_few_rows_of_a_check_in_several_cells(estimator, check):
    check(estimator)


def test_a_pickled_classifier_predicts_the_same_bits(toy, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(toy[0]), fitted.decision_function(toy[0]))
    assert again.cells_ == fitted.cells_


def test_a_clone_has_the_parameters_and_nothing_fitted(fitted):
    copy = clone(fitted)
    assert repr(copy.get_params()) == repr(fitted.get_params())
    assert not hasattr(copy, "model_")


def test_fitting_does_not_change_parameters_or_data(toy):
    X, y = toy[0].copy(), toy[1].copy()
    clf = LocalSVC(grid=SMALL, class_weight={-1: 2.0, 1: 1.0})
    before = repr(clf.get_params())
    clf.fit(X, y, sample_weight=np.ones(len(y)))
    assert repr(clf.get_params()) == before
    np.testing.assert_array_equal(X, toy[0])
    np.testing.assert_array_equal(y, toy[1])


def test_repr_shows_only_parameters_that_differ_from_their_default():
    assert repr(LocalSVC(n_folds=3)) == "LocalSVC(n_folds=3)"


def test_html_repr_names_the_estimator(fitted):
    assert "LocalSVC" in estimator_html_repr(fitted)


def test_tags_are_those_of_a_classifier_of_dense_and_sparse_data_with_any_number_of_classes():
    tags = get_tags(LocalSVC())
    assert is_classifier(LocalSVC())
    assert tags.classifier_tags.multi_class
    assert not tags.classifier_tags.multi_label
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert get_tags(LocalSVC(missing="impute")).input_tags.allow_nan
    assert tags.target_tags.required


def test_set_output_does_not_exist_on_a_classifier():
    assert not hasattr(LocalSVC(), "set_output")


def test_feature_names_of_a_data_frame_are_kept_and_compared(toy):
    X, y = toy
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = LocalSVC(grid=SMALL).fit(frame, y)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[["c", "b", "a"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        clf.predict(X)


def test_arrays_have_no_feature_names(fitted):
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.n_features_in_ == 3


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ham", "spam"]),
        np.array(["ham", "spam"], dtype=object),
        np.array([False, True]),
        np.array([1.0, 2.0]),
        np.array([-7, 40], dtype=np.int8),
        np.array([3, 250], dtype=np.uint8),
    ],
    ids=["str", "object", "bool", "float", "int8", "uint8"],
)
def test_labels_of_any_type_come_back_as_they_went_in(toy, fitted, labels):
    X, y = toy
    clf = LocalSVC(grid=SMALL).fit(X, labels[(y > 0).astype(int)])
    np.testing.assert_array_equal(clf.classes_, labels)
    assert clf.classes_.dtype == labels.dtype
    predicted = clf.predict(X)
    assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(predicted, labels[(fitted.predict(X) > 0).astype(int)])


def test_labels_may_be_a_pandas_series_of_categories(toy, fitted):
    X, y = toy
    series = pd.Series(np.where(y > 0, "yes", "no"), dtype="category")
    predicted = LocalSVC(grid=SMALL).fit(X, series).predict(X)
    np.testing.assert_array_equal(predicted == "yes", fitted.predict(X) == 1)


def test_decision_values_are_positive_where_the_second_class_is_predicted(toy, fitted):
    values = fitted.decision_function(toy[0])
    assert values.shape == (300,)
    np.testing.assert_array_equal(fitted.predict(toy[0]), np.where(values >= 0, 1, -1))


def test_exchanging_the_labels_exchanges_the_predictions(toy, fitted):
    X, y = toy
    negated = LocalSVC(grid=SMALL).fit(X, -y)
    agree = negated.predict(X) == -fitted.predict(X)
    assert agree.mean() > 0.95


def test_fitted_attributes_are_those_of_the_documentation(toy, fitted):
    assert fitted.n_cells_ == 1
    (cell,) = fitted.cells_
    assert set(cell) == {"size", "radius", "width", "lam", "cv_risk", "support_vectors"}
    assert cell["size"] == 300
    assert 0 < cell["support_vectors"] <= 300
    assert 0 < cell["cv_risk"] < 0.5
    assert cell["width"] > 0 and cell["lam"] > 0


def test_it_learns_the_toy_problem():
    X, y = toy_mixture(1500, 2, random_state=1)
    error = 1 - LocalSVC().fit(X[:500], y[:500]).score(X[500:], y[500:])
    assert error < toy_bayes_error(2) + 0.04


def test_grid_search_over_its_parameters_works(toy):
    choices = {"cell_size": [500, 1000], "n_folds": [2, 4]}
    search = GridSearchCV(LocalSVC(grid=SMALL), choices, cv=2).fit(*toy)
    assert set(search.best_params_) == {"cell_size", "n_folds"}
    assert search.best_score_ > 0.7
    assert search.predict(toy[0]).shape == (300,)


def test_it_is_the_last_step_of_a_pipeline(toy):
    pipeline = make_pipeline(StandardScaler(), LocalSVC(grid=SMALL, scaling=None)).fit(*toy)
    assert pipeline.score(*toy) > 0.8
    assert pipeline[-1].n_features_in_ == 3


def test_cross_val_score_scores_by_decision_values_too(toy):
    clf = LocalSVC(grid=SMALL)
    assert cross_val_score(clf, *toy, cv=3).mean() > 0.75
    assert cross_val_score(clf, *toy, cv=3, scoring="roc_auc").mean() > 0.8


def test_worker_processes_can_fit_it(toy):
    one = cross_val_score(LocalSVC(grid=SMALL, n_jobs=1), *toy, cv=2)
    two = cross_val_score(LocalSVC(grid=SMALL, n_jobs=1), *toy, cv=2, n_jobs=2)
    np.testing.assert_array_equal(one, two)


def test_it_can_be_calibrated_and_be_one_against_the_rest(toy):
    X, y = toy
    calibrated = CalibratedClassifierCV(LocalSVC(grid=SMALL), cv=2).fit(X, y)
    assert roc_auc_score(y, calibrated.predict_proba(X)[:, 1]) > 0.8
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    assert OneVsRestClassifier(LocalSVC(grid=SMALL)).fit(X, three).score(X, three) > 0.9


def test_probabilities_are_cross_validated_searched_by_and_voted_with(toy):
    X, y = toy
    clf = LocalSVC(grid=SMALL)
    left_out = cross_val_predict(clf, X, y, cv=3, method="predict_proba")
    assert left_out.shape == (300, 2)
    assert log_loss(y, left_out) < log_loss(y, np.full(300, (y > 0).mean()))
    search = GridSearchCV(clf, {"cell_size": [60, 300]}, cv=2, scoring="neg_log_loss").fit(X, y)
    assert -search.best_score_ < 0.65
    vote = VotingClassifier([("svm", clf), ("line", LogisticRegression())], voting="soft").fit(X, y)
    np.testing.assert_array_equal(vote.classes_[vote.predict_proba(X).argmax(axis=1)], vote.predict(X))
    assert vote.score(X, y) > 0.7


def test_parameters_that_are_got_can_be_set(fitted):
    given = LocalSVC(objective="f1", positive_weights=[1, 2], grid=SMALL, cell_size=70)
    again = LocalSVC().set_params(**given.get_params())
    assert repr(again) == repr(given)
    assert again.get_params() == given.get_params()


def test_predictions_are_those_of_the_fit_when_parameters_are_set_later(toy):
    X, y = toy
    clf = LocalSVC(grid=SMALL, positive_weights=[1, 3]).fit(X, y)
    before = clf.decision_function(X)
    clf.set_params(multiclass="ovr", loss="squared", kernel="laplace", positive_weights=None, missing="impute")
    np.testing.assert_array_equal(clf.decision_function(X), before)


def test_sample_weight_is_routed_through_pipelines_and_cross_validation(toy):
    X, y = toy
    weight = np.where(np.arange(len(y)) < 200, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = LocalSVC(grid=SMALL).set_fit_request(sample_weight=True)
        clf = clf.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), clf)
        routed = pipeline.fit(X, y, sample_weight=weight)
        scores = cross_validate(pipeline, X, y, cv=2, params={"sample_weight": weight})
    by_hand = make_pipeline(StandardScaler(), LocalSVC(grid=SMALL)).fit(X[:200], y[:200])
    np.testing.assert_allclose(routed.decision_function(X), by_hand.decision_function(X), rtol=1e-4, atol=1e-5)
    assert (scores["test_score"] > 0.7).all()


def test_a_request_that_was_not_made_is_an_error(toy):
    X, y = toy
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"),
    ):
        scorer = make_scorer(roc_auc_score, response_method="decision_function")
        weights = {"sample_weight": np.ones(len(y))}
        cross_validate(LocalSVC(grid=SMALL), X, y, scoring=scorer, params=weights)


def test_warnings_are_raised_where_fit_was_called(toy):
    edge = Grid(widths=(1e-3, 1e-2, 2e-2), n_lams=3)
    with pytest.warns(GridEdgeWarning) as caught:
        LocalSVC(grid=edge).fit(*toy)
    assert {warning.filename for warning in caught} == {__file__}
