"""What a fitted estimator says about itself."""

import numpy as np
import pytest
from sklearn.base import clone

import localsvm
from localsvm import Grid, LocalExpectileRegressor, LocalQuantileRegressor, LocalSVC, LocalSVR
from localsvm.data import toy_mixture

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")

SMALL = {"grid": Grid(3, 3), "cell_size": 200}


def flips(n, seed):
    return toy_mixture(n, 3, random_state=seed)


def waves(n, seed):
    X = np.random.default_rng(seed).uniform(size=(n, 3))
    noise = np.random.default_rng(seed + 1).normal(scale=0.3, size=n)
    return X, np.sin(6 * X[:, 0]) + 2 * X[:, 1] + noise


CASES = [
    (LocalSVC(loss="hinge", **SMALL), flips),
    (LocalSVC(objective="log_loss", members=1, **SMALL), flips),
    (LocalSVC(objective="log_loss", members=3, **SMALL), flips),
    (LocalSVC(objective="balanced_accuracy", **SMALL), flips),
    (LocalSVR(members=1, **SMALL), waves),
    (LocalSVR(members=3, **SMALL), waves),
    (LocalQuantileRegressor(quantile=[0.2, 0.8], **SMALL), waves),
    (LocalExpectileRegressor(expectile=0.7, **SMALL), waves),
]


@pytest.mark.parametrize(("estimator", "problem"), CASES, ids=[repr(case[0])[:60] for case in CASES])
def test_the_cross_validated_score_is_that_of_new_samples_and_is_kept_in_files(estimator, problem, tmp_path):
    fitted = clone(estimator).fit(*problem(1200, 0))
    assert fitted.cv_score_ == pytest.approx(fitted.score(*problem(4000, 7)), abs=0.05)
    fitted.save(tmp_path / "model.lsvm")
    again = localsvm.load(tmp_path / "model.lsvm")
    assert (again.cv_score_, again.kernel_, again.scaling_) == (fitted.cv_score_, fitted.kernel_, fitted.scaling_)


def test_class_weights_do_not_enter_the_score():
    X, y = flips(1200, 0)
    rare = (y > 0) & (np.arange(len(y)) % 5 > 0)
    X, y = X[~rare], y[~rare]
    fitted = LocalSVC(class_weight="balanced", loss="hinge", **SMALL).fit(X, y)
    assert fitted.cv_score_ == pytest.approx(fitted.score(X, y), abs=0.05)


def test_another_operating_point_has_another_score():
    clf = LocalSVC(positive_weights=[0.5, 1, 2], **SMALL).fit(*flips(1200, 0))
    careful = clf.at_false_alarm(0.01)
    assert careful.cv_score_ == pytest.approx(careful.score(*flips(4000, 7)), abs=0.05)
    assert careful.cv_score_ < clf.cv_score_


def test_several_classes_have_a_score():
    X, y = waves(900, 0)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    fitted = LocalSVC(loss="hinge", **SMALL).fit(X[:600], labels[:600])
    assert fitted.cv_score_ == pytest.approx(fitted.score(X[600:], labels[600:]), abs=0.08)


@pytest.mark.parametrize("scaling", ["minmax", "standard", "quantile", None])
def test_the_scaling_is_what_was_used(scaling):
    fitted = LocalSVC(scaling=scaling, members=1, **SMALL).fit(*flips(300, 0))
    assert fitted.scaling_ == (scaling or "none")


def test_a_kernel_may_be_called_rbf():
    X, y = flips(300, 0)
    rbf, gauss = (LocalSVC(kernel=kernel, **SMALL).fit(X, y) for kernel in ("rbf", "gauss"))
    assert rbf.kernel_ == "gauss"
    np.testing.assert_array_equal(rbf.decision_function(X), gauss.decision_function(X))


def test_importances_are_relevances_that_sum_to_one():
    X, y = waves(600, 0)
    fitted = LocalSVR(members=1, **SMALL).fit(X, y)
    assert fitted.feature_importances_.sum() == pytest.approx(1)
    np.testing.assert_allclose(fitted.feature_importances_ * 3, fitted.feature_relevance_)
    assert fitted.most_relevant(2)[0] in ("x0", "x1") and "x2" not in fitted.most_relevant(2)


def test_cells_of_all_members_are_a_frame():
    fitted = LocalSVR(members=2, **SMALL).fit(*waves(600, 0))
    frame = fitted.cells_frame()
    assert frame["member"].nunique() == len(fitted.members_)
    own = frame[frame["member"] == 0].drop(columns=["member", "cell", "edge"])
    assert own.to_dict("records") == fitted.cells_


def test_a_notebook_shows_what_was_found():
    X, y = waves(300, 0)
    fitted = LocalSVR(members=1, **SMALL).fit(X, y)
    for page in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert "R2, cross-validated" in page and fitted.kernel_ in page and fitted.scaling_ in page
    assert "cross-validated" not in LocalSVR()._repr_html_()
