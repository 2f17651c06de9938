"""Parameters that make no sense are refused with a sentence, before any work starts."""

import os
import re

import numpy as np
import pytest

import localsvm.fit.memory
from localsvm import (
    Grid,
    InvalidData,
    InvalidParameter,
    LocalExpectileRegressor,
    LocalQuantileRegressor,
    LocalSVC,
    LocalSVR,
)
from localsvm.estimators.parameters import count_threads

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")


def small(**parameters):
    return LocalSVC(**{"grid": 4, **parameters})


CHOICES = {
    "effort": "one of 'fast', 'default', 'best'",
    "kernel": "one of 'auto', 'gauss', 'laplace', 'manhattan', 'rbf'",
    "search": "one of 'auto', 'full', 'racing'",
    "scaling": "one of 'auto', 'minmax', 'standard', 'quantile', None",
    "missing": "one of 'error', 'impute'",
    "refit": "one of 'combine', 'retrain'",
}
REGRESSORS_REFIT = "one of 'combine', 'retrain', 'blend'"
OWN_CHOICES = {
    LocalSVC: {
        "multiclass": "one of 'auto', 'ovo', 'ovr'",
        "loss": "one of 'auto', 'logistic', 'hinge', 'squared'",
        "objective": "one of 'log_loss', 'accuracy', 'balanced_accuracy', 'tpr_tnr', 'f1'",
    },
    LocalSVR: {"loss": "one of 'squared', 'epsilon_insensitive'", "refit": REGRESSORS_REFIT},
    LocalQuantileRegressor: {"refit": REGRESSORS_REFIT},
    LocalExpectileRegressor: {"refit": REGRESSORS_REFIT},
}
NO_CHOICE = ["nonsense", "", 3, 2.5, True, [], np.ones(2), object]

REFUSED = {
    "members": [0, -3, 2.5, "4", True, [4]],
    "cell_size": [0, -5, 2.5, "2000", "large", None, True, np.nan, [100]],
    "cell_radius": [0.0, -1.0, np.inf, np.nan, "1", True, [1.0]],
    "n_folds": [0, -3, 2.5, "5", None, True, [5]],
    "grid": [
        0,
        -1,
        10.0,
        "10",
        True,
        [10, 10],
        (0.1, 10.0),
        {"n_widths": 3},
        np.ones((2, 2)),
    ],
    "max_memory": [0, -1, 1.5, "", "lots", "GB", "-8GB", "8XB", "0GB", True, [8]],
    "n_jobs": [0, 2.0, "2", True, [2], np.nan],
    "random_state": [-1, 0.5, "0", True, [1, 2], np.random.default_rng(0)],
    "categorical_features": [3, "town", [1.5], [True]],
    "verbose": [-1, 0.5, "1", None, [1]],
    "checkpoint": ["", 3, 2.5, True, [], np.ones(2), object],
}
NO_LEVELS = [0, 1, -0.1, 1.5, np.nan, "0.5", None, True, [], [0.5, 1.0], [[0.5]], [[0.1], [0.1, 0.2]], ["0.5"], {0.5}]
OWN_REFUSED = {
    LocalSVC: {
        "false_alarm": [0, 1, 0.0, 1.0, -0.1, np.nan, "0.1", True, [0.1], [0.1, 0.2], np.ones(2) / 2],
        "positive_weights": [2.0, "12", [], [[1.0]], [1, 0], [-1], [np.nan], [np.inf], ["1"], [[1], [1, 2]], {1}],
    },
    LocalSVR: {"epsilon": [0, -0.1, np.inf, np.nan, "0.1", None, True, [0.1]]},
    LocalQuantileRegressor: {"quantile": NO_LEVELS},
    LocalExpectileRegressor: {"expectile": NO_LEVELS},
}
LEVELS_NEEDED = r"give a number between 0 and 1, or a list of them, like \[0\.1, 0\.9\]"
NEEDS = {
    "members": "an integer of at least 1 is needed",
    "cell_size": "give 'auto' or an integer of at least 1",
    "cell_radius": "a positive number is needed",
    "n_folds": "an integer of at least 1 is needed",
    "grid": r"give the number of steps \(10, 15, 20\) or a Grid",
    "max_memory": "give None, a number of bytes or text like '8GB'",
    "n_jobs": "give the number of threads, or None for all cores",
    "random_state": "give None, an integer of at least 0 or a RandomState",
    "categorical_features": r"give a list of names or numbers of columns, like \['town'\] or \[3\]",
    "verbose": "an integer of at least 0 is needed",
    "checkpoint": "give None or the path of a directory",
    "false_alarm": "a number between 0 and 1 is needed",
    "positive_weights": r"give a list of positive numbers, like \[0\.5, 1, 2\]",
    "epsilon": "a positive number is needed",
    "quantile": LEVELS_NEEDED,
    "expectile": LEVELS_NEEDED,
}


def of_all(common, own):
    """What each estimator has of its own; the common ones are those of the first."""
    first = next(iter(own))
    return [(kind, name) for kind in own for name in (*(common if kind is first else ()), *own[kind])]


def shown(name, value):
    return re.escape(f"{name}={value!r}")


def named(value):
    return value.__name__ if isinstance(value, type) else repr(value)


@pytest.mark.parametrize("value", NO_CHOICE, ids=repr)
@pytest.mark.parametrize(("kind", "name"), of_all(CHOICES, OWN_CHOICES), ids=named)
def test_an_unknown_choice_is_refused_with_the_known_ones(rows, no_work, kind, name, value):
    choices = {**CHOICES, **OWN_CHOICES[kind]}[name]
    sentence = f"^{shown(name, value)} is not available; use {re.escape(choices)}\\.$"
    with pytest.raises(InvalidParameter, match=sentence):
        kind(**{name: value}).fit(*rows)


@pytest.mark.parametrize(("kind", "name"), of_all(CHOICES, OWN_CHOICES), ids=named)
def test_none_is_refused_where_it_is_no_choice(rows, no_work, kind, name):
    if name != "scaling":
        with pytest.raises(InvalidParameter, match=f"{name}=None is not available"):
            kind(**{name: None}).fit(*rows)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (kind, name, value)
        for kind, name in of_all(REFUSED, OWN_REFUSED)
        for value in {**REFUSED, **OWN_REFUSED[kind]}[name]
    ],
    ids=named,
)
def test_a_number_that_makes_no_sense_is_refused_with_what_does(rows, no_work, kind, name, value):
    with pytest.raises(InvalidParameter, match=f"^{shown(name, value)}: {NEEDS[name]}\\.$"):
        kind(**{name: value}).fit(*rows)


def test_a_bound_and_an_objective_together_are_refused(rows, no_work):
    with pytest.raises(InvalidParameter, match=r"^false_alarm=0\.1 and objective='f1' exclude each other"):
        LocalSVC(false_alarm=0.1, objective="f1").fit(*rows)


PARTITIONS = "'voronoi', 'chunks', 'radius', 'overlap', 'none'"


@pytest.mark.parametrize("value", ["nonsense", "", "Voronoi"])
def test_an_unknown_name_of_a_partition_is_refused_with_the_known_ones(rows, no_work, value):
    with pytest.raises(InvalidParameter) as refused:
        LocalSVC(partition=value).fit(*rows)
    assert str(refused.value) == (
        f"partition={value!r} is not available; use one of {PARTITIONS}, or an object with centers, radii and assign."
    )


@pytest.mark.parametrize("value", [None, 3, 2.5, True, [], np.ones(2), object], ids=repr)
def test_an_object_that_is_no_partition_is_refused_with_what_it_lacks(rows, no_work, value):
    with pytest.raises(InvalidParameter) as refused:
        LocalSVC(partition=value).fit(*rows)
    assert str(refused.value) == (
        f"partition={value!r} has no centers and no radii and no assign; give one of {PARTITIONS}, or an object with "
        "centers, radii and assign."
    )


def test_cells_of_bounded_radius_need_the_radius(rows, no_work):
    with pytest.raises(InvalidParameter, match=r"^partition='radius' needs cell_radius: .* after scaling\.$"):
        LocalSVC(partition="radius").fit(*rows)


@pytest.mark.parametrize("kind", OWN_CHOICES)
def test_every_parameter_is_refused_something(kind):
    tested = {*CHOICES, *REFUSED, *OWN_CHOICES[kind], *OWN_REFUSED[kind], "partition", "relevance"}
    assert tested | ({"class_weight"} if kind is LocalSVC else set()) == set(kind().get_params())


@pytest.mark.parametrize(
    "parameters",
    [
        {"cell_size": np.int64(1)},
        {"cell_radius": 0.5},
        {"cell_radius": 2},
        {"n_folds": np.int32(3)},
        {"n_folds": 1},
        {"partition": "chunks", "cell_size": 20},
        {"partition": "overlap", "cell_size": 20},
        {"partition": "radius", "cell_radius": 0.5},
        {"partition": np.str_("none")},
        {"grid": np.int64(3)},
        {"grid": Grid(widths=[1.0], lams=[0.1])},
        {"max_memory": "8GB"},
        {"max_memory": "512 MiB"},
        {"max_memory": "1.5tb"},
        {"max_memory": 10**9},
        {"n_jobs": -1},
        {"n_jobs": -100},
        {"n_jobs": np.int64(2)},
        {"random_state": np.int64(3)},
        {"random_state": 2**70},
        {"random_state": np.random.RandomState(0)},
        {"kernel": np.str_("laplace")},
        {"multiclass": "ovr"},
        {"verbose": False},
        {"objective": np.str_("f1")},
        {"false_alarm": np.float32(0.5)},
        {"positive_weights": (1, 2)},
        {"positive_weights": np.float32([0.5])},
    ],
    ids=repr,
)
def test_values_that_make_sense_are_taken(rows, parameters):
    assert small(**parameters).fit(*rows).score(*rows) > 0.5


@pytest.mark.parametrize("level", [0.5, np.float32(0.5), [0.5], (0.9, 0.1), np.array([0.2, 0.2, 0.7])], ids=repr)
@pytest.mark.parametrize("kind", [LocalQuantileRegressor, LocalExpectileRegressor])
def test_one_level_or_several_are_taken(rows, kind, level):
    X, _ = rows
    (name,) = OWN_REFUSED[kind]
    predicted = kind(grid=3, **{name: level}).fit(X, X[:, 0]).predict(X)
    assert predicted.shape == (60, *np.shape(level))


def test_parameters_are_checked_at_fit_and_not_before():
    assert LocalSVC(kernel="nonsense").set_params(refit="nonsense").refit == "nonsense"


def test_parameters_are_looked_at_before_data(no_work):
    with pytest.raises(InvalidParameter, match="kernel='nonsense'"):
        LocalSVC(kernel="nonsense").fit(None, None)


def test_an_unknown_parameter_is_named_by_python_itself():
    with pytest.raises(TypeError, match="gamma"):
        LocalSVC(gamma=1.0)


def test_a_cell_beyond_max_memory_is_refused_with_both_sizes(rows):
    with pytest.raises(
        InvalidData, match=r"MB for its largest cell of 60 samples .*max_memory allows 0\.001 MB.* cell_size"
    ):
        small(max_memory=1000).fit(*rows)
    assert small(max_memory="1MB").fit(*rows).n_cells_ == 1


def test_a_cell_beyond_the_memory_of_the_machine_is_refused(rows, monkeypatch):
    monkeypatch.setattr(localsvm.fit.memory, "available_memory", lambda: 2000)
    with pytest.raises(InvalidData, match=r"but this process can have 0\.002 MB"):
        small().fit(*rows)


def test_threads_are_all_cores_of_the_process_unless_given():
    cores = count_threads(None)
    assert cores == count_threads(-1) >= 1
    if hasattr(os, "sched_getaffinity"):
        assert cores <= len(os.sched_getaffinity(0))
    assert count_threads(-2) == max(1, cores - 1)
    assert count_threads(cores + 3) == cores + 3
