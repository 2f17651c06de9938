"""Duplicates of training rows in predictions."""

import numpy as np
import pytest

from localsvm.decision.blend import KeyedScores
from localsvm.decision.duplicates import RowsByHash, are_frequent, find_duplicates
from localsvm.tasks import Probabilities, Regression
from localsvm.tasks.losses import Squared

NUMBERS = Regression((Squared(),))
CLASSES = Probabilities((0.5, 0.5))


def rows_by_hash(place, y, weight=None, seed=0):
    """Rows at places, whose scores say nothing, in any order."""
    n = len(y)
    hashes = (np.asarray(place, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    keys = hashes ^ np.asarray(y).reshape(n, -1)[:, 0].copy().view(np.uint64)
    distinct, first = np.unique(keys, return_index=True)
    scores = KeyedScores(distinct, np.zeros((len(distinct), 1)), y[first], np.ones(len(distinct)))
    weight = np.ones(n) if weight is None else weight
    order = np.random.default_rng(seed).permutation(n)
    return RowsByHash(hashes[order], keys[order], y[order], weight[order], np.ones(n)), scores


def places(spread, n=3000, n_places=300, seed=1):
    """Places with a mean of their own, which deviate by `spread`, and rows that deviate from it by 1."""
    rng = np.random.default_rng(seed)
    mean, place = spread * rng.normal(size=n_places), rng.integers(n_places, size=n)
    return place, mean[place] + rng.normal(size=n)


@pytest.mark.parametrize("spread", [0.5, 1.0, 4.0])
def test_the_strength_is_the_ratio_of_the_variances_in_and_between_places(spread):
    place, y = places(spread)
    rows, scores = rows_by_hash(place, y)
    found = find_duplicates(NUMBERS, rows, scores, seed=0)
    assert found.strength == pytest.approx(1 / spread**2, rel=1.01)
    hashes = np.unique(rows.hashes)
    expected = {h: rows.y[rows.hashes == h].sum() / (found.strength + (rows.hashes == h).sum()) for h in hashes}
    adjusted = found.adjust(NUMBERS, np.zeros((len(hashes) + 1, 1)), np.append(hashes, hashes[0] + np.uint64(1)))
    np.testing.assert_allclose(adjusted[:-1, 0], [expected[h] for h in hashes])
    assert adjusted[-1, 0] == 0, "a row without duplicates keeps its score"


def test_places_that_do_not_differ_are_not_looked_up():
    place, y = places(0.0)
    assert find_duplicates(NUMBERS, *rows_by_hash(place, y), seed=0) is None


def test_probabilities_become_the_rates_of_many_duplicates():
    rng = np.random.default_rng(2)
    rate, place = rng.choice([0.1, 0.5, 0.95], 200), rng.integers(200, size=40_000)
    y = np.where(rng.random(40_000) < rate[place], 1.0, -1.0)
    rows, scores = rows_by_hash(place, y)
    found = find_duplicates(CLASSES, rows, scores, seed=0)
    hashes = (np.arange(200, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    p = CLASSES.probabilities(found.adjust(CLASSES, np.zeros((200, 1)), hashes))[:, 1]
    np.testing.assert_allclose(p, rate, atol=0.12)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_and_duplicates_given_as_weights_change_no_bit(seed):
    place, y = places(1.0)
    y = np.round(y, 1)
    rows, scores = rows_by_hash(place, y)
    expected = find_duplicates(NUMBERS, rows, scores, seed=0)
    merged, count = np.unique(np.column_stack([place, y]), axis=0, return_counts=True)
    for other in (
        rows_by_hash(place, y, seed=seed)[0],
        rows_by_hash(merged[:, 0], merged[:, 1].copy(), count.astype(float), seed)[0],
    ):
        found = find_duplicates(NUMBERS, other, scores, seed=0)
        assert found.strength == expected.strength
        for name in ("hashes", "weight", "totals"):
            assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()


def test_only_whole_weights_count_duplicates():
    hashes = np.arange(100, dtype=np.uint64)
    assert are_frequent(np.repeat(hashes, 2), np.ones(200)) and are_frequent(hashes, np.full(100, 2.0))
    assert not are_frequent(hashes, np.ones(100)) and not are_frequent(np.repeat(hashes, 2), np.full(200, 1.5))
