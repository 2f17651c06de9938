"""Ensembles: members that differ, and predict together."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted import SMALL, frame, numbers, toy
from sklearn.base import clone
from sklearn.metrics import log_loss

from localsvm import InvalidParameter, LocalQuantileRegressor, LocalSVC, LocalSVR
from localsvm.estimators.effort import count_members
from localsvm.estimators.rows import member_rows
from localsvm.model.predict import predict_scores
from localsvm.tasks import Probabilities

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")

ENSEMBLE = {**SMALL, "members": 3, "scaling": "auto"}


@pytest.fixture(scope="module")
def mixed():
    """A classifier of rows with categories and gaps, with what it was fitted to."""
    rows, y = frame(200)
    return LocalSVC(**ENSEMBLE, objective="log_loss", missing="impute").fit(rows, y), rows, y


def test_scores_are_the_weighted_mean_of_the_members(mixed):
    clf, rows, _ = mixed
    weights = [member.weight for member in clf.members_]
    assert sum(weights) == pytest.approx(1) and weights == sorted(weights, reverse=True) and min(weights) > 0
    scores = [
        member.weight * predict_scores(member.model, own)
        for member, own in zip(clf.members_, member_rows(clf, rows).of_members, strict=True)
    ]
    np.testing.assert_allclose(clf.decision_function(rows), np.sum(scores, axis=0)[:, 0], rtol=1e-12, atol=1e-12)
    probability = 1 / (1 + np.exp(-clf.decision_function(rows)))
    np.testing.assert_allclose(clf.predict_proba(rows)[:, 1], probability, rtol=1e-12)
    assert (clf.classes_[clf.predict_proba(rows).argmax(axis=1)] == clf.predict(rows)).all()


def test_the_gradient_is_the_weighted_mean_of_those_of_the_members(mixed):
    clf, rows, _ = mixed
    expected = np.zeros((len(rows), rows.shape[1]))
    for member in clf.members_:
        alone = copy(clf)
        alone.members_ = (replace(member, weight=1.0),)
        expected += member.weight * alone.gradient(rows)
    np.testing.assert_allclose(clf.gradient(rows), expected, rtol=1e-9, atol=1e-12)
    assert (expected[:, rows.columns.get_loc("colour")] == 0).all() and expected[:, 0].any()


def test_the_order_of_rows_and_the_number_of_threads_change_no_bit(mixed):
    clf, rows, y = mixed
    order = np.random.default_rng(0).permutation(len(rows))
    again = clone(clf).set_params(n_jobs=3).fit(rows.iloc[order], y[order])
    np.testing.assert_array_equal(again.predict_proba(rows), clf.predict_proba(rows))


def test_a_weight_is_as_good_as_repeated_rows(mixed):
    clf, rows, y = mixed
    times = np.random.default_rng(1).integers(0, 3, size=len(rows))
    clf = clone(clf).set_params(cell_size=1000)  # which counts rows, not weights
    weighted = clone(clf).fit(rows, y, sample_weight=times)
    repeated = clone(clf).fit(rows.iloc[np.repeat(np.arange(len(rows)), times)], np.repeat(y, times))
    np.testing.assert_array_equal(weighted.predict_proba(rows), repeated.predict_proba(rows))


@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR])
def test_the_first_member_is_the_fit_of_one_member(kind):
    X, y = toy() if kind is LocalSVC else numbers()
    options = {**SMALL, **({"objective": "log_loss"} if kind is LocalSVC else {})}
    one, three = (kind(**{**options, "members": count}).fit(X, y) for count in (1, 3))
    models = [predict_scores(member.model, X) for member in three.members_]
    assert any((scores == predict_scores(one.model_, X)).all() for scores in models)
    assert not all((scores == models[0]).all() for scores in models)


def test_an_ensemble_is_better_than_its_first_member_on_new_rows():
    X, y = toy(1500, 4)
    train, test = slice(0, 700), slice(700, None)
    options = {**SMALL, "cell_size": 150, "objective": "log_loss"}
    one, four = (
        log_loss(y[test], LocalSVC(**{**options, "members": count}).fit(X[train], y[train]).predict_proba(X[test]))
        for count in (1, 4)
    )
    assert four < one


def test_quantiles_may_have_members_too():
    X, y = numbers()
    model = LocalQuantileRegressor(**{**SMALL, "members": 2}, quantile=[0.1, 0.9]).fit(X, y)
    low, high = model.predict(X).T
    assert len(model.members_) == 2 and (low <= high).all()


def test_decisions_stand_alone():
    with pytest.raises(InvalidParameter, match="members=2: the scores of the hinge loss are not averaged"):
        LocalSVC(members=2, objective="accuracy").fit(*toy())


def test_effort_decides_members_and_grid():
    X, y = toy(60)
    best, fast = LocalSVC(effort="best").fit(X, y), LocalSVC(effort="fast").fit(X, y)
    assert best.model_.cells[0].risks.shape == (10, 17) and fast.model_.cells[0].risks.shape == (5, 9)
    assert len(fast.members_) == 1
    rows = pd.DataFrame(X)
    assert len(LocalSVR(effort="fast", members=2).fit(rows, y).members_) <= 2


def test_more_than_100_classes_have_one_member_unless_more_are_asked_for():
    few, many = (Probabilities((1 / count,) * count) for count in (100, 101))
    assert count_members(LocalSVC(), few) == 4
    assert count_members(LocalSVC(), many) == 1
    assert count_members(LocalSVC(members=2), many) == 2
    assert count_members(LocalSVC(effort="best"), many) == 8
