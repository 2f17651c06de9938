"""Evaluation of regressors, against scikit-learn's metrics."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from sklearn import metrics

from localsvm import InvalidData, LocalExpectileRegressor, LocalQuantileRegressor, LocalSVR
from localsvm.evaluation import Evaluator

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1500, 2))
    y = 100 + np.sin(6 * X[:, 0]) + X[:, 1] * rng.normal(size=1500)
    return X, y, rng.integers(0, 4, size=1500).astype(float)


def evaluate(estimator, X, y, weight=None, n_blocks=1):
    evaluator = Evaluator(estimator)
    for block in np.array_split(np.arange(len(y)), n_blocks):
        evaluator.add(X[block], y[block], None if weight is None else weight[block])
    return evaluator.result()


@pytest.fixture(scope="module")
def mean(rows):
    X, y, _ = rows
    return LocalSVR(cell_size=150, grid=3).fit(X[:500], y[:500])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_blocks", [1, 6])
def test_measures_of_means_equal_those_of_scikit_learn(rows, mean, weighted, n_blocks):
    X, y, weight = (part[500:] for part in rows)
    weight = weight if weighted else np.ones(len(y))
    result = evaluate(mean, X, y, weight, n_blocks)
    f = mean.predict(X)
    expected = {
        "rmse": metrics.root_mean_squared_error(y, f, sample_weight=weight),
        "mae": metrics.mean_absolute_error(y, f, sample_weight=weight),
        "r2": metrics.r2_score(y, f, sample_weight=weight),
    }
    assert {m.name: m.value for m in result.measures} == pytest.approx(expected)
    assert all(m.low < m.value < m.high for m in result.measures)
    assert result.headline.name == "rmse"
    json.dumps(asdict(result), allow_nan=False)


def test_intervals_of_means_have_their_coverage(mean):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(60_000, 2))
    y = 100 + np.sin(6 * X[:, 0]) + X[:, 1] * rng.normal(size=60_000)
    truth = {m.name: m.value for m in evaluate(mean, X, y).measures}
    samples = np.array_split(np.arange(60_000), 200)
    hits = dict.fromkeys(truth, 0)
    for sample in samples:
        for measure in evaluate(mean, X[sample], y[sample]).measures:
            hits[measure.name] += measure.low <= truth[measure.name] <= measure.high
    # 200 draws at 95 %: four standard errors are 6.2 points.
    assert min(hits.values()) > 0.888 * len(samples), hits


def test_several_targets_have_their_own_measures(rows):
    X, y, _ = rows
    several = np.column_stack([y, X[:, 0]])
    model = LocalSVR(grid=2).fit(X[:300], several[:300])
    result = evaluate(model, X[500:], several[500:])
    rmse = metrics.root_mean_squared_error(several[500:], model.predict(X[500:]), multioutput="raw_values")
    found = [result.measure("rmse", f"target {j}").value for j in range(2)]
    np.testing.assert_allclose(found, rmse)
    assert [pairs.target for pairs in result.pairs] == ["target 0", "target 1"]
    with pytest.raises(InvalidData, match="trained on 2 targets"):
        Evaluator(model).add(X[:5], several[:5, :1])


def test_equal_targets_have_no_r2(mean, rows):
    X = rows[0][:50]
    result = evaluate(mean, X, np.full(50, 100.0))
    assert [m.name for m in result.measures] == ["rmse", "mae"]


def test_pairs_count_every_row_with_exact_predictions_on_the_diagonal(mean, rows):
    X, y, _ = rows
    (pairs,) = evaluate(mean, X[500:], y[500:]).pairs
    assert np.sum(pairs.counts) == 1000
    (own,) = evaluate(mean, X[500:], mean.predict(X[500:])).pairs
    assert np.trace(own.counts) == 1000
    assert own.low <= mean.predict(X).min() <= mean.predict(X).max() <= own.high


@pytest.mark.parametrize("levels", [0.3, [0.9, 0.1, 0.5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_quantiles_are_pinball_losses_and_coverage(rows, levels, weighted):
    X, y, weight = rows
    model = LocalQuantileRegressor(quantile=levels, grid=2).fit(X[:300], y[:300])
    X, y, weight = X[500:], y[500:], weight[500:] if weighted else np.ones(1000)
    result = evaluate(model, X, y, weight, n_blocks=3)
    f = model.predict(X).reshape(len(y), -1)
    losses = []
    for level, column in zip(np.atleast_1d(levels), f.T, strict=True):
        of = f"quantile {level:g}" if f.shape[1] > 1 else None
        losses.append(metrics.mean_pinball_loss(y, column, alpha=level, sample_weight=weight))
        assert result.measure("pinball_loss", of).value == pytest.approx(losses[-1])
        below = result.measure("share_below", of)
        assert below.value == pytest.approx(np.average(y <= column, weights=weight))
        assert below.low < below.value < below.high
    assert result.headline.value == pytest.approx(np.mean(losses))
    assert [bin.predicted for bin in result.reliability] == sorted(np.atleast_1d(levels).tolist())


def test_the_measure_of_expectiles_is_their_loss(rows):
    X, y, _ = rows
    model = LocalExpectileRegressor(expectile=[0.8, 0.2], grid=2).fit(X[:300], y[:300])
    result = evaluate(model, X[500:], y[500:])
    for level, f in zip([0.8, 0.2], model.predict(X[500:]).T, strict=True):
        r = y[500:] - f
        expected = np.mean(np.where(r >= 0, level, 1 - level) * r**2)
        assert result.measure("expectile_loss", f"expectile {level:g}").value == pytest.approx(expected)
    assert result.reliability == ()
