"""Areas under curves agree with scikit-learn's, and their intervals cover."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from localsvm import LocalSVC
from localsvm.evaluation import Evaluator
from localsvm.evaluation.ranking import RankTally


def scored(n, seed, shift=1.0):
    random = np.random.default_rng(seed)
    y = random.random(n) < 0.3
    return 1 / (1 + np.exp(-random.normal(loc=shift * y))), y


def tally(probability, y, weight=None):
    found = RankTally()
    found.add(probability, y, np.ones(len(y)) if weight is None else weight)
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_areas_are_those_of_scikit_learn(weighted):
    p, y = scored(3000, 0)
    weight = np.random.default_rng(1).uniform(0.2, 3, size=3000) if weighted else np.ones(3000)
    found = tally(p, y, weight)
    assert found.roc_auc().value == pytest.approx(roc_auc_score(y, p, sample_weight=weight), abs=1e-4)
    expected = average_precision_score(y, p, sample_weight=weight)
    assert found.average_precision().value == pytest.approx(expected, abs=1e-3)


def test_intervals_cover_the_area_of_many_rows():
    auc, precision = (f(*scored(200_000, 99)[::-1]) for f in (roc_auc_score, average_precision_score))
    found = [tally(*scored(300, seed)) for seed in range(200)]
    for name, truth in (("roc_auc", auc), ("average_precision", precision)):
        ends = [getattr(one, name)() for one in found]
        covered = np.mean([end.low <= truth <= end.high for end in ends])
        assert 0.88 <= covered <= 1.0


def test_perfect_and_certain_probabilities_have_an_interval():
    y = np.arange(40) < 15
    found = tally(y.astype(float), y).roc_auc()
    assert found.value == 1.0 and 0.7 < found.low < found.high == 1.0


def test_an_evaluation_has_the_measures_of_each_class():
    X = np.random.default_rng(0).normal(size=(900, 2))
    y = np.array(["cold", "mild", "warm"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    clf = LocalSVC(grid=3).fit(X[:500], y[:500])
    evaluator = Evaluator(clf)
    for part in (slice(500, 600), slice(600, 900)):
        evaluator.add(X[part], y[part])
    result = evaluator.result()
    truth, guess, p = y[500:], clf.predict(X[500:]), clf.predict_proba(X[500:])
    precision, recall, _, _ = precision_recall_fscore_support(truth, guess, labels=clf.classes_)
    for number, label in enumerate(clf.classes_):
        assert result.measure("recall", label).value == pytest.approx(recall[number])
        assert result.measure("precision", label).value == pytest.approx(precision[number])
    assert result.measure("roc_auc").value == pytest.approx(roc_auc_score(truth, p, multi_class="ovr"), abs=1e-3)
    accuracy = result.measure("accuracy")
    assert accuracy.value == pytest.approx(np.mean(truth == guess))
    assert accuracy.low < accuracy.value < accuracy.high
