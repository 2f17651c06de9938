"""Evaluation of classifiers, against scikit-learn's metrics."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from cells import blobs
from sklearn import metrics
from sklearn.calibration import calibration_curve

from localsvm import InvalidData, LocalSVC
from localsvm.data import toy_mixture
from localsvm.evaluation import Evaluator

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

NAMES = np.array(["ash", "birch", "cedar", "elm"])
TASKS = {"two classes": 2, "four classes": 4}


@pytest.fixture(scope="module", params=TASKS)
def fitted(request):
    """A classifier, and test rows with labels and weights."""
    n_classes = TASKS[request.param]
    X, y = blobs(1300, n_classes, d=3, noise=1.2)
    labels = NAMES[y.astype(int)]
    clf = LocalSVC(cell_size=80, grid=3).fit(X[:300], labels[:300])
    weight = np.random.default_rng(0).integers(0, 4, size=1000).astype(float)
    return clf, X[300:], labels[300:], weight


def evaluate(estimator, X, y, weight=None, n_blocks=1):
    evaluator = Evaluator(estimator)
    for block in np.array_split(np.arange(len(y)), n_blocks):
        evaluator.add(X[block], y[block], None if weight is None else weight[block])
    return evaluator.result()


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_equal_those_of_scikit_learn(fitted, weighted):
    clf, X, y, weight = fitted
    weight = weight if weighted else np.ones(len(y))
    result = evaluate(clf, X, y, weight)
    found = {measure.name: measure.value for measure in result.measures if measure.of is None}
    predicted, p = clf.predict(X), clf.predict_proba(X)
    by_weight = {"sample_weight": weight}
    expected = {
        "error": metrics.zero_one_loss(y, predicted, **by_weight),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted, **by_weight),
        "log_loss": metrics.log_loss(y, p, **by_weight),
    }
    if p.shape[1] == 2:
        expected["tpr"] = metrics.recall_score(y, predicted, pos_label="birch", **by_weight)
        expected["tnr"] = metrics.recall_score(y, predicted, pos_label="ash", **by_weight)
        expected["tpr_tnr"] = expected["tpr"] * expected["tnr"]
        expected["f1"] = metrics.f1_score(y, predicted, pos_label="birch", **by_weight)
        expected["precision"] = metrics.precision_score(y, predicted, pos_label="birch", **by_weight)
    calibration_error = found.pop("calibration_error")
    assert 0 < calibration_error < 0.2
    expected["accuracy"] = 1 - expected["error"]
    one_hot = y[:, None] == clf.classes_ if p.shape[1] > 2 else y == "birch"
    scores = p if p.shape[1] > 2 else p[:, 1]
    for name, function in (("roc_auc", metrics.roc_auc_score), ("average_precision", metrics.average_precision_score)):
        assert found.pop(name) == pytest.approx(function(one_hot, scores, **by_weight), abs=2e-3)
    assert found == pytest.approx(expected)
    matrix = metrics.confusion_matrix(y, predicted, labels=clf.classes_, **by_weight)
    np.testing.assert_allclose(result.confusion.counts, matrix)
    assert result.n_rows == np.count_nonzero(weight)
    assert result.confusion.labels == tuple(clf.classes_)


def test_intervals_contain_their_values(fitted):
    for measure in evaluate(*fitted[:3]).measures:
        if measure.low is not None:
            assert measure.low < measure.value < measure.high


def test_blocks_give_the_same_result_as_all_rows_at_once(fitted):
    clf, X, y, weight = fitted
    whole, blocks = evaluate(clf, X, y, weight), evaluate(clf, X, y, weight, n_blocks=9)
    for name in ("measures", "reliability", "confusion", "cells", "worst_cells"):
        a, b = (json.loads(json.dumps(asdict(result)[name])) for result in (whole, blocks))
        _same(a, b)


def _same(a, b):
    if isinstance(a, dict):
        for key in a:
            _same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        for left, right in zip(a, b, strict=True):
            _same(left, right)
    else:
        assert a == (pytest.approx(b) if isinstance(b, float) else b)


def test_rows_of_weight_zero_are_ignored(fitted):
    clf, X, y, weight = fitted
    kept = weight > 0
    _same(*(asdict(evaluate(clf, X[rows], y[rows], weight[rows])) for rows in (np.arange(len(y)), kept)))


def test_a_block_of_weight_zero_is_ignored(fitted):
    clf, X, y, _ = fitted
    evaluator = Evaluator(clf)
    evaluator.add(X, y)
    before = evaluator.result()
    evaluator.add(X[:50], y[:50], np.zeros(50))
    evaluator.add(X[:0], y[:0])
    assert evaluator.result() == before


def test_reliability_of_two_classes_is_the_calibration_curve():
    X, y = toy_mixture(3000, 2, random_state=0)
    clf = LocalSVC(grid=3).fit(X[:400], y[:400])
    result = evaluate(clf, X[400:], y[400:])
    p = clf.predict_proba(X[400:])[:, 1]
    observed, predicted = calibration_curve(y[400:], p, n_bins=15, pos_label=1)
    np.testing.assert_allclose([bin.observed for bin in result.reliability], observed)
    np.testing.assert_allclose([bin.predicted for bin in result.reliability], predicted)
    fractions = np.array([bin.share for bin in result.reliability])
    assert fractions.sum() == pytest.approx(1)
    assert result.measure("calibration_error").value == pytest.approx(fractions @ np.abs(observed - predicted))


def test_reliability_of_many_classes_is_that_of_the_predicted_class():
    X, y = blobs(2000, 4, d=2, noise=1.5)
    clf = LocalSVC(grid=3).fit(X[:300], y[:300])
    p = clf.predict_proba(X[300:])
    right = p.argmax(axis=1) == y[300:]
    observed, predicted = calibration_curve(right, p.max(axis=1), n_bins=15)
    result = evaluate(clf, X[300:], y[300:])
    np.testing.assert_allclose([bin.observed for bin in result.reliability], observed)
    np.testing.assert_allclose([bin.predicted for bin in result.reliability], predicted)


def test_an_unknown_label_is_listed_and_counts_as_an_error(fitted):
    clf, X, y, _ = fitted
    strange = y.astype(object)
    strange[:30], strange[30:40] = "oak", "pine"
    result = evaluate(clf, X, strange)
    assert result.confusion.n_unknown == 40
    assert set(result.confusion.unknown_labels) == {"oak", "pine"}
    assert result.measure("error").value == pytest.approx(np.mean(clf.predict(X) != strange))
    known = evaluate(clf, X[40:], y[40:])
    for name in ("log_loss", "balanced_accuracy", "calibration_error"):
        assert result.measure(name).value == pytest.approx(known.measure(name).value)


def test_labels_of_another_type_are_unknown_but_equal_numbers_are_known():
    X, y = toy_mixture(400, 2, random_state=0)
    clf = LocalSVC(grid=2).fit(X[:200], y[:200].astype(int))
    assert evaluate(clf, X[200:], y[200:].astype(float)).confusion.n_unknown == 0
    assert evaluate(clf, X[200:], y[200:].astype(str)).headline.value == 1


def test_the_list_of_unknown_labels_is_bounded(fitted):
    clf, X, _, _ = fitted
    result = evaluate(clf, X, np.array([f"label {row}" for row in range(len(X))]))
    assert result.confusion.n_unknown == len(X)
    assert len(result.confusion.unknown_labels) == 20


def test_undefined_measures_are_omitted():
    X, y = toy_mixture(400, 2, random_state=0)
    clf = LocalSVC(grid=2).fit(X[:200], y[:200])
    result = evaluate(clf, X[200:][y[200:] < 0], y[200:][y[200:] < 0])
    assert result.measure("tpr") is None
    assert result.measure("tpr_tnr") is None
    assert result.measure("tnr").value == pytest.approx(1 - result.headline.value)


def test_an_evaluation_without_rows_is_refused(fitted):
    with pytest.raises(InvalidData, match="no rows to evaluate"):
        Evaluator(fitted[0]).result()


@pytest.mark.parametrize(("y", "match"), [(None, "target y is None"), (["ash"] * 3, "X has 4 rows but y has 3 labels")])
def test_invalid_labels_are_refused(fitted, y, match):
    clf, X, _, _ = fitted
    with pytest.raises(InvalidData, match=match):
        Evaluator(clf).add(X[:4], y)


def test_intervals_of_all_measures_have_their_coverage():
    X, y = toy_mixture(100_000, 2, random_state=0)
    clf = LocalSVC(grid=3, random_state=0).fit(X[:300], y[:300])
    truth = {m.name: m.value for m in evaluate(clf, X[300:], y[300:]).measures if m.low is not None}
    hits = dict.fromkeys(truth, 0)
    samples = np.array_split(np.arange(300, 100_000), 250)
    for rows in samples:
        for measure in evaluate(clf, X[rows], y[rows]).measures:
            if measure.low is not None:
                hits[measure.name] += measure.low <= truth[measure.name] <= measure.high
    # 250 draws at 95 %: four standard errors are 5.5 points.
    assert min(hits.values()) > 0.895 * len(samples), hits
