"""Groups and times in `fit`: what the folds of cells are, what does not matter, what is refused, and what it is for."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import GroupKFold, cross_validate

from localsvm import (
    InvalidData,
    InvalidParameter,
    LocalExpectileRegressor,
    LocalQuantileRegressor,
    LocalSVC,
    LocalSVR,
    SingleGroupWarning,
    advise,
    load,
)
from localsvm.cell.folds import make_folds
from localsvm.data.labels import Labels
from localsvm.estimators.base import check_training_data
from localsvm.fit.memory import MemoryLimit
from localsvm.fit.prepare import prepare

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]

N = 800
FAST = {"grid": 3, "cell_size": 250}


def panel(seed=0, n=N, n_groups=40):
    """Rows of groups that differ by more than their features tell; some rows are in two groups."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n)
    X = rng.normal(size=(n, 3))
    X[n // 2 : n // 2 + 50] = X[:50]
    y = X[:, 0] + rng.normal(size=n_groups)[groups] + 0.3 * rng.normal(size=n)
    y[n // 2 : n // 2 + 50] = y[:50]
    return X, y, groups


def classes(y):
    return np.digitize(y, np.quantile(y, [0.4, 0.8]))


ESTIMATORS = {
    "hinge": (LocalSVC, lambda y: y > 0),
    "pairs": (LocalSVC, classes),
    "rates": (partial(LocalSVC, objective="tpr_tnr"), lambda y: y > 0.5),
    "log_loss": (partial(LocalSVC, objective="log_loss"), lambda y: y > 0),
    "log_loss of three classes": (partial(LocalSVC, objective="log_loss"), classes),
    "squared": (LocalSVR, lambda y: y),
    "quantile": (LocalQuantileRegressor, lambda y: y),
    "expectile": (LocalExpectileRegressor, lambda y: y),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
either = pytest.mark.parametrize("what", ["groups", "time"])


def scores(model, X):
    return model._scores(X)


# --------------------------------------------------------------------------------- folds of cells


def cells(X, y, groups=None, **given):
    """Yield the row numbers and the folds of every cell that a fit trains."""
    data = check_training_data(LocalSVR(**FAST), X, y, None, groups=groups, **given)
    rows = data.rows.present()
    prepared = prepare(rows, rows.hashes(0), data.settings, MemoryLimit.of(None))
    number_of = {target: number for number, target in enumerate(y.tolist())}
    for task in prepared.tasks:
        folded = make_folds(task.rows, 5, stratify=False)
        yield [np.array([number_of[target] for target in folded.y[folded.fold(k)].tolist()]) for k in range(5)]


def test_no_group_is_split_over_the_folds_of_a_cell():
    X, y, groups = panel(n=1500)
    y[750:800] += 1e-9  # a target tells a row
    for folds in cells(X, y, groups):
        for one, other in itertools.combinations(folds, 2):
            assert not set(groups[one]) & set(groups[other])


def test_folds_of_a_cell_are_blocks_of_time():
    X, y, time = panel(n=1500)
    y[750:800] += 1e-9
    for folds in cells(X, y, time=time):
        for later, earlier in itertools.pairwise(folds):
            assert time[later].min() > time[earlier].max()


def test_a_single_split_validates_the_latest_rows():
    X, y, _ = panel()
    time = np.arange(N)
    fit = LocalSVR(n_folds=1, partition="none", members=1, grid=3).fit(X, y, time=time)
    found = fit.model_.cells[0].out_of_fold
    assert found is None or np.isfinite(found.scores).sum() == N // 5
    # The latest fifth only chooses among solutions: without it they are the same.
    changed = LocalSVR(n_folds=1, partition="none", members=1, grid=1).fit(X, np.where(time < 640, y, -y), time=time)
    same = LocalSVR(n_folds=1, partition="none", members=1, grid=1).fit(X, y, time=time)
    assert changed.cells_[0]["cv_risk"] > same.cells_[0]["cv_risk"]


# ----------------------------------------------------------------------------- what does not matter


@either
@every_estimator
def test_row_order_threads_and_names_do_not_matter(name, what):
    X, y, groups = panel()
    kind, target = ESTIMATORS[name]
    order = np.random.default_rng(1).permutation(N)
    first = kind(n_jobs=1, **FAST).fit(X, target(y), **{what: groups})
    names = np.array([f"{number:03}" for number in range(40)]) if what == "groups" else np.arange(40.0) ** 2
    if what == "groups":
        names = np.random.default_rng(2).permutation(names)
    again = kind(n_jobs=2, **FAST).fit(X[order], target(y)[order], **{what: names[groups][order]})
    np.testing.assert_array_equal(scores(first, X), scores(again, X))
    without = kind(**FAST).fit(X, target(y))
    assert not np.array_equal(scores(first, X), scores(without, X))


@either
@every_estimator
def test_a_weight_is_a_repetition_and_weight_zero_is_absence(name, what):
    X, y, groups = panel()
    kind, target = ESTIMATORS[name]
    weight = np.random.default_rng(1).integers(0, 3, N)
    again = np.repeat(np.arange(N), weight)
    settings = {"grid": 3, "partition": "none"}  # cells are filled by rows, whatever their weight
    first = kind(**settings).fit(X, target(y), weight, **{what: groups})
    second = kind(**settings).fit(X[again], target(y)[again], **{what: groups[again]})
    np.testing.assert_array_equal(scores(first, X), scores(second, X))


def test_categories_are_encoded_by_other_groups():
    X, y, groups = panel()
    frame = pd.DataFrame({"x": X[:, 0], "who": pd.Categorical(groups.astype(str))})
    with_groups = LocalSVR(**FAST).fit(frame, y, groups=groups)
    order = np.random.default_rng(1).permutation(N)
    again = LocalSVR(**FAST).fit(frame.iloc[order], y[order], groups=-groups[order])
    np.testing.assert_array_equal(with_groups.predict(frame), again.predict(frame))
    without = LocalSVR(**FAST).fit(frame, y)
    # What identifies the group says nothing of other groups, and out-of-fold scores know it.
    assert mean_risk(without) < 0.5 * mean_risk(with_groups)


@pytest.mark.parametrize("kind", [list, pd.Series, lambda labels: pd.Series(labels).to_frame(), pd.Categorical])
def test_groups_are_labels_of_any_kind(kind):
    X, y, groups = panel()
    expected = LocalSVR(**FAST).fit(X, y, groups=groups).predict(X)
    names = [("site", int(number)) for number in groups] if kind is list else [f"site {n}" for n in groups]
    given = kind(names)
    if kind is list:
        given = np.empty(N, dtype=object)
        given[:] = names
    np.testing.assert_array_equal(LocalSVR(**FAST).fit(X, y, groups=given).predict(X), expected)
    labels = Labels(groups, tuple(map(str, range(40))))
    np.testing.assert_array_equal(LocalSVR(**FAST).fit(X, y, groups=labels).predict(X), expected)


@pytest.mark.parametrize("unit", ["D", "ns", "objects", "zone"])
def test_times_are_numbers_or_dates(unit):
    X, y, time = panel()
    expected = LocalSVR(**FAST).fit(X, y, time=time).predict(X)
    dates = pd.to_datetime(1000 * time, unit="h")
    given = {
        "D": dates.to_numpy().astype("datetime64[D]"),
        "ns": dates,
        "objects": dates.to_pydatetime(),
        "zone": pd.Series(dates).dt.tz_localize("Europe/Berlin"),
    }[unit]
    np.testing.assert_array_equal(LocalSVR(**FAST).fit(X, y, time=given).predict(X), expected)


def test_scikit_learn_routes_groups_to_fit():
    X, y, groups = panel()
    with config_context(enable_metadata_routing=True):
        estimator = LocalSVR(grid=3, members=1).set_fit_request(groups=True)
        found = cross_validate(estimator, X, y, params={"groups": groups}, cv=GroupKFold(2), return_estimator=True)
    train, _ = next(GroupKFold(2).split(X, y, groups))
    expected = LocalSVR(grid=3, members=1).fit(X[train], y[train], groups=groups[train])
    np.testing.assert_array_equal(found["estimator"][0].predict(X), expected.predict(X))


# ------------------------------------------------------------------------------ cells of one group


def three_places():
    """Rows of three groups far from each other."""
    rng = np.random.default_rng(0)
    groups = np.arange(600) // 200
    return rng.normal(size=(600, 2)) + 100 * groups[:, None], rng.normal(size=600), groups


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "rates"])
def test_a_cell_of_a_single_group_is_not_validated(name):
    kind, target = ESTIMATORS[name]
    X, y, groups = three_places()
    with pytest.warns(SingleGroupWarning, match="3 of 3 cells have samples of a single group"):
        model = kind(grid=3, cell_size=200, members=1).fit(X, target(y), groups=groups)
    assert all(np.isnan(cell["cv_risk"]) for cell in model.cells_)
    assert np.isfinite(scores(model, X)).all()


def test_an_operating_point_needs_cells_that_were_validated():
    X, y, groups = three_places()
    with pytest.raises(InvalidData, match="an operating point needs out-of-fold samples of both classes"):
        LocalSVC(objective="tpr_tnr", grid=3, cell_size=200).fit(X, y > 0, groups=groups)


def test_members_without_validation_are_averaged(tmp_path):
    X, y, groups = three_places()
    with pytest.warns(SingleGroupWarning):
        model = LocalSVR(grid=3, cell_size=200, members=2).fit(X, y, groups=groups)
    assert [member.weight for member in model.members_] == [0.5, 0.5]
    model.save(tmp_path / "model.lsvm")
    np.testing.assert_array_equal(load(tmp_path / "model.lsvm").predict(X), model.predict(X))


# --------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": [1, 2, 3]}, r"groups has shape \(3,\), expected \(4,\): give one value per row"),
        ({"groups": [[1, 2]] * 4}, r"groups has shape \(4, 2\), expected \(4,\)"),
        ({"groups": [1.0, 2.0, np.nan, 2.0]}, "groups has 1 values that are missing .*first: nan at row 2"),
        ({"groups": np.array(["a", None, "b", "b"], dtype=object)}, "groups has 1 values that are missing .*row 1"),
        ({"groups": pd.array([1, None, 2, 2], dtype="Int64")}, "groups has 1 values that are missing .*row 1"),
        ({"groups": ["a"] * 4}, "groups has a single group: at least two are needed"),
        ({"groups": np.array([[1], [2], [1], {1}, 0], dtype=object)[1:]}, "groups has values of type list, set, "),
        ({"time": [1, 2]}, r"time has shape \(2,\), expected \(4,\)"),
        ({"time": [1.0, np.inf, 2.0, 3.0]}, "time has 1 values that are missing or not finite .*inf at row 1"),
        ({"time": np.array(["2020-01-01", "NaT"] * 2, dtype="M8[D]")}, "time has 2 values that are missing"),
        ({"time": ["Monday", "Tuesday"] * 2}, "time has values like .*Monday.*no order in time: give numbers or dates"),
        ({"time": np.array([1, None, {}, "a"], dtype=object)}, "time has 1 values that are missing"),
        ({"time": np.array([1, {}, {}, 2], dtype=object)}, "time has values like 1, which have no order"),
        ({"time": [5, 5, 5, 5]}, "time has a single time: at least two are needed"),
    ],
)
def test_bad_groups_and_times_are_refused(given, message):
    with pytest.raises(InvalidData, match=message):
        LocalSVR().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0], **given)


def test_groups_and_time_together_are_refused():
    with pytest.raises(InvalidParameter, match="groups and time are both given"):
        LocalSVR().fit([[0.0], [1.0]], [0.0, 1.0], groups=[0, 1], time=[0, 1])


def test_groups_of_absent_rows_may_be_missing_but_do_not_count():
    X, y, groups = panel()
    present = np.arange(N) % 2 == 0
    known = np.where(present, groups, np.nan)
    first = LocalSVR(**FAST).fit(X, y, present, groups=known)
    second = LocalSVR(**FAST).fit(X[present], y[present], groups=groups[present])
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    with pytest.raises(InvalidData, match="single group"):
        LocalSVR().fit(X, y, present, groups=~present)


# ----------------------------------------------------------------------------------- what it is for


def mean_risk(model):
    return np.average([cell["cv_risk"] for cell in model.cells_], weights=[cell["size"] for cell in model.cells_])


def test_out_of_fold_risk_is_that_of_new_groups():
    # A group is known by its features, and its level is its own: what is learned of it is no use for other groups.
    def visits(rng, n_groups):
        person = np.repeat(np.arange(n_groups), 10)
        traits, level = rng.normal(size=(n_groups, 3)), rng.normal(size=n_groups)
        x = rng.normal(size=len(person))
        return np.column_stack([traits[person], x]), level[person] + x + 0.3 * rng.normal(size=len(person)), person

    rng = np.random.default_rng(0)
    X, y, person = visits(rng, 300)
    new_X, new_y, _ = visits(rng, 1000)
    settings = {"grid": 5, "members": 1}
    grouped, plain = LocalSVR(**settings).fit(X, y, groups=person), LocalSVR(**settings).fit(X, y)
    on_new = {model: float(np.mean((model.predict(new_X) - new_y) ** 2)) for model in (grouped, plain)}
    assert mean_risk(grouped) == pytest.approx(on_new[grouped], rel=0.1)
    assert mean_risk(plain) < 0.1 * on_new[plain]
    assert on_new[grouped] < 0.8 * on_new[plain]  # and so what it has chosen is better for them
    weights = {model: model.feature_relevance_[:3].max() / model.feature_relevance_[3] for model in (grouped, plain)}
    assert weights[grouped] < 0.1 and weights[plain] > 2


def test_the_latest_block_shows_what_a_random_fold_hides():
    # A walk: neighbours in time are alike, and time is a feature.
    rng = np.random.default_rng(0)
    time = np.arange(1500.0)
    y = np.cumsum(rng.normal(size=1500))
    settings = {"grid": 5, "members": 1, "partition": "none"}
    blocked, plain = LocalSVR(**settings).fit(time[:, None], y, time=time), LocalSVR(**settings).fit(time[:, None], y)
    assert mean_risk(plain) < 0.1 * mean_risk(blocked)


@either
def test_advise_and_forecast_take_what_fit_takes(what):
    X, y, groups = panel(n=2000)
    estimator = LocalSVR(grid=3, cell_size=300, members=1)
    assert estimator.forecast(X, y, **{what: groups}).n_rows == 2000
    with_ties = advise(X, y, estimator=estimator, **{what: groups})
    held_out = with_ties.held_out
    order = np.random.default_rng(0).permutation(2000)
    again = advise(X[order], y[order], estimator=estimator, **{what: groups[order]})
    assert [way.loss for way in again.ways] == [way.loss for way in with_ties.ways]
    sizes = np.bincount(groups)
    assert abs(held_out - 400) <= (sizes.max() if what == "time" else 150)
