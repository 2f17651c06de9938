"""Model files: what they are, that cells are read when they are touched, and sentences for what is no model file."""

import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from files import ModelFile, header_of
from fitted import SMALL, toy
from single import svc

import localsvm
from localsvm import InvalidFile
from localsvm.storage.model_file import open_model, write_model

pytestmark = pytest.mark.filterwarnings("ignore::localsvm.GridEdgeWarning")


@pytest.fixture(scope="module")
def clf():
    return svc(**SMALL).fit(*toy(300))


@pytest.fixture
def path(clf, tmp_path):
    clf.save(tmp_path / "model.lsvm")
    return tmp_path / "model.lsvm"


# ------------------------------------------------------------------------------------------ the format


def test_a_file_is_laid_out_as_documented(clf, path):
    content = path.read_bytes()
    file = ModelFile(content)
    assert content[:12] == b"\x89LSVM\r\n\x1a" + struct.pack("<I", 1)
    assert content[-8:] == b"LSVM-end"
    assert len(file.cells) == clf.n_cells_ > 3
    assert (file.places[:, 0] % 64 == 0).all()
    assert b"".join([file.head, *file.cells, file.whole, file.seconds]) == content[:-36]
    whole = header_of(file.whole)
    assert whole["library"] == localsvm.__version__
    assert whole["reduction"]["task"] == "two classes"
    assert whole["partition"]["kind"] == "voronoi"
    assert [header_of(cell)["number"] for cell in file.cells] == list(range(clf.n_cells_))


def test_two_fits_write_the_same_bytes_but_for_the_seconds(clf, path, tmp_path):
    X, y = toy(300)
    again = svc(**SMALL).fit(X[::-1], y[::-1])
    again.save(tmp_path / "again.lsvm")
    assert ModelFile.read(tmp_path / "again.lsvm").before_seconds == ModelFile.read(path).before_seconds


def test_the_table_has_a_row_for_every_cell(clf, path):
    table = open_model(path).table
    assert table.size.tolist() == [cell.n_samples for cell in clf.model_.cells]
    assert table.support_vectors.tolist() == [cell.n_support for cell in clf.model_.cells]
    assert table.risk.tolist() == [cell.risk for cell in clf.model_.cells]


# --------------------------------------------------------------------------------- cells that are touched


def test_prediction_needs_the_cells_it_touches_only(clf, path):
    X, _ = toy(300)
    cell_of_row = clf.model_.partition.assign(clf.model_.scaling.apply(X))
    damaged = bytearray(path.read_bytes())
    begin, size = ModelFile.read(path).places[2]
    damaged[begin + size // 2] ^= 1
    path.write_bytes(damaged)
    loaded = localsvm.load(path)
    others = X[cell_of_row != 2]
    np.testing.assert_array_equal(loaded.predict_proba(others), clf.predict_proba(others))
    assert loaded.cells_ == clf.cells_
    for _ in range(2):  # it does not become right by being asked again
        with pytest.raises(InvalidFile, match=r"^cell 2 of '.*model.lsvm' is damaged: its checksum is wrong"):
            loaded.predict(X[cell_of_row == 2])


def test_verifying_reads_every_cell(path):
    open_model(path).verify()
    damaged = bytearray(path.read_bytes())
    damaged[ModelFile.read(path).places[-1, 0] + 100] ^= 1
    path.write_bytes(damaged)
    stored = open_model(path)
    with pytest.raises(InvalidFile, match="is damaged"):
        stored.verify()


def test_verifying_compares_the_cells_with_the_table(path):
    def halve(cell):
        cell["risk"] /= 2

    path.write_bytes(ModelFile.read(path).with_cell(1, halve))
    stored = open_model(path)
    with pytest.raises(InvalidFile, match="risk of some cell"):
        stored.verify()


def test_cells_are_a_sequence(clf, path):
    cells = localsvm.load(path).model_.cells
    assert len(cells) == len(clf.model_.cells)
    assert cells[-1].number == len(cells) - 1
    assert [cell.number for cell in cells[1:3]] == [1, 2]
    assert [cell.number for cell in reversed(cells)] == list(range(len(cells)))[::-1]
    assert cells[2] is cells[2]
    with pytest.raises(IndexError):
        cells[len(cells)]


def test_the_arrays_of_a_cell_are_those_of_the_file(path):
    part = next(cell.functions.sums[0] for cell in localsvm.load(path).model_.cells if cell.functions.sums)
    assert not part.support_vectors.flags.owndata
    assert not part.support_vectors.flags.writeable
    assert part.support_vectors.ctypes.data % 64 == 0


# --------------------------------------------------------------------------------------- what is no model


def test_a_file_of_something_else_is_refused_with_how_it_begins(tmp_path):
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("model", "x" * 1000)
    contents = {
        "png": b"\x89PNG\r\n\x1a\n" + bytes(1000),
        "pickle": pickle.dumps(list(range(1000))),
        "text": b"a,b,c\n1,2,3\n",
        "byte": b"x",
        "zeros": bytes(4096),
        "changed line ends": b"\x89LSVM\n\x1a" + bytes(1000),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for name in ("zip", *contents):
        begin = (tmp_path / name).read_bytes()[:8]
        with pytest.raises(InvalidFile) as refused:
            localsvm.load(tmp_path / name)
        assert str(refused.value) == (f"'{tmp_path / name}' is not a model file of localsvm: it begins with {begin!r}.")


def test_an_empty_file_a_directory_and_a_pipe_are_refused(tmp_path):
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("empty", "is empty"), (".", "is a directory"), ("pipe", "is no regular file")):
        with pytest.raises(InvalidFile, match=f"' {words}: a model file is needed"):
            localsvm.load(tmp_path / name)


def test_a_file_of_a_later_format_is_refused_with_what_to_do(path):
    content = path.read_bytes()
    path.write_bytes(content[:8] + struct.pack("<I", 2) + content[12:])
    with pytest.raises(InvalidFile, match=r"has format version 2, but localsvm .* reads up to 1\. Install a later"):
        localsvm.load(path)


def test_a_file_that_ends_early_is_refused_with_what_to_do(path):
    content = path.read_bytes()
    for size in (4, 8, 60, 64, 99, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(InvalidFile, match=rf"is not complete: it ends after {size} bytes\. Copy it again, or make"):
            localsvm.load(path)


def test_what_is_appended_is_no_part_of_a_model(path):
    with path.open("ab") as file:
        file.write(bytes(10))
    with pytest.raises(InvalidFile, match="is not complete"):
        localsvm.load(path)


def test_a_model_can_be_written_without_an_estimator(clf, tmp_path):
    path = Path(tmp_path / "model.lsvm")
    write_model(path, clf.model_, {"why": "for once"}, {"total": 1.5})
    stored = open_model(str(path))
    assert (stored.info, stored.seconds) == ({"why": "for once"}, {"total": 1.5})
    assert len(stored.table) == stored.model.partition.centers.shape[0] == clf.n_cells_
