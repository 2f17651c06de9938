"""The manifest of a checkpoint: settings and data of its fit, in a file that people can read.

Enters: settings and data of a fit. Leaves: `manifest.json`, or the words for how two fits differ.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from localsvm.data.durable import replacing
from localsvm.errors import InvalidFile
from localsvm.storage.schema import Fields, table

NAME = "manifest.json"
_FORMAT_VERSION = 1
_DECIDED = {
    None: "targets or weights",
    "by groups": "targets, weights or groups",
    "by time": "targets, weights or times",
}

Plain = dict[str, Any]
"""What JSON can hold."""


@dataclass(frozen=True)
class Manifest:
    """Settings and data of the fit of a checkpoint."""

    settings: Plain
    """What decides the model, by names that a user knows."""
    data: Plain
    """n_rows, n_features, and what the values of features and of whole rows sum up to; see `row_marks`."""
    info: Plain
    """What the caller wanted to remember."""

    def differences(self, settings: Plain, data: Plain) -> list[str]:
        """Return a few words for all that another fit has not the same; sums may be missing, then they are not known.

        Examples
        --------
        >>> from localsvm.storage.manifest import Manifest
        >>> data = {"n_rows": 20000, "n_features": 4}
        >>> Manifest({"cell_size": 2000}, data, {}).differences({"cell_size": 1000}, {**data, "n_rows": 21000})
        ['cell_size was 2000, is 1000', 'the data had 20000 rows, has 21000']
        """
        found = _changes(self.settings, settings)
        for name in ("rows", "features"):
            was, now = self.data.get(f"n_{name}"), data[f"n_{name}"]
            found += [f"the data had {was} {name}, has {now}"] if was != now else []
        if not found and "rows" in data and self.data != data:
            what = "features" if self.data.get("features") != data["features"] else _DECIDED[settings.get("folds")]
            found.append(f"the {what} have other values")
        return found


def _changes(was: Plain, now: Plain, prefix: str = "") -> list[str]:
    found = []
    for name in {**was, **now}:
        old, new = was.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _changes(old, new, f"{prefix}{name}.")
        elif old != new:
            found.append(f"{prefix}{name} was {old!r}, is {new!r}")
    return found


def as_read(content: Plain) -> Plain:
    """Return what JSON makes of a dict: tuples become lists, NumPy's numbers plain ones, keys text."""
    read: Plain = json.loads(json.dumps(content, default=np.generic.item))
    return read


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Read the manifest of a checkpoint.

    Parameters
    ----------
    path : path-like
        The directory.

    Returns
    -------
    Manifest
        Settings, data and the caller's own information.

    Raises
    ------
    InvalidFile
        If there is no manifest, or it is damaged, of a later format, or not one of localsvm.

    Examples
    --------
    >>> import tempfile
    >>> from localsvm import LocalSVR
    >>> from localsvm.storage.checkpoint import Checkpoint, read_manifest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Checkpoint(folder, {"why": "a first try"})
    ...     model = LocalSVR(checkpoint=kept).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    ...     read_manifest(folder).info
    {'why': 'a first try'}
    """
    file = Path(path) / NAME
    what = repr(str(file))
    try:
        content = json.loads(file.read_bytes())
        known, checksum = content.pop("format"), content.pop("checksum")
    except FileNotFoundError:
        raise InvalidFile(f"{what} is not there: no fit has kept cells in this directory.") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InvalidFile(
            f"{what} is damaged, or was not written by localsvm. Delete the directory to start over."
        ) from error
    if known != _FORMAT_VERSION:
        raise InvalidFile(f"{what} has format version {known!r}, but this localsvm knows {_FORMAT_VERSION} only.")
    if checksum != _checksum(content):
        raise InvalidFile(f"{what} is damaged: its checksum is wrong. Delete the directory to start over.")
    fields = Fields(content, what)
    return Manifest(*(fields.read(name, table()) for name in ("settings", "data", "info")))


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write the manifest of a directory."""
    content = vars(manifest)
    with replacing(path / NAME) as file:
        file.write(
            json.dumps({"format": _FORMAT_VERSION, **content, "checksum": _checksum(content)}, indent=1).encode()
        )


def _checksum(content: Plain) -> int:
    return crc32(json.dumps(content, sort_keys=True).encode())
