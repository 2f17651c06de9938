"""`advise`: its losses are those of real fits, and the recommendation follows from them."""

import numpy as np
import pytest
from single import svc, svr

from localsvm import InvalidData, InvalidParameter, LocalQuantileRegressor, advise
from localsvm.data import toy_mixture
from localsvm.data.disk import RowFile
from localsvm.data.table import Table
from localsvm.estimators.base import check_training_data
from localsvm.fit.trial import run_trial

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")


def checkerboard(n, fields, seed=0):
    """Many small fields: nearby rows are informative, distant ones are not."""
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    return X, np.where(np.floor(fields * X).sum(axis=1) % 2 == 0, 1, -1)


def slope(n, n_features, seed=0):
    """A noisy linear problem in many dimensions: every row is informative about every other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, np.where(X.sum(axis=1) / np.sqrt(n_features) + rng.normal(size=n) > 0, 1, -1)


def classifier(**parameters):
    return svc(**{"cell_size": 150, "grid": 4, "scaling": "minmax", "random_state": 0} | parameters)


def by_partition(verdict):
    return {way.parameters["partition"]: way for way in verdict.ways}


# ------------------------------------------------------------------------------------------- verdict


def test_cells_are_recommended_where_they_have_the_lower_error():
    verdict = advise(*checkerboard(4000, fields=16), estimator=classifier())
    assert verdict.chosen.parameters["partition"] == "voronoi"
    assert "Spatial cells are better on these data" in verdict.sentence
    ways = by_partition(verdict)
    assert verdict.chosen.loss.high < min(ways["none"].loss.low, ways["chunks"].loss.low)


def test_cells_are_not_recommended_where_they_have_the_higher_error():
    verdict = advise(*slope(3000, n_features=40), estimator=classifier(cell_size=100))
    assert verdict.chosen.parameters["partition"] != "voronoi"
    assert "Spatial cells do not improve on it" in verdict.sentence


def test_the_chosen_way_is_within_chance_of_the_best_one():
    verdict = advise(*toy_mixture(2000, 3, random_state=0), estimator=classifier(grid=3))
    best = min(way.loss.value for way in verdict.ways)
    assert verdict.chosen.loss.low <= best <= verdict.chosen.loss.value
    assert all(way.loss.low <= way.loss.value <= way.loss.high for way in verdict.ways)
    assert all(way.fit_seconds > 0 and way.predict_seconds > 0 for way in verdict.ways)


def test_cells_are_trained_with_the_kernel_that_the_pilot_selects():
    X, y = checkerboard(1500, fields=4)
    automatic = svr(relevance=None, scaling="minmax", grid=4, random_state=0)
    rough = svr(**automatic.get_params() | {"kernel": "manhattan"})
    automatic_loss, rough_loss = (advise(X, y, estimator=way).ways[0].loss for way in (automatic, rough))
    assert automatic_loss == rough_loss


def test_losses_do_not_depend_on_the_order_of_the_rows():
    X, y = toy_mixture(1500, 3, random_state=0)
    order = np.random.default_rng(1).permutation(len(y))
    estimator = classifier(cell_size=100, grid=2)
    one, other = advise(X, y, estimator=estimator), advise(X[order], y[order], estimator=estimator)
    assert [way.loss for way in one.ways] == [way.loss for way in other.ways]


def test_rows_on_disk_have_the_losses_of_rows_in_memory(tmp_path):
    X, y = toy_mixture(1200, 3, random_state=0)
    rows = RowFile(X.shape, X.dtype, tmp_path)
    rows.write(0, X)
    estimator = classifier(cell_size=100, grid=2)
    in_memory, on_disk = advise(X, y, estimator=estimator), advise(Table(rows), y, estimator=estimator)
    assert [way.loss for way in on_disk.ways] == [way.loss for way in in_memory.ways]
    assert list(tmp_path.iterdir()) == []


def test_duplicates_are_not_split_between_training_and_held_out_rows():
    # Labels are random: only a model that has seen a row can know its label.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.choice([-1, 1], size=400)
    verdict = advise(np.repeat(X, 6, axis=0), np.repeat(y, 6), estimator=classifier(grid=3))
    assert min(way.loss.value for way in verdict.ways) > 0.3


def test_a_verdict_prints_as_a_table_and_a_sentence():
    verdict = advise(*toy_mixture(1200, 2, random_state=0), estimator=classifier(grid=2))
    lines = str(verdict).splitlines()
    assert lines[-1] == verdict.sentence
    assert verdict.sentence.startswith(f"Use {verdict.chosen.name}: error ")
    marked = [line for line in lines if line.startswith("> ")]
    assert len(marked) == 1
    assert verdict.chosen.name in marked[0]


def test_with_one_cell_there_is_nothing_to_compare():
    verdict = advise(*toy_mixture(150, 2, random_state=0), estimator=classifier(grid=2))
    assert [way.n_cells for way in verdict.ways] == [1]
    assert "nothing to compare" in verdict.sentence


# ------------------------------------------------------------------------------------------- tasks


def test_the_default_estimator_depends_on_the_target():
    X, y = toy_mixture(600, 2, random_state=0)
    assert advise(X, y.astype(str)).measure == "log-loss"
    assert advise(X, X[:, 0] + 0.25).measure == "mean squared error"


def test_the_loss_of_a_regression_is_that_of_its_task():
    X = np.random.default_rng(0).normal(size=(1500, 2))
    y = np.sin(3 * X[:, 0]) + 0.5 * np.random.default_rng(1).normal(size=len(X))
    squared = advise(X, y, estimator=svr(cell_size=150, grid=4, random_state=0))
    assert 0.2 < squared.chosen.loss.value < 0.4  # the noise has variance 1/4
    median = advise(X, y, estimator=LocalQuantileRegressor(cell_size=150, grid=2, random_state=0))
    assert median.measure == "pinball loss"
    assert 0.15 < median.chosen.loss.value < 0.3  # of the noise alone: 0.5 sqrt(2 / pi) / 2 = 0.2


def test_the_estimator_is_not_fitted():
    estimator = classifier(grid=2)
    advise(*toy_mixture(400, 2, random_state=0), estimator=estimator)
    assert not hasattr(estimator, "model_")
    assert not hasattr(estimator, "n_features_in_")


def test_bad_input_is_refused_as_in_a_fit():
    X, y = toy_mixture(400, 2, random_state=0)
    with pytest.raises(InvalidData, match="at least 100 rows"):
        advise(X[:50], y[:50])
    with pytest.raises(InvalidData, match="only one class"):
        advise(X, np.ones(len(y)), estimator=svc())
    with pytest.raises(InvalidParameter, match="cell_size"):
        advise(X, y, estimator=svc(cell_size=0))


# ------------------------------------------------------------------------------------------- trial


def trial_of(estimator, X, y, n_train):
    """A trial on the first rows, with the others held out."""
    data = check_training_data(estimator, X, y, None)
    train, held_out = data.rows.some(np.arange(n_train)), data.rows.some(np.arange(n_train, len(y)))
    return run_trial(train, held_out, data.settings, most_rows=10**6)


@pytest.mark.parametrize("partition", ["voronoi", "chunks", "none"])
def test_a_trial_of_all_cells_is_a_fit(partition):
    X, y = toy_mixture(1000, 3, random_state=0)
    estimator = classifier(partition=partition, grid=3)
    trial = trial_of(estimator, X, y, 600)
    wrong = estimator.fit(X[:600], y[:600]).predict(X[600:]) != y[600:]
    assert (trial.n_cells, trial.tried_cells) == (estimator.n_cells_, estimator.n_cells_)
    assert len(trial.loss) == 400
    assert trial.loss.sum() == wrong.sum()


def test_the_cells_of_a_trial_are_cells_of_the_whole_fit():
    X, y = toy_mixture(3000, 2, random_state=0)
    estimator = classifier(cell_size=50, grid=2)
    data = check_training_data(estimator, X, y, None)
    train, held_out = data.rows.some(np.arange(2000)), data.rows.some(np.arange(2000, 3000))
    trial = run_trial(train, held_out, data.settings, most_rows=500)
    estimator.fit(X[:2000], y[:2000])
    assert 8 <= trial.tried_cells < trial.n_cells == estimator.n_cells_
    # Each tried cell has the held-out rows and the errors that one of the fitted cells has.
    cells, wrong = estimator.apply(X[2000:]), estimator.predict(X[2000:]) != y[2000:]
    fitted = {(int((cells == j).sum()), int(wrong[cells == j].sum())) for j in range(estimator.n_cells_)}
    for j in np.unique(trial.cell):
        own = trial.cell == j
        assert (int(own.sum()), int(trial.loss[own].sum())) in fitted
