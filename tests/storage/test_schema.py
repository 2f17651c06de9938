"""The schema of files: what is written is read again, and every field is checked."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from files import ModelFile
from fitted import UNFITTED

import localsvm
from localsvm import InvalidFile, InvalidParameter
from localsvm.data.scaling import AffineScaling
from localsvm.partition import WholePartition
from localsvm.storage.parts import PARTITION, SCALING, TASK
from localsvm.storage.record import pack
from localsvm.storage.schema import (
    ANY,
    FINITE,
    FRACTION,
    LEVEL,
    NOT_NEGATIVE,
    ORDERED,
    POSITIVE,
    RISK,
    Fields,
    added,
    array,
    flag,
    integer,
    items,
    maybe,
    names,
    real,
    schema,
    several,
    table,
    text,
)
from localsvm.tasks import Binary, Regression
from localsvm.tasks.losses import Hinge, Squared

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


def read(kind, value, **sizes):
    return Fields({"x": value}, "the record").read("x", kind, **sizes)


# ------------------------------------------------------------------------------------------ kinds of fields

RIGHT = [
    (text(), "any"),
    (text("a", "b"), "b"),
    (flag(), False),
    (integer(), 0),
    (integer(most=np.inf), 2**100),
    (integer(below="n"), 3),
    (real(), -1.5),
    (real(ANY), np.inf),
    (real(RISK), np.inf),
    (real(FRACTION), 1.0),
    (items(real(POSITIVE), least=1), (5e-324, 1e308)),
    (items(text()), ()),
    (array(np.float64, "n", within=FINITE), np.arange(4.0)),
    (array(np.float64, "n", 2, within=ORDERED), np.tile([-np.inf, np.inf], (4, 1))),
    (array(np.int8, None, ...), np.zeros((3, 1, 2), dtype=np.int8)),
    (array(np.float64, "m", "m"), np.zeros((2, 2))),
    (array(np.int64, None, within=NOT_NEGATIVE, below="n"), np.arange(4)),
    (array(None, 2), np.array(["a", "b"])),
    (names("n"), np.array(["a", "b", "c", "d"], dtype=object)),
    (maybe(integer()), None),
    (table(real(NOT_NEGATIVE)), {"a": 0.0}),
    (table(), {"a": [1, "b"]}),
]


@pytest.mark.parametrize(("kind", "value"), RIGHT)
def test_what_is_allowed_is_written_and_read_as_it_is(kind, value):
    found = read(kind, kind.write(value), n=4)
    assert type(found) is type(value)
    np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("kind", [array(np.float64, None, within=RISK), array(np.float64, None)])
def test_nan_passes_where_it_is_allowed(kind):
    for values in ([np.nan, np.nan], [np.nan, 3.0], []):
        np.testing.assert_array_equal(read(kind, np.array(values)), values)


WRONG = [
    (text("a"), "c", "its x is 'c'"),
    (text(), 1, "'x' is a int, not a str"),
    (flag(), 1, "'x' is a int, not a bool"),
    (integer(), True, "'x' is a bool, not a int"),
    (integer(), -1, "'x' is -1"),
    (integer(), 2**63, f"'x' is {2**63}"),
    (integer(below="n"), 4, "'x' is 4"),
    (real(), 1, "'x' is a int, not a float"),
    (real(), np.float64(1), "'x' is a float64, not a float"),
    (real(FINITE), np.nan, "'x' is nan, but must be finite"),
    (real(RISK), -1.0, "'x' is -1.0, but must be not negative"),
    (real(LEVEL), 1.0, "'x' is 1.0, but must be above 0 and below 1"),
    (items(text(), least=1), (), "'x' has 0 items"),
    (items(real()), [1.0], "'x' is a list, not a tuple"),
    (items(real()), (1.0, 2), "'an item of x' is a int"),
    (array(np.float64, "n"), np.zeros(3), r"shape \(3,\) instead of float64 and \(4\)"),
    (array(np.float64, "n"), np.zeros(4, np.float32), "type float32"),
    (array(np.float64, None, ...), np.array(1.0), r"shape \(\) instead of float64 and \(any, \.\.\.\)"),
    (array(np.float64, "m", "m"), np.zeros((2, 3)), r"instead of float64 and \(2, 2\)"),
    (array(np.float64, None, within=FINITE), np.array([1.0, np.nan]), "must be finite, but is between nan and nan"),
    (array(np.float32, None, within=FINITE), np.array([1, np.inf], np.float32), "must be finite"),
    (array(np.float64, None, within=RISK), np.array([np.nan, -1.0]), "must be not negative, but is between -1.0"),
    (array(np.int64, None, within=NOT_NEGATIVE, below="n"), np.array([4]), "not negative and below 4"),
    (names(1), np.array([3], dtype=object), "'x' has items that are not text"),
    (table(real()), {"a": "b"}, "'x' of the record makes no sense: 'a' is a str"),
    (table(), [], "'x' is a list, not a dict"),
    (several(schema(dict, {})), {}, "'x' is a dict, not a list"),
    (several(schema(dict, {}), least=1), [], "'x' has 0 parts"),
    (several(schema(dict, {})), [3], "'x' 0 of the record makes no sense: it is no table of fields"),
]


@pytest.mark.parametrize(("kind", "value", "words"), WRONG)
def test_what_is_not_allowed_is_refused_with_a_sentence(kind, value, words):
    with pytest.raises(InvalidFile, match=rf"{words}.*\. It was not written by localsvm\.$"):
        read(kind, value, n=4)


def test_a_field_that_is_not_there_is_refused_unless_older_files_lack_it():
    fields = Fields({}, "the record")
    with pytest.raises(InvalidFile, match="it has no 'x'"):
        fields.read("x", integer())
    assert fields.read("x", added(integer(), before=7)) == 7


# ------------------------------------------------------------------------------------------------- objects


def test_an_axis_has_one_length_in_all_of_a_record():
    scaling = SCALING.write(AffineScaling(np.zeros(2), np.ones(2)))
    assert list(scaling) == ["kind", "shift", "factor"]
    record = b"".join(pack({**scaling, "factor": np.ones(3)}))
    with pytest.raises(InvalidFile, match=r"'factor' has .* shape \(3,\) instead of float64 and \(2\)"):
        SCALING.unpack(record, "a scaling")


def test_objects_of_a_users_own_class_are_not_stored():
    class Mine(WholePartition):
        pass

    with pytest.raises(InvalidParameter, match="a Mine is a partition of your own"):
        PARTITION.write(Mine(np.zeros((1, 1), np.float32), np.zeros(1)))
    with pytest.raises(InvalidParameter, match="is a learning task of your own"):
        TASK.write(Binary(Hinge(name="mine")))
    with pytest.raises(InvalidParameter, match="is a learning task of your own"):
        TASK.write(Regression((Squared(),), one_width=True))


# ------------------------------------------------------------------------------------------ every field

MAY_BE_NAN = {"gap", "refit_gap", "risk", "risk_error", "risks", "scores"}
MAY_BE_ANY = {"parameters", "user", "phases", "library"}


def leaves(value, path=()):
    """All fields of a record that are no dicts and no lists of dicts."""
    if isinstance(value, dict | list) and not (path and path[-1] in MAY_BE_ANY):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, name))
    elif path and path[-1] not in MAY_BE_ANY:
        yield path, value


def spoiled(value, name):
    """Values that a field cannot have."""
    yield {"odd": 1}
    if value is not None and not isinstance(value, str):
        yield "odd"
    if isinstance(value, float) and name not in MAY_BE_NAN:
        yield np.nan
    if type(value) is int:
        yield -1
    if isinstance(value, np.ndarray):
        yield np.zeros((1, *value.shape, 1), value.dtype)
        if name not in ("classes_", "feature_names_in_"):
            yield np.zeros_like(value, dtype=np.float16)
        if value.dtype.kind == "f" and value.size and name not in MAY_BE_NAN:
            yield np.full_like(value, np.nan)


@pytest.mark.parametrize("kind", UNFITTED)
def test_no_field_of_a_model_file_goes_unchecked(kind, tmp_path):
    estimator, X, y = UNFITTED[kind]()
    path = tmp_path / "model.lsvm"
    estimator.set_params(n_jobs=1).fit(X, y).save(path)
    file = ModelFile.read(path)
    changed = []
    for of_cell in (True, False):
        record = file.value_of_cell(0) if of_cell else file.value_of_whole()
        for place, value in leaves(record):
            for wrong in spoiled(value, place[-1]):

                def put(values, place=place, wrong=wrong):
                    *folders, name = place
                    for folder in folders:
                        values = values[folder]
                    values[name] = wrong

                path.write_bytes(file.with_cell(0, put) if of_cell else file.with_whole(put))
                try:
                    localsvm.load(path).model_.cells[0]
                    changed.append((place, wrong))
                except InvalidFile as error:
                    assert "makes no sense" in str(error) or "damaged" in str(error)
    assert not changed


def test_hand_made_files_with_right_checksums_load_or_are_refused():
    """A million mutants take half an hour: python tools/fuzz_models.py --mutants 1000000."""
    tool = Path(__file__).parents[2] / "tools" / "fuzz_models.py"
    found = subprocess.run([sys.executable, tool, "--mutants", "2000"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
