"""Decisions for a purpose: objectives on rare classes, bounds on false alarms, and the front to choose from."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score

from localsvm import Grid, InvalidData, InvalidParameter, LocalSVC

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]

SMALL = Grid(n_widths=4, n_lams=4)
KINDS = {
    "one cell": {},
    "voronoi": {"cell_size": 500},
    "chunks": {"cell_size": 500, "partition": "chunks"},
    "overlap": {"cell_size": 500, "partition": "overlap"},
    "retrain, racing": {"refit": "retrain", "search": "racing"},
    "one split": {"n_folds": 1},
    "squares": {"loss": "squared"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def rare(n, seed=0, positives=0.06):
    """A rare class 1 amid a wide class 0."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < positives
    X = np.where(positive[:, None], rng.normal([1.0, 0.0], 0.6, (n, 2)), rng.normal(0.0, 1.0, (n, 2)))
    return X, positive.astype(int)


def rates(y, predicted):
    """False alarms and detection."""
    return predicted[y == 0].mean(), predicted[y == 1].mean()


def tpr_tnr(y, predicted):
    return recall_score(y, predicted) * recall_score(y, predicted, pos_label=0)


OBJECTIVES = {"balanced_accuracy": balanced_accuracy_score, "tpr_tnr": tpr_tnr, "f1": f1_score}
every_objective = pytest.mark.parametrize("objective", OBJECTIVES)


@pytest.fixture(scope="module")
def rows():
    return rare(1500)


@pytest.fixture(scope="module")
def new():
    return rare(8000, seed=1)


@pytest.fixture(scope="module")
def weighted(rows):
    return LocalSVC(grid=SMALL, positive_weights=[1, 4, 16]).fit(*rows)


# --------------------------------------------------------------------------------------- objectives


@every_objective
@every_kind
def test_an_objective_is_served_better_than_by_a_plain_fit(rows, new, objective, kind):
    score = OBJECTIVES[objective]
    plain = LocalSVC(**{"grid": SMALL, "loss": "hinge", **KINDS[kind]}).fit(*rows)
    served = LocalSVC(grid=SMALL, objective=objective, **KINDS[kind]).fit(*rows)
    assert score(new[1], served.predict(new[0])) > score(new[1], plain.predict(new[0])) + 0.1


@every_objective
def test_the_rates_of_the_point_hold_on_new_samples(rows, new, objective):
    clf = LocalSVC(grid=SMALL, objective=objective).fit(*rows)
    point = clf.operating_point_
    assert rates(new[1], clf.predict(new[0])) == pytest.approx((point.false_alarm, point.detection), abs=0.15)


@every_objective
def test_a_point_that_was_chosen_is_on_the_front_or_near_it(rows, objective):
    clf = LocalSVC(grid=SMALL, objective=objective).fit(*rows)
    point, front = clf.operating_point_, clf.roc_front_
    within = front.false_alarm <= point.false_alarm + 1e-9
    assert point.detection <= front.detection[within].max() + 1e-9
    assert point.detection >= front.detection[within].max() - 0.1


def test_the_sign_of_decision_values_decides_at_any_threshold(rows, new):
    for parameters in ({"objective": "f1"}, {"false_alarm": 0.05}, {"positive_weights": [3, 30]}):
        clf = LocalSVC(grid=SMALL, **parameters).fit(*rows)
        values = clf.decision_function(new[0])
        assert values.shape == (len(new[0]),)
        np.testing.assert_array_equal(clf.predict(new[0]), (values >= 0).astype(int))


def test_accuracy_is_the_plain_fit_to_the_bit(rows, new):
    plain, asked = LocalSVC(grid=SMALL, loss="hinge").fit(*rows), LocalSVC(grid=SMALL, objective="accuracy").fit(*rows)
    np.testing.assert_array_equal(plain.decision_function(new[0]), asked.decision_function(new[0]))
    assert not hasattr(asked, "operating_point_") and not hasattr(asked, "roc_front_")


def test_a_plain_fit_after_another_has_no_point_of_it(rows):
    clf = LocalSVC(grid=SMALL, objective="f1").fit(*rows)
    assert hasattr(clf, "operating_point_")
    clf.set_params(objective="accuracy").fit(*rows)
    assert not hasattr(clf, "operating_point_") and not hasattr(clf, "roc_front_")


def test_labels_may_be_of_any_type(rows):
    X, y = rows
    clf = LocalSVC(grid=SMALL, objective="balanced_accuracy").fit(X, np.array(["ham", "spam"])[y])
    assert recall_score(y, clf.predict(X) == "spam") > 0.6


# ------------------------------------------------------------------------------ bounds, Neyman-Pearson


@pytest.mark.parametrize("bound", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("kind", [*(kind for kind in KINDS if "retrain" not in kind), "racing"])
def test_false_alarms_stay_within_their_bound_on_new_samples(rows, new, kind, bound):
    clf = LocalSVC(grid=SMALL, false_alarm=bound, **KINDS.get(kind, {"search": "racing"})).fit(*rows)
    false_alarm, _ = rates(new[1], clf.predict(new[0]))
    # Three standard errors of the rate among the new samples.
    assert false_alarm <= bound + 3 * np.sqrt(bound * (1 - bound) / (new[1] == 0).sum())
    assert clf.operating_point_.false_alarm <= bound


# Of twenty draws one may break the bound; five or more do once in four hundred times. The threshold of a retrained
# solution is that of the solutions of the folds, which have seen fewer samples.
@pytest.mark.parametrize(("refit", "most_broken"), [("combine", 4), ("retrain", 6)])
def test_the_bound_holds_for_most_draws_of_the_training_samples(new, refit, most_broken):
    broken = 0
    for seed in range(20):
        data = rare(400, seed=10 + seed, positives=0.3)
        clf = LocalSVC(grid=SMALL, false_alarm=0.1, n_folds=3, refit=refit).fit(*data)
        broken += rates(new[1], clf.predict(new[0]))[0] > 0.1
    assert broken <= most_broken


def test_a_looser_bound_detects_more(rows, new):
    detected = [
        rates(new[1], LocalSVC(grid=SMALL, false_alarm=bound).fit(*rows).predict(new[0]))[1]
        for bound in (0.02, 0.1, 0.4)
    ]
    assert detected == sorted(detected)
    assert detected[0] < detected[-1] - 0.3


def test_a_bound_that_nothing_keeps_is_kept_by_never_alarming():
    X, y = rare(60, positives=0.5)
    clf = LocalSVC(grid=SMALL, false_alarm=0.001).fit(X, y)
    assert (clf.operating_point_.false_alarm, clf.operating_point_.detection) == (0, 0)
    assert np.isfinite(clf.operating_point_.threshold)
    assert not clf.predict(X).any()
    assert (clf.predict_proba(X)[:, 0] > 0.5).all()


@pytest.mark.parametrize("class_weight", ["balanced", {0: 10.0, 1: 1.0}], ids=["balanced", "ten to one"])
def test_class_weights_do_not_move_the_bound(new, class_weight):
    # One draw in twenty is above the bound by a tenth of it; their mean has to keep it.
    clf = LocalSVC(grid=SMALL, false_alarm=0.1, class_weight=class_weight)
    assert np.mean([rates(new[1], clf.fit(*rare(1500, seed)).predict(new[0]))[0] for seed in range(2, 14)]) <= 0.1


# ----------------------------------------------------------------------------------- fronts, solutions


def test_the_front_ascends_in_false_alarms_and_detection(weighted):
    front = weighted.roc_front_
    assert len(front) > 10
    assert (np.diff(front.false_alarm) > 0).all() and (np.diff(front.detection) > 0).all()
    assert front.detection[-1] == 1
    assert set(front.machine) <= {0, 1, 2}
    assert (front[3].false_alarm, front[3].machine) == (front.false_alarm[3], front.machine[3])


@pytest.mark.parametrize("bound", [0.02, 0.1, 0.5])
def test_another_point_shares_the_solutions_and_does_not_change_the_first(rows, new, weighted, bound):
    before = weighted.decision_function(new[0])
    moved = weighted.at_false_alarm(bound)
    assert moved is not weighted and isinstance(moved, LocalSVC)
    assert all(a is b for a, b in zip(moved.model_.cells, weighted.model_.cells, strict=True))
    np.testing.assert_array_equal(weighted.decision_function(new[0]), before)
    assert rates(new[1], moved.predict(new[0]))[0] <= bound + 0.02
    np.testing.assert_array_equal(moved.predict_proba(new[0]).argmax(axis=1), moved.predict(new[0]))
    assert moved.roc_front_ is weighted.roc_front_


def test_a_point_is_that_of_a_fit_with_the_bound(rows, new, weighted):
    fitted = LocalSVC(grid=SMALL, positive_weights=[1, 4, 16], false_alarm=0.1).fit(*rows)
    moved = weighted.at_false_alarm(0.1)
    assert moved.operating_point_ == fitted.operating_point_
    np.testing.assert_array_equal(moved.decision_function(new[0]), fitted.decision_function(new[0]))
    np.testing.assert_array_equal(moved.predict_proba(new[0]), fitted.predict_proba(new[0]))


def test_points_can_be_moved_again_and_pickled(new, weighted):
    direct, twice = weighted.at_false_alarm(0.3), weighted.at_false_alarm(0.01).at_false_alarm(0.3)
    again = pickle.loads(pickle.dumps(weighted)).at_false_alarm(0.3)
    for clf in (twice, again):
        np.testing.assert_array_equal(clf.decision_function(new[0]), direct.decision_function(new[0]))


def test_a_clone_of_a_moved_classifier_is_that_of_the_first(weighted):
    assert repr(clone(weighted.at_false_alarm(0.3))) == repr(clone(weighted))


def test_records_have_a_width_for_every_solution_that_is_kept(rows, weighted):
    assert np.ndim(weighted.cells_[0]["width"]) == 0 or len(weighted.cells_[0]["width"]) == 3
    assert weighted.model_.cells[0].functions.constants.shape == (3,)
    # Without positive_weights only the chosen solution is kept.
    clf = LocalSVC(grid=SMALL, objective="f1").fit(*rows)
    assert clf.model_.cells[0].functions.constants.shape == (1,)


# --------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize(
    "parameters", [{"objective": "f1"}, {"false_alarm": 0.1}, {"positive_weights": [1, 5]}], ids=repr
)
@pytest.mark.parametrize("kind", ["one cell", "voronoi", "chunks"])
def test_order_of_rows_and_threads_change_no_bit(new, kind, parameters):
    X, y = rare(400, positives=0.2)
    options = {"grid": SMALL, **KINDS[kind], **parameters} | ({"cell_size": 150} if kind != "one cell" else {})
    order = np.random.default_rng(0).permutation(len(y))
    one = LocalSVC(n_jobs=1, **options).fit(X, y)
    two = LocalSVC(n_jobs=3, **options).fit(X[order], y[order])
    assert one.operating_point_ == two.operating_point_
    np.testing.assert_array_equal(one.roc_front_.detection, two.roc_front_.detection)
    np.testing.assert_array_equal(one.decision_function(new[0]), two.decision_function(new[0]))


def test_an_integer_weight_is_a_repetition(new):
    X, y = rare(300, positives=0.2)
    counts = np.random.default_rng(1).integers(0, 4, size=300)
    clf = LocalSVC(grid=SMALL, objective="balanced_accuracy")
    weighted = clone(clf).fit(X, y, sample_weight=counts)
    repeated = clone(clf).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.operating_point_ == repeated.operating_point_
    np.testing.assert_array_equal(weighted.decision_function(new[0]), repeated.decision_function(new[0]))


# ----------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "parameters", [{"objective": "f1"}, {"false_alarm": 0.1}, {"positive_weights": [1, 2]}], ids=repr
)
def test_more_than_two_classes_are_refused_before_work_starts(rows, no_work, parameters):
    with pytest.raises(InvalidParameter, match=r"are for two classes, but y has 3\. .*class_weight='balanced'"):
        LocalSVC(**parameters).fit(rows[0], np.arange(len(rows[0])) % 3)


def test_another_point_needs_several_solutions_and_a_bound(rows, weighted):
    with pytest.raises(InvalidParameter, match=r"fit with positive_weights=\[\.\.\.\]"):
        LocalSVC(grid=SMALL, objective="f1").fit(*rows).at_false_alarm(0.1)
    for bound in (0, 1, -1, "0.1", None, np.nan, True):
        with pytest.raises(InvalidParameter, match=r"false_alarm=.*: a number between 0 and 1 is needed"):
            weighted.at_false_alarm(bound)
    with pytest.raises(NotFittedError, match="This LocalSVC instance is not fitted yet"):
        LocalSVC(positive_weights=[1, 2]).at_false_alarm(0.1)


def test_too_few_out_of_fold_samples_are_refused_with_their_numbers():
    # Equal rows are never out of fold.
    with pytest.raises(InvalidData, match="out-of-fold samples of both classes, but 0 are positive and 0 negative"):
        LocalSVC(grid=SMALL, objective="f1").fit(np.ones((6, 2)), [0, 1] * 3)


@pytest.mark.filterwarnings("ignore::localsvm.RareClassWarning")
def test_a_class_of_one_sample_has_a_point_too():
    X, y = rare(60, positives=0.0)
    y[17] = 1
    clf = LocalSVC(grid=SMALL, objective="balanced_accuracy").fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()
    assert 0 <= clf.operating_point_.false_alarm <= 1
