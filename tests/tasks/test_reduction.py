"""How classes, targets and levels become scalar problems, and how their outputs are scored together."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localsvm.tasks import Binary, Levels, OneVsOne, OneVsRest, Regression
from localsvm.tasks.losses import Expectile, Pinball, Squared

n_classes = st.integers(2, 7)
seeds = st.integers(0, 2**32 - 1)
every_multiclass = pytest.mark.parametrize("kind", [OneVsOne, OneVsRest])


def draw_classes(rng, k, n=20):
    """Samples of some of k classes."""
    present = np.sort(rng.choice(k, size=rng.integers(1, k + 1), replace=False))
    y = rng.choice(present, size=n).astype(float)
    return y, rng.uniform(0.1, 3.0, size=n)


def any_values(reduction, y, weight, rng, n_points=50):
    """Outputs as cells make them: any number for a problem, the constant where there is none, clipped at the bounds."""
    values = np.tile(reduction.constants(y, weight), (n_points, 1))
    for problem in reduction.problems(y, weight):
        values[:, problem.output] = rng.normal(scale=3.0, size=n_points)
    return np.clip(values, *reduction.bounds(y).T)


# ------------------------------------------------------------------------------------- many classes


@every_multiclass
@given(k=n_classes, seed=seeds)
@settings(deadline=None)
def test_a_class_that_a_cell_has_not_seen_never_wins(kind, k, seed):
    rng = np.random.default_rng(seed)
    reduction = kind(k)
    y, weight = draw_classes(rng, k)
    scores = reduction.scores(any_values(reduction, y, weight, rng))
    assert scores.shape == (50, reduction.n_scores)
    assert np.isin(scores.argmax(axis=1), y).all()


@every_multiclass
@pytest.mark.parametrize("present", [0, 1, 2])
def test_not_even_where_all_functions_predict_against_their_class(kind, present):
    reduction = kind(4)
    y = np.repeat(np.delete(np.arange(4.0), present), 5)
    values = reduction.constants(y, np.ones(15))[None, :]
    for problem in reduction.problems(y, np.ones(15)):
        values[0, problem.output] = -1e6
    scores = reduction.scores(np.clip(values, *reduction.bounds(y).T))
    assert scores.argmax() != present


@every_multiclass
@given(k=n_classes, seed=seeds)
@settings(deadline=None)
def test_constants_predict_the_class_of_largest_weight(kind, k, seed):
    y, weight = draw_classes(np.random.default_rng(seed), k)
    reduction = kind(k)
    mass = np.array([weight[y == c].sum() for c in range(k)])
    (scores,) = reduction.scores(reduction.constants(y, weight)[None, :])
    assert mass[scores.argmax()] == pytest.approx(mass.max())


@every_multiclass
def test_of_classes_of_equal_weight_the_first_is_predicted(kind):
    y = np.array([2.0, 1.0, 3.0])
    reduction = kind(5)
    assert reduction.scores(reduction.constants(y, np.ones(3))[None, :]).argmax() == 1


@every_multiclass
@given(k=n_classes, seed=seeds)
@settings(deadline=None)
def test_there_are_problems_for_the_classes_of_the_cell_only(kind, k, seed):
    rng = np.random.default_rng(seed)
    y, weight = draw_classes(rng, k)
    reduction = kind(k)
    problems = reduction.problems(y, weight)
    present = np.unique(y)
    if kind is OneVsOne:
        expected = [reduction.pairs.index(pair) for pair in combinations(present.astype(int), 2)]
    else:
        expected = present.astype(int).tolist() if len(present) > 1 else []
    assert [problem.output for problem in problems] == expected
    for problem in problems:
        rows = np.arange(len(y)) if problem.rows is None else problem.rows
        assert set(problem.y) == {-1.0, 1.0}
        np.testing.assert_array_equal(problem.weight, weight[rows])
        assert (np.diff(rows) > 0).all()


@every_multiclass
@given(k=n_classes, seed=seeds)
@settings(deadline=None)
def test_no_sample_is_in_more_problems_than_is_planned_for(kind, k, seed):
    y, weight = draw_classes(np.random.default_rng(seed), k)
    reduction = kind(k)
    problems = reduction.problems(y, weight)
    in_problems = np.zeros(len(y), dtype=int)
    for problem in problems:
        in_problems[slice(None) if problem.rows is None else problem.rows] += 1
    assert in_problems.max() <= reduction.columns_per_row
    assert reduction.has_parts or all(problem.rows is None for problem in problems)


@every_multiclass
def test_the_risk_is_one_where_another_class_scores_most(kind):
    scores = np.array([[0.1, 0.2, 0.0], [0.3, 0.2, 0.0], [0.2, 0.2, 0.2]])
    np.testing.assert_array_equal(kind(3).risk(np.array([1.0, 1.0, 0.0]), scores), [0, 1, 0])
    np.testing.assert_array_equal(kind(3).risk(np.array([1.0, 0.0, 2.0]), scores), [0, 0, 1])


@given(k=n_classes, seed=seeds)
@settings(deadline=None)
def test_the_score_of_a_class_is_nine_tenths_its_least_value_and_one_tenth_the_mean(k, seed):
    reduction = OneVsOne(k)
    values = np.random.default_rng(seed).uniform(-1, 1, size=(7, reduction.n_outputs))
    scores = reduction.scores(values)
    for row, value in enumerate(values):
        for c in range(k):
            own = [
                f if a == c else -f for f, (a, b) in zip(value, combinations(range(k), 2), strict=True) if c in (a, b)
            ]
            assert scores[row, c] == pytest.approx(0.9 * min(own) + 0.1 * np.mean(own), abs=1e-12)
    assert (np.abs(scores) <= 1 + 1e-12).all()


@given(k=st.integers(3, 6), seed=seeds)
@settings(deadline=None)
def test_of_classes_that_beat_each_other_in_a_circle_one_of_the_cell_is_predicted(k, seed):
    """Each of them has a rival of value 1, as absent classes have; the mean separates them."""
    reduction = OneVsOne(k + 3)
    present = np.random.default_rng(seed).permutation(k + 3)[:k]
    values = reduction.constants(present.astype(float), np.ones(k))
    for a, b in zip(present, np.roll(present, 1), strict=True):
        values[reduction.pairs.index((min(a, b), max(a, b)))] = 1.0 if a < b else -1.0
    assert reduction.scores(values[None, :]).argmax() in present


@given(k=st.integers(3, 6), seed=seeds)
@settings(deadline=None)
def test_a_class_that_wins_all_its_pairs_is_predicted(k, seed):
    rng = np.random.default_rng(seed)
    reduction, winner = OneVsOne(k), int(rng.integers(k))
    values = rng.uniform(-1, 1, size=(1, reduction.n_outputs))
    for output, pair in enumerate(reduction.pairs):
        if winner in pair:
            values[0, output] = 1.0 if pair[0] == winner else -1.0
    assert reduction.scores(values).argmax() == winner


def test_pairs_of_three_classes_by_hand():
    y = np.array([2.0, 0.0, 1.0, 0.0])
    first, second, third = OneVsOne(3).problems(y, np.arange(1.0, 5.0))
    assert (first.rows.tolist(), first.y.tolist(), first.weight.tolist()) == ([1, 2, 3], [1, -1, 1], [2, 3, 4])
    assert (second.rows.tolist(), second.y.tolist()) == ([0, 1, 3], [-1, 1, 1])
    assert (third.rows.tolist(), third.y.tolist()) == ([0, 2], [-1, 1])


# -------------------------------------------------------------------------------------- two classes


SIGNS = np.array([1.0, -1.0, -1.0, 1.0, -1.0])


@pytest.mark.parametrize("factor", [0.25, 1.0, 3.0])
def test_a_factor_weighs_the_positive_samples(factor):
    weight = np.arange(1.0, 6.0)
    (problem,) = Binary(factors=(factor,)).problems(SIGNS, weight)
    np.testing.assert_array_equal(problem.weight, weight * np.where(SIGNS > 0, factor, 1))
    np.testing.assert_array_equal(problem.y, SIGNS)
    assert problem.rows is None


def test_every_factor_has_a_function_and_a_score():
    reduction = Binary(factors=(0.1, 1.0, 10.0))
    assert [problem.output for problem in reduction.problems(SIGNS, np.ones(5))] == [0, 1, 2]
    assert reduction.n_outputs == reduction.n_scores == reduction.columns_per_row == 3
    values = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_array_equal(reduction.scores(values), values)


@given(seed=seeds, factor=st.sampled_from([0.5, 1.0, 2.0]))
@settings(deadline=None)
def test_the_constant_of_two_classes_has_the_lowest_weighted_error(seed, factor):
    rng = np.random.default_rng(seed)
    y, weight = rng.choice([-1.0, 1.0], size=9), rng.integers(1, 4, size=9).astype(float)
    (constant,) = Binary(factors=(factor,)).constants(y, weight)
    positive, negative = factor * weight[y > 0].sum(), weight[y < 0].sum()
    # A tie is positive, as f = 0 is.
    assert constant == (1.0 if positive >= negative else -1.0)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_samples_of_one_class_have_no_problem(label):
    assert Binary().problems(np.full(4, label), np.ones(4)) == []
    assert Binary().constants(np.full(4, label), np.ones(4)).tolist() == [label]


def test_the_risk_of_several_functions_is_the_fraction_that_is_wrong():
    scores = np.array([[1.0, -1.0], [0.0, 0.5], [-2.0, -0.1]])
    np.testing.assert_array_equal(Binary(factors=(1.0, 2.0)).risk(np.array([1.0, 1.0, 1.0]), scores), [0.5, 0, 1])


# --------------------------------------------------------------------------------------- regression


LOSSES = (Squared(), Pinball(0.3), Expectile(0.8))


@given(seed=seeds, n_targets=st.integers(1, 3))
@settings(deadline=None)
def test_every_target_has_a_problem_for_every_loss_in_units_of_its_spread(seed, n_targets):
    rng = np.random.default_rng(seed)
    y = rng.normal(loc=5, scale=[10.0, 0.1, 3.0][:n_targets], size=(30, n_targets))
    weight = rng.uniform(0.5, 2, size=30)
    reduction = Regression(LOSSES, n_targets)
    problems = reduction.problems(y if n_targets > 1 else y[:, 0], weight)
    assert [problem.output for problem in problems] == list(range(3 * n_targets))
    for problem in problems:
        target, loss = y[:, problem.output // 3], LOSSES[problem.output % 3]
        assert problem.loss == loss
        # The function is offset + scale * (what is trained), so that its targets are those given.
        np.testing.assert_allclose(problem.offset + problem.scale * problem.y, target)
        assert problem.offset == loss.best_constant(target, weight)
        mean = np.average(target, weights=weight)
        assert problem.scale == pytest.approx(np.sqrt(np.average(np.square(target - mean), weights=weight)))
        assert problem.risk_unit == pytest.approx(problem.scale**loss.degree)
        assert (np.abs(problem.y) <= problem.clip).all()


@pytest.mark.parametrize("unit", [2.0**-700, 2.0**-40, 2.0**40, 2.0**700])
def test_the_unit_of_the_targets_does_not_change_what_is_trained(unit):
    y, weight = np.random.default_rng(0).normal(size=25), np.ones(25)
    for plain, scaled in zip(
        Regression(LOSSES).problems(y, weight), Regression(LOSSES).problems(unit * y, weight), strict=True
    ):
        np.testing.assert_allclose(scaled.y, plain.y, rtol=1e-12, atol=1e-12)


@given(seed=seeds)
@settings(deadline=None)
def test_constants_and_bounds_of_a_regression_lie_within_the_targets(seed):
    rng = np.random.default_rng(seed)
    y, weight = rng.normal(size=(12, 2)), rng.uniform(0.5, 2, size=12)
    reduction = Regression(LOSSES, 2)
    bounds, constants = reduction.bounds(y), reduction.constants(y, weight)
    np.testing.assert_array_equal(bounds, np.repeat(np.column_stack([y.min(axis=0), y.max(axis=0)]), 3, axis=0))
    assert ((bounds[:, 0] <= constants) & (constants <= bounds[:, 1])).all()
    for output, constant in enumerate(constants):
        assert constant == LOSSES[output % 3].best_constant(y[:, output // 3], weight)


def test_a_constant_target_has_no_problem_and_others_keep_their_outputs():
    y = np.column_stack([np.full(6, 4.0), np.arange(6.0)])
    problems = Regression((Squared(), Pinball(0.5)), 2).problems(y, np.ones(6))
    assert [problem.output for problem in problems] == [2, 3]
    assert Regression((Squared(), Pinball(0.5)), 2).constants(y, np.ones(6)).tolist() == [4, 4, 2.5, 2.5]


def test_the_risk_of_a_regression_is_the_mean_loss_of_its_outputs():
    y, scores = np.array([[1.0, 0.0], [2.0, 2.0]]), np.array([[1.5, 0.0], [0.0, 4.0]])
    np.testing.assert_array_equal(Regression((Squared(),), 2).risk(y, scores), [0.125, 4])


@given(seed=seeds)
@settings(deadline=None)
def test_quantiles_never_cross_and_sorting_them_never_costs(seed):
    rng = np.random.default_rng(seed)
    levels = (0.1, 0.25, 0.5, 0.9)
    reduction = Levels(tuple(Pinball(tau) for tau in levels))
    y, values = rng.normal(size=20), rng.normal(size=(20, 4))
    scores = reduction.scores(values)
    assert (np.diff(scores, axis=1) >= 0).all()
    np.testing.assert_array_equal(np.sort(values, axis=1), scores)
    assert (reduction.risk(y, scores) <= reduction.risk(y, values) + 1e-12).all()
