"""Results of a fit's stages before its cells, which a checkpoint keeps so that a continued fit does not repeat them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Stages:
    """Stages of a fit without a checkpoint: nothing is kept."""

    def result(self, name: str, make: Callable[[], Any], fits: Callable[[Any], bool]) -> Any:
        """Return the plain value that a stage makes.

        A value that is kept under this name is returned instead if it `fits`: damaged files are as if they were not
        there.
        """
        return make()


NOT_KEPT = Stages()
