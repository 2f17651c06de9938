"""The files of finished stages in the directory of a checkpoint.

Enters: the plain value that a stage has made. Leaves: a file that is on the disk; and the value again in a later fit of
the same rows and settings. A file that is damaged is as if it were not there. The manifest of the directory
refuses fits of other rows, settings and versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from localsvm.data.durable import replacing
from localsvm.data.stages import Stages
from localsvm.errors import InvalidFile
from localsvm.storage.record import pack, unpack

FILES = re.compile(r"stage-[\w-]+\.rec")

_OTHER_VALUES = (ValueError, TypeError, LookupError, AttributeError)
"""What looking at a value can raise that is not one of the stage's."""


class KeptStages(Stages):
    """Stages whose results are kept in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def result(self, name: str, make: Callable[[], Any], fits: Callable[[Any], bool]) -> Any:
        """Return what a stage makes, or what was kept of it."""
        path = self._directory / f"stage-{name}.rec"
        with suppress(InvalidFile, OSError, *_OTHER_VALUES):
            kept = unpack(path.read_bytes(), repr(str(path)))
            if fits(kept):
                return kept
        value = make()
        with replacing(path) as file:
            file.writelines(pack(value))
        return value
