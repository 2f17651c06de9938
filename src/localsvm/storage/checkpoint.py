"""The directory of a checkpoint: one fit at a time, and no other fit than the one that began it.

Enters: a path, and what a fit is: settings, then data, then cells. Leaves: the cells that are there already, or a
refusal that names the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from localsvm.data.content import tied_keys
from localsvm.data.durable import SUFFIX, cannot_write, sync_directory
from localsvm.data.scaling import Scaling
from localsvm.data.stages import Stages
from localsvm.data.ties import Ties
from localsvm.errors import InvalidParameter
from localsvm.partition.base import Members
from localsvm.storage import kept_stages, manifest
from localsvm.storage.kept_cells import KeptCells, Marks, cell_keys, marks_sum, row_marks
from localsvm.storage.kept_stages import KeptStages
from localsvm.storage.manifest import Manifest, Plain, as_read, read_manifest, write_manifest
from localsvm.tasks import Reduction

_LOCK = "lock"
_UNFINISHED = re.compile(
    rf"({re.escape(manifest.NAME)}|cell-\d+\.rec|{kept_stages.FILES.pattern})\.[0-9a-f]+{re.escape(SUFFIX)}"
)


@dataclass(frozen=True)
class Checkpoint:
    """Where to keep the cells of a fit, and what to remember with them.

    Parameters
    ----------
    path : path-like
        A directory: a new one, an empty one, or that of a fit to be continued.
    info : mapping, optional
        What JSON can hold. It has no influence on the fit; `read_manifest` returns it.

    Examples
    --------
    >>> import tempfile
    >>> from localsvm import LocalSVC
    >>> from localsvm.storage.checkpoint import Checkpoint, read_manifest
    >>> X, y = [[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf = LocalSVC(grid=3, checkpoint=Checkpoint(folder, {"for": "the example"})).fit(X, y)
    ...     found = read_manifest(folder)
    >>> found.info, found.data["n_rows"]
    ({'for': 'the example'}, 4)
    """

    path: str | os.PathLike[str]
    info: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def open_checkpoint(checkpoint: Checkpoint, settings: Plain, shape: tuple[int, ...]) -> Iterator[OpenCheckpoint]:
    """Lock a directory for one fit; refuse it if it belongs to a fit of other settings, or to something else."""
    directory = Path(checkpoint.path)
    if directory.exists() and not directory.is_dir():
        raise InvalidParameter(f"checkpoint={str(directory)!r} is a file: give a directory.")
    with _locked(directory):
        yield OpenCheckpoint(directory, as_read(settings), shape, as_read(dict(checkpoint.info)))


def _locked(directory: Path) -> BinaryIO:
    """Return the lock of a directory, which is made if it is not there; closing it releases it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _refuse_foreign(directory)
        lock = open(directory / _LOCK, "ab")  # noqa: SIM115, the caller closes it
        _take(lock, directory)
        for entry in directory.iterdir():
            if _UNFINISHED.fullmatch(entry.name):
                entry.unlink()
        sync_directory(directory)
        return lock
    except OSError as error:
        raise cannot_write(directory, error) from error


def _refuse_foreign(directory: Path) -> None:
    names = sorted(entry.name for entry in directory.iterdir())
    others = [name for name in names if name != _LOCK and not _UNFINISHED.fullmatch(name)]
    if others and manifest.NAME not in names:
        raise InvalidParameter(
            f"checkpoint={str(directory)!r} has files of something else (first: {others[0]!r}): give an empty or a new "
            "directory."
        )


def _take(lock: BinaryIO, directory: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not a Unix: that there is one fit at a time is the user's own care
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise InvalidParameter(
            f"checkpoint={str(directory)!r} is in use by another fit: wait for it, or give another directory."
        ) from None


class OpenCheckpoint:
    """A directory that is locked for one fit."""

    def __init__(self, directory: Path, settings: Plain, shape: tuple[int, ...], info: Plain) -> None:
        self._directory, self._settings, self._info = directory, settings, info
        self._data: Plain = {"n_rows": shape[0], "n_features": shape[1]}
        self._known = read_manifest(directory) if (directory / manifest.NAME).exists() else None
        self._refuse_others()

    def check_data(
        self, hashes: Marks, y: NDArray[np.float64], weight: NDArray[np.float64], ties: Ties | None = None
    ) -> None:
        """Refuse rows of other values than the checkpoint's: features, by their hashes, targets, weights, groups."""
        self._marks = row_marks(hashes, y, weight)
        if ties is not None:
            self._marks = tied_keys(self._marks, ties)
        self._data |= {"features": marks_sum(hashes), "rows": marks_sum(self._marks)}
        self._refuse_others()
        info = self._info or (self._known.info if self._known else {})
        now = Manifest(self._settings, self._data, info)
        if now != self._known:
            write_manifest(self._directory, now)

    def _refuse_others(self) -> None:
        differences = self._known.differences(self._settings, self._data) if self._known else []
        if differences:
            raise InvalidParameter(
                f"checkpoint={str(self._directory)!r} was made by another fit: {'; '.join(differences)}. Give another "
                "directory, or fit as before."
            )

    @property
    def stages(self) -> Stages:
        """The stages before the cells, those that are kept and those that will be; after `check_data`."""
        return KeptStages(self._directory)

    def cells(self, members: Members, scaling: Scaling, reduction: Reduction) -> KeptCells:
        """Return the cells of the fit, those that are kept and those that will be."""
        keys = cell_keys(self._marks, members, scaling)
        del self._marks  # one number per row, needed no longer
        return KeptCells(self._directory, keys, int(self._data["n_features"]), reduction)
