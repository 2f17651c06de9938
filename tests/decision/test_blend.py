"""The weights of models that predict together."""

import numpy as np
import pytest

from localsvm.cell.trained import OutOfFold
from localsvm.decision.blend import KeyedScores, blend_models
from localsvm.tasks import Probabilities, Regression
from localsvm.tasks.losses import Squared

NUMBERS = Regression((Squared(),))


def keyed(scores, y, key=None, weight=None):
    n = len(y)
    key = np.arange(n, dtype=np.uint64) if key is None else key
    scores = np.asarray(scores, dtype=np.float32).reshape(n, -1)
    return KeyedScores.of([OutOfFold(scores, y, np.ones(n) if weight is None else weight, key)])


@pytest.fixture
def target():
    return np.random.default_rng(0).normal(size=500)


def noisy(target, size, seed):
    return target + size * np.random.default_rng(seed).normal(size=len(target))


def test_equally_good_models_have_about_equal_weights_and_a_bad_one_none(target):
    models = [keyed(noisy(target, size, seed), target) for seed, size in enumerate((0.5, 0.5, 20.0), 1)]
    weights = blend_models(NUMBERS, models)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights, [0.5, 0.5, 0.0], atol=0.11)


def test_the_blend_is_no_worse_than_the_best_model(target):
    rng = np.random.default_rng(3)
    y = np.where(target > 0, 1.0, -1.0)
    reduction = Probabilities((0.5, 0.5))
    scores = [2 * noisy(target, size, seed) for seed, size in enumerate((0.4, 0.8, 1.2), 5)]
    weight = rng.uniform(0.1, 3, size=len(y))
    weights = blend_models(reduction, [keyed(found, y, weight=weight) for found in scores])

    def risk(found):
        return reduction.risk(y, found[:, None]) @ weight

    mean = sum(share * found for share, found in zip(weights, scores, strict=True))
    assert risk(mean) <= min(risk(found) for found in scores)


def test_rows_are_matched_by_their_keys_in_any_order(target):
    rng = np.random.default_rng(4)
    keys = rng.integers(0, 2**63, size=len(target), dtype=np.uint64)
    first, second = noisy(target, 0.3, 1), noisy(target, 0.6, 2)
    order, present = rng.permutation(len(target)), rng.random(len(target)) < 0.9
    plain = blend_models(NUMBERS, [keyed(first[present], target[present], keys[present]), keyed(second, target, keys)])
    mixed = blend_models(
        NUMBERS,
        [keyed(first[present], target[present], keys[present]), keyed(second[order], target[order], keys[order])],
    )
    np.testing.assert_array_equal(plain, mixed)


def test_a_sample_of_several_cells_has_the_mean_of_its_scores_and_one_without_is_left_out():
    key = np.array([5, 3, 5, 9], dtype=np.uint64)
    found = keyed([[1.0], [2.0], [4.0], [np.nan]], np.array([7.0, 8.0, 7.0, 9.0]), key)
    np.testing.assert_array_equal(found.key, [3, 5])
    np.testing.assert_array_equal(found.scores[:, 0], [2.0, 2.5])
    np.testing.assert_array_equal(found.y, [8.0, 7.0])


def test_without_common_rows_all_models_count_alike(target):
    others = np.arange(1000, 1500, dtype=np.uint64)
    np.testing.assert_array_equal(blend_models(NUMBERS, [keyed(target, target), keyed(target, target, others)]), 0.5)
