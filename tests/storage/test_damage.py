"""Whatever happens to a model file: it is refused, or predicts what it did before."""

import random
from contextlib import suppress

import numpy as np
import pytest
from files import ModelFile
from fitted import UNFITTED, predictions, toy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from single import svc

import localsvm
from localsvm import Grid, InvalidFile, LocalSVMError
from localsvm.cell.trained import PHASES
from localsvm.storage.record import pack, unpack

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # models that were tampered with may well overflow
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The bytes of a small file, a place to write damaged ones to, and what the model predicts."""
    path = tmp_path_factory.mktemp("tiny") / "model.lsvm"
    X, y = toy(30, 2)[0] + 100 * np.repeat([0, 1, 2], 10)[:, None], np.arange(30) % 2
    clf = svc(grid=Grid(widths=[1.0], lams=[0.01]), cell_size=10, scaling="minmax", n_folds=2, n_jobs=1)
    clf.fit(X, y).save(path)
    assert clf.n_cells_ == 3 and all(cell.functions.sums for cell in clf.model_.cells)
    return path.read_bytes(), path, X, clf.predict_proba(X)


def refused_or_the_same(content, tiny):
    _, path, X, expected = tiny
    path.write_bytes(content)
    try:
        found = localsvm.load(path).predict_proba(X)
    except InvalidFile as error:
        assert str(path) in str(error)
        return True
    np.testing.assert_array_equal(found, expected)
    return False


def flipped(content, place, change):
    return content[:place] + bytes([content[place] ^ change]) + content[place + 1 :]


def test_every_flip_of_a_byte_is_detected_or_harmless(tiny):
    content, random_ = tiny[0], random.Random(0)
    for place in (*range(70), *range(len(content) - 40, len(content)), *random_.choices(range(len(content)), k=1500)):
        refused = refused_or_the_same(flipped(content, place, 1 << random_.randrange(8)), tiny)
        # All rows are predicted, so all cells are read: only the padding of the head may be anything.
        assert refused or 12 <= place < 64


def test_every_truncation_is_detected(tiny):
    content = tiny[0]
    sizes = [*range(120), *random.Random(1).sample(range(120, len(content)), k=800), len(content) - 1]
    assert all(refused_or_the_same(content[:size], tiny) for size in sizes)


@given(st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_damage_is_detected_or_harmless(tiny, data):
    content = tiny[0]
    begin = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(begin, min(len(content), begin + 300)))
    refused_or_the_same(content[:begin] + data.draw(st.binary(max_size=300)) + content[end:], tiny)


# ---------------------------------------------------- files that were tampered with by someone who knows checksums


def _put(path, value):
    """Return a function that changes one field of a record."""

    def change(record):
        *folders, name = path.split("/")
        for folder in folders:
            record = record[int(folder) if folder.isdigit() else folder]
        record[name] = value(record[name]) if callable(value) else value

    return change


def _remove(path):
    def change(record):
        *folders, name = path.split("/")
        for folder in folders:
            record = record[folder]
        del record[name]

    return change


def _with(place, number):
    def change(array):
        array = array.copy()
        array[place] = number
        return array

    return change


OF_THE_MODEL = {
    "no scaling": _remove("scaling"),
    "no table": _put("table", None),
    "no cells": _put("places", np.zeros((0, 2), dtype=np.int64)),
    "a scaling of another kind": _put("scaling/kind", "cubic"),
    "a scaling of fewer columns": _put("scaling/shift", lambda shift: shift[:1]),
    "a scaling in single precision": _put("scaling/factor", lambda factor: factor.astype(np.float32)),
    "a partition of another kind": _put("partition/kind", "hexagons"),
    "one cell": _put("partition/kind", "none"),
    "centers of other columns": _put("partition/centers", lambda centers: centers[:, :1]),
    "a tree that leads back": _put("partition/node_children", _with(0, 0)),
    "a tree that leads nowhere": _put("partition/node_children", _with(0, 99)),
    "a cell that is not there": _put("partition/node_children", _with(0, -99)),
    "an empty node": _put("partition/ends", lambda ends: np.append(ends, ends[-1])),
    "nodes without end": _put("partition/ends", lambda ends: ends + 1),
    "a task of another kind": _put("reduction/task", "three classes"),
    "a loss of another name": _put("reduction/loss/name", "os.system"),
    "no function": _put("reduction/positive_weights", ()),
    "another function": _put("reduction/machine", 3),
    "many functions": _put("reduction/positive_weights", (1.0,) * 100_000),
    "a threshold of text": _put("reduction/threshold", "0"),
    "probabilities of three classes": _put("calibration/present", lambda present: present[:, [0, 1, 1]]),
    "probabilities of other curves": _put("calibration/increments", lambda increments: increments[..., :2]),
    "no probabilities": _put("calibration", None),
    "features below zero": _put("n_features", -1),
    "other features": _put("n_features", 3),
    "a cell before the file": _put("places", _with((0, 0), -64)),
    "a cell behind the file": _put("places", _with((0, 0), 2**62)),
    "a cell between": _put("places", _with((0, 0), 65)),
    "a cell of more than all bytes": _put("places", _with((0, 1), 2**62)),
    "a cell of less than no bytes": _put("places", _with((0, 1), -64)),
    "a table of other lengths": _put("table/radius", lambda radius: radius[1:]),
    "problems below zero": _put("table/n_problems", _with(0, -5)),
    "labels that do not fit": _put("info/estimator/fitted/classes_", np.arange(3)),
    "no labels": _put("info/estimator/fitted/classes_", None),
    "another estimator": _put("info/estimator/name", "LocalSVR"),
    "an estimator of another module": _put("info/estimator/name", "os.system"),
    "an unknown parameter": lambda record: record["info"]["estimator"]["parameters"].update(secret=1),
    "parameters that numbers name": lambda record: record["info"]["estimator"]["parameters"].update({1: 1, (): 2}),
    "a grid that is none": _put("info/estimator/parameters/grid", {"n_widths": -3}),
    "other columns": _put("info/estimator/fitted/n_features_in_", 5),
    "names of other columns": _put("info/estimator/fitted/feature_names_in_", np.array(["a"], dtype=object)),
}

OF_A_CELL = {
    "another cell": _put("number", 1),
    "no functions": _remove("functions"),
    "another kernel": _put("functions/kernel", "linear"),
    "no width": _put("functions/sums/0/width", 0.0),
    "a width that is none": _put("functions/sums/0/width", float("nan")),
    "support vectors of other columns": _put("functions/sums/0/support_vectors", lambda rows: rows[:, :1]),
    "support vectors in double precision": _put(
        "functions/sums/0/support_vectors", lambda rows: rows.astype(np.float64)
    ),
    "more coefficients": _put("functions/sums/0/coefficients", lambda numbers: np.repeat(numbers, 2, axis=1)),
    "another output": _put("functions/sums/0/outputs", np.array([1])),
    "an output below zero": _put("functions/sums/0/outputs", np.array([-1])),
    "bounds of two outputs": _put("functions/bounds", np.zeros((2, 2))),
    "constants of two outputs": _put("functions/constants", np.zeros(2)),
    "risks of another grid": _put("risks", np.zeros((2, 2))),
    "certificates of another grid": _put("certificates/status", np.zeros((1, 1, 9), dtype=np.int8)),
    "samples below zero": _put("n_samples", -1),
}


@pytest.mark.parametrize("name", OF_THE_MODEL)
def test_a_model_that_makes_no_sense_is_refused_when_it_is_opened(tiny, name):
    content, path, *_ = tiny
    path.write_bytes(ModelFile(content).with_whole(OF_THE_MODEL[name]))
    with pytest.raises(InvalidFile, match=r"makes no sense: .* It was not written by localsvm"):
        localsvm.load(path)


@pytest.mark.parametrize("name", OF_A_CELL)
def test_a_cell_that_makes_no_sense_is_refused_when_it_is_touched(tiny, name):
    content, path, X, _ = tiny
    path.write_bytes(ModelFile(content).with_cell(0, OF_A_CELL[name]))
    loaded = localsvm.load(path)
    with pytest.raises(InvalidFile, match=r"cell 0 of .* makes no sense: .* It was not written by localsvm"):
        loaded.predict(X)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("phases", (*PHASES[1:], "other")),
        ("phases", None),
        ("cells", np.zeros((1, 1))),
        ("fit", {"total": "long"}),
        ("fit", {"total": None}),
    ],
)
def test_seconds_that_make_no_sense_are_refused_when_the_model_is_opened(tiny, field, value):
    content, path, *_ = tiny
    file = ModelFile(content)
    seconds = {**unpack(file.seconds, "seconds"), field: value}
    path.write_bytes(file.with_records(seconds=b"".join(pack(seconds))))
    with pytest.raises(InvalidFile, match=r"makes no sense: .* It was not written by localsvm"):
        localsvm.load(path)


def test_predictions_that_are_no_numbers_of_scores_are_refused_when_the_model_is_opened(tmp_path):
    estimator, X, y = UNFITTED["quantiles"]()
    path = tmp_path / "model.lsvm"
    estimator.fit(X, y).save(path)
    put = _put("info/estimator/fitted/shown", ["a", None, [1]])
    path.write_bytes(ModelFile.read(path).with_whole(put))
    with pytest.raises(InvalidFile, match="makes no sense: its predictions are not among the scores"):
        localsvm.load(path)


OF_AN_ENCODING = {
    "a category at numbers": (_put("categories/0/column", 2), "it takes its column 2, a number, for something else"),
    "numbers at a category": (_put("numbers/column", np.ones_like), "it takes its column 1, a category, for something"),
    "no knots": (
        lambda columns: columns["numbers"].update(knots=np.zeros(0), ends=np.zeros_like(columns["numbers"]["ends"])),
        "a column that varies has none",
    ),
}


@pytest.mark.parametrize("name", OF_AN_ENCODING)
def test_an_encoding_that_makes_no_sense_is_refused_when_the_model_is_opened(tmp_path, name):
    estimator, X, y = UNFITTED["members, frame"]()
    path, (change, words) = tmp_path / "model.lsvm", OF_AN_ENCODING[name]
    estimator.fit(X, y).save(path)
    changed = ModelFile.read(path).with_whole(lambda record: change(record["info"]["estimator"]["fitted"]["columns_"]))
    path.write_bytes(changed)
    with pytest.raises(InvalidFile, match=rf"'columns_' of .* makes no sense: .*{words}"):
        localsvm.load(path)


def places_in(value, path=()):
    """All fields of a record, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield (*path, name)
        yield from places_in(item, (*path, name))


ODD = [
    None,
    True,
    -1,
    0,
    3,
    10**6,
    2**70,
    -2.5,
    np.nan,
    np.inf,
    "",
    "gauss",
    [],
    (),
    {},
    (1.0,),
    np.zeros(0),
    np.ones(3),
]
CHANGES = [
    lambda array: array[:-1],
    lambda array: np.concatenate([array, array]),
    lambda array: array.T,
    lambda array: array.astype(np.float32),
    lambda array: np.zeros_like(array),
    lambda array: (-array.astype(np.float64)).astype(array.dtype),
    lambda array: np.full_like(array, 2**31),
]


@pytest.mark.parametrize("kind", ["voronoi", "chunks", "overlap", "pairs", "machines", "frame", "quantiles"])
def test_no_field_can_be_changed_to_anything_that_does_more_than_predict_or_be_refused(kind, tmp_path):
    estimator, X, y = UNFITTED[kind]()
    path = tmp_path / "model.lsvm"
    estimator.set_params(n_jobs=1).fit(X, y).save(path)
    file, random_ = ModelFile.read(path), random.Random(kind)

    def change(record):
        *folders, name = random_.choice(list(places_in(record)))
        for folder in folders:
            record = record[folder]
        is_numbers = isinstance(record[name], np.ndarray) and record[name].dtype.kind in "iuf" and record[name].ndim
        new = random_.choice([*ODD, *CHANGES] if is_numbers else ODD)
        record[name] = new(record[name]) if callable(new) else new

    for _ in range(150):
        in_cell = random_.random() < 0.4
        path.write_bytes(file.with_cell(0, change) if in_cell else file.with_whole(change))
        try:
            loaded = localsvm.load(path)
        except InvalidFile:
            continue
        with suppress(LocalSVMError):
            predictions(loaded, X)
