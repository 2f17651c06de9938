"""Operating points: every threshold tried by brute force, weights, ties, and the bound on false alarms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics

from localsvm.decision.operating_point import SCORES, ScoredSamples, choose, choose_false_alarm, roc_front
from localsvm.errors import InvalidData, InvalidParameter


@st.composite
def samples(draw, most_machines=3):
    n, p = draw(st.integers(2, 25)), draw(st.integers(1, most_machines))
    values = draw(st.lists(st.lists(st.integers(-4, 4), min_size=p, max_size=p), min_size=n, max_size=n))
    y = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n).filter(lambda y: len(set(y)) == 2))
    weight = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return np.array(values) / 2, np.array(y), np.array(weight, dtype=float)


def rates(values, y, weight, threshold):
    called = values >= threshold
    return tuple(weight[called & of_class].sum() / weight[of_class].sum() for of_class in (y < 0, y > 0))


def all_points(values, y, weight):
    """Every (false alarm, detection, machine) that some threshold gives."""
    thresholds = np.append(np.arange(-3, 3, 0.25), [-np.inf, np.inf])
    return [(*rates(v, y, weight, t), m) for m, v in enumerate(values.T) for t in thresholds]


def sklearn_score(score, values, y, weight, point):
    called = np.where(values[:, point.machine] >= point.threshold, 1.0, -1.0)
    if score == "accuracy":
        return metrics.accuracy_score(y, called, sample_weight=weight)
    if score == "balanced_accuracy":
        return metrics.balanced_accuracy_score(y, called, sample_weight=weight)
    if score == "f1":
        return metrics.f1_score(y, called, sample_weight=weight)
    tpr = metrics.recall_score(y, called, sample_weight=weight)
    return tpr * metrics.recall_score(y, called, sample_weight=weight, pos_label=-1)


@given(rows=samples())
@settings(deadline=None)
def test_a_point_tells_the_rates_of_its_threshold(rows):
    left_out = ScoredSamples.of(*rows)
    values, y, weight = rows
    points = [choose(left_out, score) for score in SCORES]
    points += [choose_false_alarm(left_out, 0.3), choose_false_alarm(left_out, 0.3, confidence=0.8)]
    front = roc_front(left_out)
    points += [front[i] for i in range(len(front))]
    for point in points:
        expected = rates(values[:, point.machine], y, weight, point.threshold)
        assert (point.false_alarm, point.detection) == pytest.approx(expected)


@given(rows=samples(), score=st.sampled_from(sorted(SCORES)))
@settings(deadline=None)
def test_the_choice_is_the_middle_of_the_good_thresholds(rows, score):
    values, y, weight = rows
    negative, positive = weight[y < 0].sum(), weight[y > 0].sum()

    def value(false_alarm, detection):
        return float(SCORES[score](np.array(false_alarm), np.array(detection), negative, positive))

    def error(false_alarm, detection):
        f, d = (false_alarm * negative + 0.5) / (negative + 1), (detection * positive + 0.5) / (positive + 1)
        by_f = value(f + np.sqrt(f * (1 - f) / negative), d) - value(f, d)
        by_d = value(f, d + np.sqrt(d * (1 - d) / positive)) - value(f, d)
        return np.sqrt(by_f**2 + by_d**2)

    proposals = []
    for column in values.T:
        levels = sorted(set(column), reverse=True)
        cuts = [rates(column, y, weight, t) for t in [np.inf, *levels]]
        scores = [value(*cut) for cut in cuts]
        best = int(np.argmax(scores))
        good = [i for i, s in enumerate(scores) if s >= scores[best] - error(*cuts[best]) - 1e-12]
        proposals.append(scores[good[len(good) // 2]])
    point = choose(ScoredSamples.of(*rows), score)
    assert sklearn_score(score, values, y, weight, point) == pytest.approx(max(proposals))


@pytest.mark.parametrize("score", sorted(SCORES))
def test_with_many_samples_the_choice_is_as_good_as_the_best(score):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(40_000) < 0.2, 1.0, -1.0)
    values = np.stack([rng.normal(y, 3.0), rng.normal(0.7 * y, 0.8)], axis=1)
    weight = rng.uniform(0.5, 1.5, size=len(y))
    point = choose(ScoredSamples.of(values, y, weight), score)
    best = max(
        float(
            SCORES[score](*map(np.array, rates(values[:, 1], y, weight, t)), weight[y < 0].sum(), weight[y > 0].sum())
        )
        for t in np.linspace(-2, 3, 200)
    )
    assert point.machine == 1
    assert sklearn_score(score, values, y, weight, point) > best - 0.005


@given(rows=samples())
@settings(deadline=None)
def test_the_front_is_what_no_threshold_dominates(rows):
    front = roc_front(ScoredSamples.of(*rows))
    found = list(zip(front.false_alarm.round(9), front.detection.round(9), strict=True))
    points = {(round(f, 9), round(d, 9)) for f, d, _ in all_points(*rows)}
    expected = [p for p in points if not any(q != p and q[0] <= p[0] and q[1] >= p[1] for q in points)]
    assert found == sorted(expected)


@given(rows=samples(), bound=st.sampled_from([0.05, 0.2, 1 / 3, 0.5]))
@settings(deadline=None)
def test_the_most_is_detected_within_the_bound(rows, bound):
    point = choose_false_alarm(ScoredSamples.of(*rows), bound)
    assert point.false_alarm <= bound + 1e-9
    assert point.detection == pytest.approx(max(d for f, d, _ in all_points(*rows) if f <= bound + 1e-9))


@given(rows=samples(most_machines=1), bound=st.sampled_from([0.2, 0.5]), confidence=st.sampled_from([0.6, 0.9]))
@settings(deadline=None, max_examples=50)
def test_the_limit_is_that_of_clopper_and_pearson(rows, bound, confidence):
    _, y, weight = rows
    n = int(weight[y < 0].sum())

    def limit(false_alarm):
        test = binomtest(round(false_alarm * n), n, alternative="less")
        return test.proportion_ci(confidence, method="exact").high

    allowed = [d for f, d, _ in all_points(*rows) if limit(f) <= bound + 1e-9]
    point = choose_false_alarm(ScoredSamples.of(*rows), bound, confidence)
    assert point.detection == pytest.approx(max(allowed, default=0.0))


def test_the_bound_holds_on_new_samples_with_the_stated_confidence():
    rng = np.random.default_rng(1)
    y = np.repeat([-1.0, 1.0], 300)
    broken = 0
    for _ in range(200):
        values = rng.normal(size=(600, 2)) + y[:, None]
        point = choose_false_alarm(ScoredSamples.of(values, y, np.ones(600)), 0.1, confidence=0.9)
        new = rng.normal(size=20_000) - 1
        broken += (new >= point.threshold).mean() > 0.1
    assert broken <= 200 * 0.1 + 3 * np.sqrt(200 * 0.09)


@given(rows=samples())
@settings(deadline=None)
def test_a_weight_is_a_repetition(rows):
    values, y, weight = rows
    times = weight.astype(int)
    once = ScoredSamples.of(*rows)
    repeated = ScoredSamples.of(np.repeat(values, times, axis=0), np.repeat(y, times), np.ones(times.sum()))
    for score in SCORES:
        assert choose(once, score) == choose(repeated, score)
    assert choose_false_alarm(once, 0.25) == choose_false_alarm(repeated, 0.25)
    np.testing.assert_array_equal(roc_front(once).threshold, roc_front(repeated).threshold)


@given(rows=samples(), seed=st.integers(0, 100))
@settings(deadline=None)
def test_the_order_of_rows_changes_nothing(rows, seed):
    order = np.random.default_rng(seed).permutation(len(rows[1]))
    shuffled = ScoredSamples.of(*(part[order] for part in rows))
    for score in SCORES:
        assert choose(ScoredSamples.of(*rows), score) == choose(shuffled, score)


def test_thresholds_lie_between_values_even_of_neighbouring_numbers():
    values = np.array([1.0, np.nextafter(1.0, 2.0), -1e308, 1e308])
    roc = ScoredSamples.of(values, np.array([-1, 1, -1, 1]), np.ones(4)).roc(0)
    called = [int((values >= t).sum()) for t in roc.threshold]
    assert called == [0, 1, 2, 3, 4]


def test_rows_without_a_value_or_weight_do_not_count():
    values, y = np.array([0.0, 1.0, np.nan, 9.0]), np.array([-1.0, 1.0, -1.0, -1.0])
    point = choose_false_alarm(ScoredSamples.of(values, y, np.array([1.0, 1.0, 1.0, 0.0])), 0.1)
    assert (point.threshold, point.false_alarm, point.detection) == (0.5, 0.0, 1.0)


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidData, match="2 are positive and 0 negative"):
        ScoredSamples.of(np.array([0.0, 1.0]), np.ones(2), np.ones(2))
    left_out = ScoredSamples.of(np.array([0.0, 1.0]), np.array([-1.0, 1.0]), np.ones(2))
    with pytest.raises(InvalidParameter, match="score='auc' is not available"):
        choose(left_out, "auc")
    with pytest.raises(InvalidParameter, match="false_alarm=5"):
        choose_false_alarm(left_out, 5)
    with pytest.raises(InvalidParameter, match=r"confidence=1\.5"):
        choose_false_alarm(left_out, 0.05, confidence=1.5)
