"""The model file: everything prediction needs, opened without reading it all.

Enters: a `LocalModel` and a path. Leaves: a file, written whole or not at all; and a `StoredModel`, whose cells are
read from the file, which stays mapped into memory, when they are asked for. docs/files.md has the format:

    magic, format version | record of cell 0 | record of cell 1 | ... | record of the model | record of seconds | end

Opening checks the last three; a cell is checked when it is first touched. All but the record of seconds is decided
by the data and the settings: two fits that give the same model write the same bytes.
"""

from __future__ import annotations

import io
import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.trained import PHASES, TrainedCell
from localsvm.data.durable import replacing
from localsvm.errors import InvalidFile
from localsvm.model.local_model import LocalModel
from localsvm.model.table import CellTable
from localsvm.storage.cell_record import CELL, SECONDS
from localsvm.storage.lazy_cells import LazyCells
from localsvm.storage.parts import CALIBRATION, PARTITION, SCALING, TABLE, TASK
from localsvm.storage.record import ALIGNMENT, pack, unpack
from localsvm.storage.schema import NOT_NEGATIVE, Fields, added, array, integer, items, maybe, table, text
from localsvm.storage.version import __version__
from localsvm.tasks import Binary

FORMAT_VERSION = 1
"""Of the files that are written; all up to this one are read."""

_MAGIC = b"\x89LSVM\r\n\x1a"  # as PNG's: a transfer that changes line ends shows
_HEAD_USED = 12
_HEAD = struct.Struct(f"<8sI{ALIGNMENT - _HEAD_USED}x")
_END = struct.Struct("<QQQI8s")
_END_MAGIC = b"LSVM-end"

_LEAST_OUTPUT = 24  # bytes that a cell has of each of its functions: a constant and two bounds

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds."""

    model: LocalModel
    table: CellTable
    """The cells at a glance."""
    info: dict[str, Any]
    """What the writer added, plain values."""
    seconds: dict[str, float]
    """That the fit took, by phase."""
    library: str
    """The version of localsvm that wrote the file."""
    others: tuple[LocalModel, ...] = ()
    """Models that predict together with this one."""

    def verify(self) -> None:
        """Check every cell; opening has checked the rest."""
        for other in self.others:
            CellTable.of(other.cells)
        found = CellTable.of(self.model.cells)
        for name, column in vars(self.table).items():
            if getattr(found, name).tobytes() != column.tobytes():  # NaN is equal to itself here
                raise InvalidFile(f"the {name} of some cell is not what the model file has in its table.")


def write_model(
    path: PathLike,
    model: LocalModel,
    info: Mapping[str, Any] | None = None,
    seconds: Mapping[str, float] | None = None,
    others: Sequence[LocalModel] = (),
) -> None:
    """Write models that predict together to a file, which replaces what was there when all of it is on the disk."""
    with replacing(path) as file:
        _write(file, model, info, seconds or {}, others)


def model_bytes(
    model: LocalModel,
    info: Mapping[str, Any] | None = None,
    seconds: Mapping[str, float] | None = None,
    others: Sequence[LocalModel] = (),
) -> bytes:
    """Return what `write_model` writes."""
    file = io.BytesIO()
    _write(file, model, info, seconds or {}, others)
    return file.getvalue()


def _write(
    file: BinaryIO,
    model: LocalModel,
    info: Mapping[str, Any] | None,
    seconds: Mapping[str, float] | None,
    others: Sequence[LocalModel] = (),
) -> None:
    """Write a model; the others come first, each as a model file in the file. Places count from where it begins.

    Without `seconds` those of the cells are zeros, so that all but the last record is decided by data and settings.
    """
    start, cells = file.tell(), model.cells
    file.write(_HEAD.pack(_MAGIC, FORMAT_VERSION))
    models = [_append_model(file, other, start) for other in others]
    places = np.array([_append(file, CELL.write(cell), start) for cell in cells], dtype=np.int64)
    shared = _shared_values(model, CellTable.of(cells), info)
    if models:
        shared["models"] = np.array(models, dtype=np.int64)
    begin, size = _append(file, {**shared, "places": places.reshape(len(cells), 2)}, start)
    _, size_of_seconds = _append(file, _second_values(cells, seconds), start)
    end = struct.pack("<QQQ", begin, size, size_of_seconds)
    file.write(end + struct.pack("<I8s", crc32(end), _END_MAGIC))


def _append_model(file: BinaryIO, model: LocalModel, start: int) -> tuple[int, int]:
    """Write a model file in a file; return where it begins and how long it is."""
    begin = file.tell()
    _write(file, model, None, None)
    size = file.tell() - begin
    file.write(bytes(-size % ALIGNMENT))
    return begin - start, size


def _append(file: BinaryIO, value: object, start: int) -> tuple[int, int]:
    """Write a record; return where it begins and how long it is."""
    begin = file.tell()
    file.writelines(pack(value))
    return begin - start, file.tell() - begin


def _shared_values(model: LocalModel, cells: CellTable, info: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "library": __version__,
        "n_features": model.n_features,
        "scaling": SCALING.write(model.scaling),
        "partition": PARTITION.write(model.partition),
        "reduction": TASK.write(model.reduction),
        "calibration": maybe(CALIBRATION).write(model.calibration),
        "table": TABLE.write(cells),
        "info": dict(info or {}),
    }


def headline_values(stored: StoredModel) -> dict[str, Any]:
    """Return all of a model but its cells as plain values, for a caller that stores the cells elsewhere."""
    return {**_shared_values(stored.model, stored.table, stored.info), "seconds": stored.seconds}


def read_headline(whole: Fields) -> StoredModel:
    """Return the model of plain values, without cells."""
    cells = whole.read("table", TABLE)
    model = _read_shared(whole, len(cells))
    info, library = whole.read("info", table()), whole.read("library", text())
    return StoredModel(model, cells, info, whole.read("seconds", SECONDS), library)


def _second_values(cells: Sequence[TrainedCell], fit: Mapping[str, float] | None) -> dict[str, Any]:
    of_cells = np.zeros((len(cells), len(PHASES)))
    if fit is not None and len(cells):
        of_cells[:] = [[cell.seconds[phase] for phase in PHASES] for cell in cells]
    return {"phases": PHASES, "cells": of_cells, "fit": SECONDS.write(fit or {})}


def open_model(path: PathLike) -> StoredModel:
    """Open a model file: its cells stay in the file until they are asked for.

    The file is mapped into memory. It may be replaced or deleted meanwhile, as `write_model` does it; a program that
    shortens it in place takes the cells away from under this one.
    """
    name = os.fspath(path)
    return read_model(_mapped(name), name)


def read_model(buffer: memoryview, name: str) -> StoredModel:
    """Return the model of the bytes of a model file; its cells are read when they are asked for."""
    begin, end, end_of_seconds = _checked_ends(buffer, name)
    whole = Fields(unpack(buffer[begin:end], f"the record of the model in {name!r}"), repr(name))
    times = Fields(unpack(buffer[end:end_of_seconds], f"the record of seconds in {name!r}"), repr(name))
    return _read_whole(whole, times, buffer[:begin])


def _mapped(name: str) -> memoryview:
    if os.path.exists(name) and not os.path.isfile(name):
        kind = "a directory" if os.path.isdir(name) else "no regular file"
        raise InvalidFile(f"{name!r} is {kind}: a model file is needed.")
    with open(name, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise InvalidFile(f"{name!r} is empty: a model file is needed.")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _checked_ends(buffer: memoryview, name: str) -> tuple[int, int, int]:
    """Return where the record of the model begins and ends, and where that of seconds ends."""
    begin = bytes(buffer[: len(_MAGIC)])
    if begin != _MAGIC[: len(begin)]:
        raise InvalidFile(f"{name!r} is not a model file of localsvm: it begins with {begin!r}.")
    if len(buffer) < _HEAD.size + _END.size:
        raise _incomplete(buffer, name)
    _, format_version = _HEAD.unpack(buffer[: _HEAD.size])
    if format_version > FORMAT_VERSION:
        raise InvalidFile(
            f"{name!r} has format version {format_version}, but localsvm {__version__} reads up to "
            f"{FORMAT_VERSION}. Install a later localsvm."
        )
    *places, checksum, magic = _END.unpack(buffer[-_END.size :])
    if magic != _END_MAGIC:
        raise _incomplete(buffer, name)
    first, size, size_of_seconds = places
    last = first + size + size_of_seconds
    if crc32(buffer[-_END.size : -12]) != checksum or last != len(buffer) - _END.size or format_version == 0:
        raise InvalidFile(
            f"{name!r} is damaged: its first or last bytes were changed. Copy it again, or make it again."
        )
    return first, first + size, last


def _incomplete(buffer: memoryview, name: str) -> InvalidFile:
    return InvalidFile(f"{name!r} is not complete: it ends after {len(buffer)} bytes. Copy it again, or make it again.")


def _read_whole(whole: Fields, times: Fields, buffer: memoryview) -> StoredModel:
    cells = whole.read("table", TABLE)
    model = _read_shared(whole, len(cells))
    n_outputs = model.reduction.n_outputs
    if _LEAST_OUTPUT * n_outputs * len(cells) > len(buffer):
        raise whole.refuse(f"its cells are too small for {n_outputs} functions each")
    phases = times.read("phases", items(text()))
    if not set(PHASES) <= set(phases):
        raise times.refuse(f"its phases are {', '.join(phases)} instead of {', '.join(PHASES)}")
    reader = _CellReader(
        buffer=buffer,
        places=_read_places(whole, len(cells), len(buffer)),
        seconds=times.read("cells", array(np.float64, len(cells), len(phases), within=NOT_NEGATIVE)),
        phases=phases,
        n_features=model.n_features,
        n_outputs=n_outputs,
        what=whole.what,
    )
    return StoredModel(
        model=replace(model, cells=LazyCells(len(cells), reader.read, remember=True)),
        table=cells,
        info=whole.read("info", table()),
        seconds=times.read("fit", SECONDS),
        library=whole.read("library", text()),
        others=_read_others(whole, model, buffer),
    )


def _read_others(whole: Fields, model: LocalModel, buffer: memoryview) -> tuple[LocalModel, ...]:
    """Return the models that predict together with this one; files from before there were any have none."""
    places = whole.read("models", added(array(np.int64, "n_models", 2), before=None))
    if places is None:
        return ()
    found = []
    for number, (begin, size) in enumerate(_checked_places(whole, places, len(buffer)).tolist()):
        try:
            other = read_model(buffer[begin : begin + size], f"model {number + 1} of {whole.what}")
        except InvalidFile as error:
            raise whole.refuse(str(error).removesuffix(".")) from error
        filled = (
            *buffer[begin + _HEAD_USED : begin + _HEAD.size],
            *buffer[begin + size : begin + size - size % -ALIGNMENT],
        )
        if any(filled) or other.others or other.model.reduction != model.reduction:
            raise whole.refuse(f"model {number + 1} is of another kind")
        found.append(other.model)
    return tuple(found)


def _read_shared(whole: Fields, n_cells: int) -> LocalModel:
    """Return the model without its cells."""
    n_features = whole.read("n_features", integer(least=1))
    reduction = whole.read("reduction", TASK)
    model = LocalModel(
        n_features=n_features,
        scaling=whole.read("scaling", SCALING, n_features=n_features),
        partition=whole.read("partition", PARTITION, n_cells=n_cells, n_features=n_features),
        reduction=reduction,
        cells=(),
    )
    n_classes = 2 if isinstance(reduction, Binary) else reduction.n_scores
    n_curves = 1 if model.averages else n_cells
    calibration = whole.read("calibration", maybe(CALIBRATION), n_curves=n_curves, n_classes=n_classes)
    return replace(model, calibration=calibration)


def _read_places(whole: Fields, n_cells: int, end: int) -> NDArray[np.int64]:
    return _checked_places(whole, whole.read("places", array(np.int64, n_cells, 2)), end)


def _checked_places(whole: Fields, places: NDArray[np.int64], end: int) -> NDArray[np.int64]:
    begin, size = places.T
    inside = (begin >= _HEAD.size) & (begin <= end) & (size >= 0) & (size <= end - begin)
    if not inside.all() or (begin % ALIGNMENT).any():
        raise whole.refuse("a cell is not where it could be")
    return places


@dataclass(frozen=True)
class _CellReader:
    """Reads and checks the cells of a mapped file; their arrays are views of it."""

    buffer: memoryview
    places: NDArray[np.int64]
    seconds: NDArray[np.float64]
    phases: tuple[str, ...]
    n_features: int
    n_outputs: int
    what: str

    def read(self, number: int) -> TrainedCell:
        what = f"cell {number} of {self.what}"
        begin, size = self.places[number].tolist()
        sizes = {"n_features": self.n_features, "n_outputs": self.n_outputs}
        cell = CELL.unpack(self.buffer[begin : begin + size], what, **sizes)
        if cell.number != number:
            raise InvalidFile(f"{what} makes no sense: it is cell {cell.number}. It was not written by localsvm.")
        return replace(cell, seconds=dict(zip(self.phases, self.seconds[number].tolist(), strict=True)))
