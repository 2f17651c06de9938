"""An estimator that was saved and loaded is the estimator that was saved."""

import multiprocessing
import pickle
import subprocess
import sys
from copy import deepcopy
from enum import StrEnum

import numpy as np
import pytest
from cells import same_cells
from files import ModelFile
from fitted import UNFITTED, numbers, predictions, toy
from partitions import Halves
from sklearn.base import clone

import localsvm
from localsvm import CannotWrite, Grid, InvalidFile, InvalidParameter, LocalSVC, LocalSVR
from localsvm.estimators.stored import user_info
from localsvm.storage.checkpoint import Checkpoint
from localsvm.storage.model_file import open_model, write_model

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


@pytest.fixture(scope="module", params=UNFITTED)
def saved(request, tmp_path_factory):
    """An estimator, its file, and what it was fitted to."""
    estimator, X, y = UNFITTED[request.param]()
    path = tmp_path_factory.mktemp("saved") / "model.lsvm"
    estimator.fit(X, y).save(path)
    return estimator, path, X, y


def same(a, b):
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], strict=True)
    assert list(a) == list(b)


def test_predictions_are_the_same_to_the_bit(saved):
    estimator, path, X, _ = saved
    same(predictions(estimator, X), predictions(localsvm.load(path), X))


def test_every_number_of_every_cell_is_the_same(saved):
    estimator, path, *_ = saved
    loaded = localsvm.load(path)
    same_cells(tuple(estimator.model_.cells), tuple(loaded.model_.cells))
    assert [cell.seconds for cell in estimator.model_.cells] == [cell.seconds for cell in loaded.model_.cells]
    open_model(path).verify()


def test_what_was_fitted_is_the_same(saved):
    estimator, path, *_ = saved
    loaded = localsvm.load(path)
    assert type(loaded) is type(estimator)
    assert {name for name in vars(loaded) if name.endswith("_")} == {n for n in vars(estimator) if n.endswith("_")}
    assert loaded.timings_ == estimator.timings_
    np.testing.assert_equal(loaded.cells_, estimator.cells_)  # NaN is equal to itself here
    assert loaded.encoding_ == estimator.encoding_
    assert loaded.model_.reduction == estimator.model_.reduction
    for name in ("n_cells_", "n_features_in_", "feature_names_in_", "classes_", "operating_point_", "roc_front_"):
        same_cells(getattr(loaded, name, None), getattr(estimator, name, None))
    if hasattr(estimator, "classes_"):
        assert loaded.classes_.dtype == estimator.classes_.dtype


def test_parameters_are_the_same_but_for_a_random_state_which_is_the_seed_it_gave(saved):
    estimator, path, X, _ = saved
    found, given = localsvm.load(path).get_params(), estimator.get_params()
    if isinstance(given["random_state"], np.random.RandomState):
        given["random_state"] = found["random_state"]
        assert type(found["random_state"]) is int
    if not isinstance(given["partition"], str):
        np.testing.assert_array_equal(found["partition"].assign(X), given.pop("partition").assign(X))
        found.pop("partition")
    np.testing.assert_equal(found, given)
    assert [type(value) for value in found.values()] == [type(value) for value in given.values()]


def test_saving_again_gives_the_same_bytes(saved, tmp_path):
    _, path, *_ = saved
    localsvm.load(path).save(tmp_path / "again.lsvm")
    assert (tmp_path / "again.lsvm").read_bytes() == path.read_bytes()


def test_a_loaded_estimator_fits_as_the_saved_one_did(saved):
    estimator, path, X, y = saved
    again = clone(localsvm.load(path)).fit(X, y)
    same(predictions(estimator, X), predictions(again, X))


def test_a_loaded_estimator_can_be_pickled_and_copied_without_its_file(saved, tmp_path):
    estimator, path, X, _ = saved
    copy = tmp_path / "copy.lsvm"
    copy.write_bytes(path.read_bytes())
    loaded = localsvm.load(copy)
    content = pickle.dumps(loaded)
    others = [deepcopy(loaded), pickle.loads(content)]
    copy.unlink()
    for other in others:
        same(predictions(other, X), predictions(estimator, X))


def test_other_operating_points_can_be_chosen_after_loading(tmp_path):
    estimator, X, y = UNFITTED["machines"]()
    estimator.fit(X, y).save(tmp_path / "model.lsvm")
    loaded = localsvm.load(tmp_path / "model.lsvm")
    for bound in (0.05, 0.3):
        a, b = estimator.at_false_alarm(bound), loaded.at_false_alarm(bound)
        assert a.operating_point_ == b.operating_point_
        same(predictions(a, X), predictions(b, X))


LABELS = {
    "integers": [-3, 5],
    "small integers": np.array([1, 200], dtype=np.uint8),
    "floats": [-1.0, 2.0],
    "booleans": [False, True],
    "text": ["nein", "ja, größer"],
    "dates": np.array(["2024-01-01", "2025-01-01"], dtype="datetime64[D]"),
    "durations": np.array([1, 5], dtype="timedelta64[s]"),
    "objects of text": np.array(["a", "bb\0"], dtype=object),
    "objects of numpy's text": np.array([np.str_("a"), np.str_("bb")], dtype=object),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_any_type_survive(name, tmp_path):
    X, y = toy(60)
    labels = np.asarray(LABELS[name])
    clf = LocalSVC(grid=Grid(widths=[1.0], lams=[0.01])).fit(X, labels[(y > 0).astype(int)])
    clf.save(tmp_path / "model.lsvm")
    loaded = localsvm.load(tmp_path / "model.lsvm")
    assert loaded.classes_.dtype == clf.classes_.dtype
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X), strict=True)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def test_labels_that_are_no_plain_values_are_refused(tmp_path):
    X, y = toy(60)
    clf = LocalSVC(grid=Grid(widths=[1.0], lams=[0.01])).fit(X, np.array([*Colour], dtype=object)[(y > 0).astype(int)])
    with pytest.raises(InvalidParameter, match=r"^a label cannot be stored .* Colour .* pickle the estimator"):
        clf.save(tmp_path / "model.lsvm")
    assert not (tmp_path / "model.lsvm").exists()


# -------------------------------------------------------------------------------------------- refusals


@pytest.fixture(scope="module")
def simple():
    X, y = numbers(60)
    return LocalSVR(grid=Grid(widths=[1.0], lams=[0.01]), cell_size=20).fit(X, y)


def test_a_partition_of_ones_own_is_refused(tmp_path):
    X, y = toy(60)
    clf = LocalSVC(grid=2, partition=Halves(), scaling=None).fit(X, y)
    with pytest.raises(
        InvalidParameter, match=r"^a Halves is a partition of your own: .* Pickle the estimator instead"
    ):
        clf.save(tmp_path / "model.lsvm")
    assert list(tmp_path.iterdir()) == []


def test_an_estimator_of_ones_own_is_refused(simple, tmp_path):
    class Mine(LocalSVR):
        pass

    with pytest.raises(InvalidParameter, match=r"^Mine is an estimator of your own"):
        Mine(grid=2).fit(*numbers(60)).save(tmp_path / "model.lsvm")


def test_an_estimator_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        LocalSVR().save(tmp_path / "model.lsvm")


def test_a_parameter_that_is_no_plain_value_is_named(simple, tmp_path):
    odd = deepcopy(simple).set_params(epsilon=object)
    with pytest.raises(InvalidParameter, match=r"^epsilon=<class 'object'> cannot be stored"):
        odd.save(tmp_path / "model.lsvm")


def test_a_model_without_an_estimator_is_not_loaded_as_one(simple, tmp_path):
    write_model(tmp_path / "model.lsvm", simple.model_)
    with pytest.raises(InvalidFile, match="has no 'estimator'"):
        localsvm.load(tmp_path / "model.lsvm")


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        localsvm.load(tmp_path / "absent.lsvm")


def test_a_directory_that_is_not_there_is_an_error_of_writing(simple, tmp_path):
    with pytest.raises(CannotWrite, match="absent"):
        simple.save(tmp_path / "absent" / "model.lsvm")


# ---------------------------------------------------------------------------------------------- manners


def test_a_checkpoint_and_what_it_took_are_no_part_of_the_model(simple, tmp_path):
    X, y = numbers(60)
    kept = clone(simple).set_params(checkpoint=Checkpoint(tmp_path / "cells")).fit(X, y)
    for name, estimator in (("plain", simple), ("kept", kept)):
        estimator.save(tmp_path / name)
    assert ModelFile.read(tmp_path / "plain").before_seconds == ModelFile.read(tmp_path / "kept").before_seconds
    assert localsvm.load(tmp_path / "kept").checkpoint is None


def test_what_the_caller_adds_is_kept(simple, tmp_path):
    info = {"target": "price", "$odd": [1, None], 3: np.arange(3)}
    simple.save(tmp_path / "model.lsvm", info=info)
    stored = open_model(tmp_path / "model.lsvm")
    np.testing.assert_equal(user_info(stored), info)
    assert stored.library == localsvm.__version__
    with pytest.raises(InvalidParameter, match=r"^info cannot be stored"):
        simple.save(tmp_path / "model.lsvm", info={"f": len})


def test_saving_over_the_file_of_a_loaded_model_does_not_hurt_it(simple, tmp_path):
    X, y = numbers(60)
    path = tmp_path / "model.lsvm"
    simple.save(path)
    loaded = localsvm.load(path)
    clone(simple).fit(X, -y).save(path)
    np.testing.assert_array_equal(loaded.predict(X), simple.predict(X))
    loaded.save(path)
    np.testing.assert_array_equal(localsvm.load(path).predict(X), simple.predict(X))


def _predict(path):
    return localsvm.load(path).predict(numbers(60)[0])


def test_several_processes_can_load_one_file(simple, tmp_path):
    path = tmp_path / "model.lsvm"
    simple.save(path)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for found in pool.map(_predict, [path] * 4):
            np.testing.assert_array_equal(found, simple.predict(numbers(60)[0]))


LOADED = """
import sys, localsvm.estimators
sys.modules["pickle"] = None  # whoever imports it fails
localsvm.load(sys.argv[1]).predict([[0.5, 0.5]])
"""


def test_no_pickle_is_needed_to_load(simple, tmp_path):
    simple.save(tmp_path / "model.lsvm")
    subprocess.run([sys.executable, "-c", LOADED, tmp_path / "model.lsvm"], check=True, timeout=120)
