"""A fit goes on from its checkpoint and ends with the same model; no other fit does."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from files import ModelFile
from fitted import SMALL, UNFITTED, numbers, toy
from partitions import Halves
from single import svc, svr
from sklearn.base import clone

import localsvm.fit.prepare
import localsvm.fit.training
import localsvm.metric.relevance
from localsvm import Grid, InvalidFile, InvalidParameter, LocalQuantileRegressor
from localsvm.storage.checkpoint import Checkpoint
from localsvm.storage.manifest import read_manifest
from localsvm.storage.record import pack

pytestmark = [
    pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::localsvm.PrecisionWarning"),
]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cells"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A fit with its checkpoint, to be copied."""
    path = tmp_path_factory.mktemp("fitted") / "cells"
    return svc(**SMALL, checkpoint=path).fit(*toy()), path


@pytest.fixture
def begun(fitted, folder):
    """A copy of its directory without every other cell."""
    shutil.copytree(fitted[1], folder)
    for path in cells_in(folder)[::2]:
        path.unlink()
    return folder


def cells_in(folder):
    return sorted(folder.glob("cell-*.rec"))


def content(estimator, folder):
    """The bytes of the model file, without what the fit took."""
    estimator.save(folder.parent / "model.lsvm")
    return ModelFile.read(folder.parent / "model.lsvm").before_seconds


def go_on(folder, X=None, y=None, **parameters):
    data = toy() if X is None else (X, y)
    return svc(**{**SMALL, "checkpoint": folder, **parameters}).fit(*data)


# ------------------------------------------------------------------------------------------- going on


@pytest.mark.parametrize("kind", [kind for kind in UNFITTED if kind != "random state"])
def test_a_fit_that_goes_on_ends_with_the_same_model_to_the_bit(kind, folder):
    estimator, X, y = UNFITTED[kind]()
    expected = content(clone(estimator).fit(X, y), folder)
    estimator.set_params(checkpoint=folder)
    assert content(estimator.fit(X, y), folder) == expected
    for path in cells_in(folder)[1::2]:
        path.unlink()
    assert content(estimator.fit(X, y), folder) == expected
    assert content(estimator.fit(X, y), folder) == expected


def test_a_partition_of_ones_own_goes_on_too(folder):
    X, y = toy()
    partition = Halves()
    plain = svc(grid=SMALL["grid"], partition=partition, scaling=None).fit(X, y)
    kept = clone(plain).set_params(checkpoint=folder, partition=partition)
    for _ in range(2):
        np.testing.assert_array_equal(kept.fit(X, y).decision_function(X), plain.decision_function(X))
        cells_in(folder)[0].unlink()


def test_only_cells_that_are_missing_are_trained(begun, monkeypatch):
    kept = {path.name: path.stat() for path in cells_in(begun)}
    trained, train_cell = [], localsvm.fit.training.train_cell

    def noted(task, *rest, **options):
        trained.append(task.number)
        return train_cell(task, *rest, **options)

    monkeypatch.setattr(localsvm.fit.training, "train_cell", noted)
    n_cells = go_on(begun).n_cells_
    assert sorted(trained) == list(range(0, n_cells, 2))
    assert len(cells_in(begun)) == n_cells
    for name, before in kept.items():
        after = (begun / name).stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    trained.clear()
    go_on(begun)
    assert trained == []


def test_a_fit_that_was_stopped_keeps_the_cells_it_had_finished(fitted, folder):
    def stop(progress):
        if progress.cells_done >= 2:
            raise KeyboardInterrupt

    clf = svc(**SMALL, checkpoint=folder, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(*toy(), callback=stop)
    assert 2 <= len(cells_in(folder)) <= fitted[0].n_cells_
    assert content(clf.set_params(n_jobs=None).fit(*toy()), folder) == content(fitted[0], folder)


def test_order_of_rows_precision_threads_memory_and_talk_do_not_matter(fitted, begun):
    X, y = toy()
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = go_on(begun, X[order].astype(np.float64), y[order], n_jobs=3, verbose=1, max_memory="1GB")
    assert cells_in(begun) == [begun / path.name for path in cells_in(fitted[1])]
    np.testing.assert_array_equal(shuffled.decision_function(X), fitted[0].decision_function(X))


def test_rows_of_weight_zero_are_as_if_absent(begun):
    X, y = toy()
    weight = np.append(np.ones(len(y)), 0)
    clf = svc(**SMALL, checkpoint=begun)
    clf.fit(np.append(X, 1e6 * X[:1], axis=0), np.append(y, y[0]), sample_weight=weight)


# ---------------------------------------------------------------------------------- files of no trust


def damaged(path):
    return path.read_bytes()[:-100] + bytes([path.read_bytes()[-100] ^ 1]) + path.read_bytes()[-99:]


DAMAGES = {
    "flipped": damaged,
    "cut": lambda path: path.read_bytes()[: path.stat().st_size // 2],
    "empty": lambda path: b"",
    "foreign": lambda path: b"a,b\n1,2\n",
    "another cell": lambda path: path.with_name("cell-000003.rec").read_bytes(),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_file_that_cannot_be_trusted_is_as_if_it_were_not_there(fitted, folder, name):
    shutil.copytree(fitted[1], folder)
    for path in (folder / "cell-000000.rec", folder / "cell-000001.rec"):
        path.write_bytes(DAMAGES[name](path))
    assert content(go_on(folder), folder) == content(fitted[0], folder)
    assert [path.stat().st_size for path in cells_in(folder)] == [path.stat().st_size for path in cells_in(fitted[1])]


def test_a_cell_of_other_rows_is_not_taken(fitted, folder):
    """As when a directory is put together from two."""
    X, y = toy()
    other = folder.parent / "other"
    go_on(other, 2 * X + 1, -y)
    shutil.copytree(fitted[1], folder)
    for path in cells_in(other):
        shutil.copy(path, folder)
    assert content(go_on(folder), folder) == content(fitted[0], folder)


def test_files_that_were_never_finished_are_removed(begun):
    left = begun / "cell-000001.rec.0123abcd.part"
    left.write_bytes(b"half a cell")
    mine = begun / "notes.part"
    mine.touch()
    go_on(begun)
    assert not left.exists()
    assert mine.exists()


# ------------------------------------------------------------------------------------------- other fits

CHANGED = {
    "cell_size": (30, r"cell_size was 40, is 30"),
    "n_folds": (3, r"n_folds was 5, is 3"),
    "grid": (Grid(n_widths=3, n_lams=4), r"grid\.n_lams was 3, is 4"),
    "partition": ("chunks", r"partition was 'voronoi', is 'chunks'"),
    "kernel": ("laplace", r"kernel was 'auto', is 'laplace'"),
    "relevance": (None, r"relevance was 'auto', is None"),
    "search": ("racing", r"search was 'auto', is 'racing'"),
    "scaling": ("standard", r"scaling was 'minmax', is 'standard'"),
    "refit": ("retrain", r"refit was 'combine', is 'retrain'"),
    "random_state": (5, r"random_state was 0, is 5"),
    "loss": ("squared", r"loss\.name was 'hinge', is 'squared margin'"),
    "class_weight": ({1: 3}, r"class_weight was None, is \[1\.0, 3\.0\]"),
    "objective": ("f1", r"positive_weights was \[1\.0\], is \[1\.0, .*objective was 'accuracy', is 'f1'"),
    "false_alarm": (0.1, r"false_alarm was None, is 0\.1"),
}


@pytest.fixture
def no_partition(monkeypatch):
    def refuse(*_):
        pytest.fail("work had started")

    monkeypatch.setattr(localsvm.fit.prepare, "build_partition", refuse)


@pytest.mark.parametrize("name", CHANGED)
def test_other_settings_are_refused_with_the_difference(begun, name, no_partition):
    value, words = CHANGED[name]
    sentence = rf"^checkpoint='.*' was made by another fit: (.*; )?{words}.*\. Give another directory, or fit as before"
    with pytest.raises(InvalidParameter, match=sentence):
        go_on(begun, **{name: value})


def test_all_differences_are_named(begun):
    with pytest.raises(
        InvalidParameter, match="cell_size was 40, is 30; n_folds was 5, is 2; the data had 150 rows, has"
    ):
        X, y = toy()
        go_on(begun, X[:100], y[:100], cell_size=30, n_folds=2)


def test_another_task_is_refused(begun):
    X, y = numbers(150)
    with pytest.raises(InvalidParameter, match="task was 'two classes', is 'numbers'"):
        svr(**SMALL, checkpoint=begun).fit(X, y)


def test_levels_of_another_number_are_refused(folder):
    X, y = numbers()
    LocalQuantileRegressor(**SMALL, quantile=0.5, checkpoint=folder).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"losses was .*0\.5.*, is .*0\.6"):
        LocalQuantileRegressor(**SMALL, quantile=0.6, checkpoint=folder).fit(X, y)


def moved(X, y):
    X = X.copy()
    X[7, 1] = np.nextafter(X[7, 1], np.float32(9))
    return X, y, None


def swapped(X, y):
    """The same features and the same targets, but not together."""
    y = y.copy()
    a, b = np.flatnonzero(y > 0)[0], np.flatnonzero(y < 0)[0]
    y[[a, b]] = y[[b, a]]
    return X, y, None


DATA = {
    "more rows": (lambda X, y: (np.append(X, X[:3], axis=0), np.append(y, y[:3]), None), "had 150 rows, has 153"),
    "fewer columns": (lambda X, y: (X[:, :2], y, None), "had 3 features, has 2"),
    "a number that is a little larger": (moved, "the features have other values"),
    "targets that are swapped": (swapped, "the targets or weights have other values"),
    "another target": (lambda X, y: (X, np.append(-y[0], y[1:]), None), "the targets or weights have other values"),
    "another weight": (lambda X, y: (X, y, np.append(2, np.ones(149))), "the targets or weights have other values"),
}


@pytest.mark.parametrize("name", DATA)
def test_other_data_is_refused_with_the_difference(begun, name, no_partition):
    change, words = DATA[name]
    X, y, weight = change(*toy())
    before = {path: path.read_bytes() for path in begun.iterdir()}
    with pytest.raises(InvalidParameter, match=f"was made by another fit: .*{words}"):
        svc(**SMALL, checkpoint=begun).fit(X, y, sample_weight=weight)
    assert {path: path.read_bytes() for path in begun.iterdir()} == before


@pytest.mark.parametrize(("what", "folds"), [("groups", "by groups"), ("time", "by time")])
def test_a_fit_with_groups_or_times_goes_on_with_those_only(folder, what, folds):
    X, y = toy()
    given, order = np.arange(150) // 5, np.random.default_rng(0).permutation(150)
    expected = content(svc(**SMALL, checkpoint=folder).fit(X, y, **{what: given}), folder)
    # The same groups by other names, in another order of the rows, are the same fit.
    kept = {path: path.read_bytes() for path in cells_in(folder)}
    again = svc(**SMALL, checkpoint=folder).fit(X[order], y[order], **{what: 2 * given[order] + 5})
    assert content(again, folder) == expected
    with pytest.raises(InvalidParameter, match=f"folds was '{folds}', is None"):
        svc(**SMALL, checkpoint=folder).fit(X, y)
    with pytest.raises(InvalidParameter, match=f"the targets, weights or {what[:4]}.* have other values"):
        svc(**SMALL, checkpoint=folder).fit(X, y, **{what: np.append(given[1:], 0)})
    assert {path: path.read_bytes() for path in cells_in(folder)} == kept


def test_another_version_is_refused(begun):
    manifest = json.loads((begun / "manifest.json").read_text())
    assert manifest["settings"]["localsvm"] == localsvm.__version__
    rewrite(begun, lambda manifest: manifest["settings"].update(localsvm="0.0.1"))
    with pytest.raises(InvalidParameter, match=f"localsvm was '0.0.1', is '{localsvm.__version__}'"):
        go_on(begun)


def rewrite(folder, change):
    """Change a manifest by someone who knows of checksums."""
    content = json.loads((folder / "manifest.json").read_text())
    change(content)
    parts = {name: content[name] for name in ("settings", "data", "info")}
    content["checksum"] = crc32(json.dumps(parts, sort_keys=True).encode())
    (folder / "manifest.json").write_text(json.dumps(content))


# ----------------------------------------------------------------------------------------- the directory


def test_a_directory_of_something_else_is_refused_and_left_alone(folder):
    folder.mkdir()
    (folder / "thesis.tex").write_text("important")
    with pytest.raises(
        InvalidParameter, match=r"has files of something else \(first: 'thesis\.tex'\): give an empty or"
    ):
        go_on(folder)
    assert os.listdir(folder) == ["thesis.tex"]


def test_a_file_is_refused(folder):
    folder.write_text("important")
    with pytest.raises(InvalidParameter, match="is a file: give a directory"):
        go_on(folder)
    assert folder.read_text() == "important"


def test_a_directory_is_made_with_those_above_it(folder):
    go_on(folder / "a" / "b")
    assert (folder / "a" / "b" / "manifest.json").exists()


def test_a_directory_is_given_as_text_path_or_checkpoint(folder):
    for checkpoint in (str(folder), Path(folder), Checkpoint(folder), Checkpoint(str(folder), {"a": 1})):
        go_on(folder, checkpoint=checkpoint)
    with pytest.raises(InvalidParameter, match=r"^checkpoint=3: give None or the path of a directory\.$"):
        go_on(folder, checkpoint=3)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"name": "web app"}', '{"format": 1, "checksum": 0}'])
def test_a_manifest_that_is_none_is_refused(folder, text):
    folder.mkdir()
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InvalidFile, match=r"manifest\.json' is damaged"):
        go_on(folder)
    with pytest.raises(InvalidFile, match=r"manifest\.json' is damaged"):
        read_manifest(folder)


def test_every_flip_of_a_byte_in_a_manifest_is_detected_or_harmless(begun):
    path, expected = begun / "manifest.json", read_manifest(begun)
    text = path.read_bytes()
    for place in range(len(text)):
        path.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
        try:
            assert read_manifest(begun) == expected  # white space
        except InvalidFile as error:
            assert "manifest.json" in str(error)


def test_a_manifest_of_a_later_format_is_refused(begun):
    rewrite(begun, lambda manifest: manifest.update(format=2))
    with pytest.raises(InvalidFile, match="has format version 2"):
        go_on(begun)


def test_there_is_no_manifest_in_an_empty_directory(tmp_path):
    with pytest.raises(InvalidFile, match="is not there: no fit has kept cells"):
        read_manifest(tmp_path)


def test_what_the_caller_wants_to_remember_is_kept_and_decides_nothing(fitted, begun):
    assert read_manifest(begun).info == {}
    info = {"command": ["train", "data.csv"], "target": "y"}
    go_on(begun, checkpoint=Checkpoint(begun, info))
    assert read_manifest(begun).info == info
    go_on(begun)
    assert read_manifest(begun).info == info
    go_on(begun, checkpoint=Checkpoint(begun, {"target": "z"}))
    assert read_manifest(begun).info == {"target": "z"}


def test_one_fit_at_a_time(fitted, folder):
    entered, go = threading.Event(), threading.Event()

    def wait(progress):
        entered.set()
        go.wait(60)

    first = threading.Thread(target=lambda: svc(**SMALL, checkpoint=folder).fit(*toy(), callback=wait))
    first.start()
    try:
        assert entered.wait(60)
        with pytest.raises(InvalidParameter, match="is in use by another fit: wait for it, or give another directory"):
            go_on(folder)
    finally:
        go.set()
        first.join()
    assert content(go_on(folder), folder) == content(fitted[0], folder)


# ------------------------------------------------------------------------------------------- progress


def test_progress_counts_restored_cells_as_done_and_its_rate_is_that_of_the_others(fitted, begun):
    events = []
    restored = [cell for number, cell in enumerate(fitted[0].cells_) if number % 2]
    n_restored = sum(cell["size"] for cell in restored)
    svc(**SMALL, checkpoint=begun).fit(*toy(), callback=events.append)
    assert (events[0].cells_done, events[0].samples_done) >= (len(restored), n_restored)
    assert (events[-1].cells_done, events[-1].samples_done) == (fitted[0].n_cells_, 150)
    for event in events:
        assert event.samples_restored == n_restored
        assert event.rate == pytest.approx((event.samples_done - n_restored) / event.seconds)


def test_progress_ends_where_there_is_nothing_to_train(fitted, folder):
    shutil.copytree(fitted[1], folder)
    events = []
    svc(**SMALL, checkpoint=folder).fit(*toy(), callback=events.append)
    (event,) = events
    assert (event.cells_done, event.samples_done, event.rate) == (fitted[0].n_cells_, 150, 0)


# ----------------------------------------------------------------------------- what the system refuses

LIMITED = """
import resource, sys, warnings
sys.path.insert(0, sys.argv[2])
from fitted import SMALL, toy
from localsvm import CannotWrite, LocalSVC

warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))  # enough for a manifest, not for a cell
try:
    LocalSVC(**SMALL, objective="accuracy", checkpoint=sys.argv[1]).fit(*toy())
except CannotWrite as error:
    print(error)
"""

UNPRIVILEGED = """
import os, sys
from localsvm import CannotWrite, LocalSVC

if os.getuid() == 0:  # root may write everywhere
    os.setuid(65534)
try:
    LocalSVC(checkpoint=sys.argv[1]).fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
except CannotWrite as error:
    print(error)
"""


def said(script, folder):
    support = str(Path(__file__).parents[1] / "support")
    run = subprocess.run([sys.executable, "-c", script, folder, support], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def test_a_disk_without_room_gives_an_error_and_keeps_what_is_there(fitted, begun):
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    assert said(LIMITED, begun).startswith(f"cannot write '{begun}/cell-")
    after = {path.name: path.read_bytes() for path in begun.iterdir()}
    assert before.items() <= after.items()
    assert not list(begun.glob("*.part"))
    assert content(go_on(begun), begun) == content(fitted[0], begun)


def test_a_read_only_directory_gives_an_error():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        assert said(UNPRIVILEGED, folder).startswith(f"cannot write '{folder}': permission denied. What is there")
        assert os.listdir(folder) == []


# ---------------------------------------------------------------------------------------------------- stages


def stages_in(folder):
    return sorted(folder.glob("stage-*.rec"))


@pytest.fixture
def prepared(folder):
    """The directory of a fit that learned its metric, and the bytes of its model."""
    X, y = toy(1500)
    options = {"scaling": "auto", "relevance": "auto", "kernel": "auto", "cell_size": 500, "n_folds": 2, "grid": 3}
    fit = partial(svc(**options, checkpoint=folder).fit, X, y)
    return fit, content(fit(), folder)


def test_stages_that_are_kept_are_not_repeated(prepared, folder, monkeypatch):
    fit, expected = prepared
    made = []
    monkeypatch.setattr(localsvm.metric.relevance, "train_cell", lambda *args, **_: made.append(args))
    monkeypatch.setattr(localsvm.fit.prepare, "build_partition", lambda *args: made.append(args))
    assert content(fit(), folder) == expected
    assert not made


@pytest.mark.parametrize("flaw", ["cut", "flipped", "other values"])
def test_a_stage_that_cannot_be_trusted_is_as_if_it_were_not_there(prepared, folder, flaw):
    fit, expected = prepared
    for path in stages_in(folder):
        record = bytearray(path.read_bytes())
        if flaw == "cut":
            record = record[:-1]
        elif flaw == "flipped":
            record[len(record) // 2] ^= 1
        else:
            record = b"".join(pack([[np.zeros(3)], {"order": 1}]))
        path.write_bytes(record)
    assert content(fit(), folder) == expected


def test_rows_in_another_order_do_not_take_the_cells_of_their_numbers(prepared, folder):
    fit, expected = prepared
    X, y = fit.args
    for path in cells_in(folder):
        path.unlink()
    order = np.random.default_rng(0).permutation(len(y))
    assert content(fit.func(X[order], y[order]), folder) == expected
