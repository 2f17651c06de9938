"""Names of a package that are loaded when they are first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def load_when_asked(
    package: str, found_in: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, given the modules that have its names.

    Examples
    --------
    >>> import localsvm
    >>> "LocalSVC" in dir(localsvm), localsvm.LocalSVC.__name__
    (True, 'LocalSVC')
    """

    def get(name: str) -> object:
        if name not in found_in:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(found_in[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *found_in})

    return get, names
