"""The pages of the API, and the examples that they promise."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest

PAGES = [Path(__file__).parents[2] / "docs" / name for name in ("api.md", "api-blocks.md")]
MODULES = ("localsvm", "localsvm.data", "localsvm.data.files", "localsvm.evaluation", "localsvm.report")


def _listed() -> dict[str, object]:
    """Return what the pages list, by its full name."""
    found, module = {}, ""
    for line in "\n".join(page.read_text() for page in PAGES).splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif entry := re.fullmatch(r"   ([A-Za-z_.]+)", line):
            path, _, name = f"{module}.{entry.group(1)}".rpartition(".")
            found[f"{path}.{name}"] = getattr(importlib.import_module(path), name)
    return found


LISTED = _listed()


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_on_a_page(module):
    names = {f"{module}.{name}" for name in importlib.import_module(module).__all__ if not name.startswith("__")}
    assert names <= LISTED.keys()


def _needs_example(thing: object) -> bool:
    # Errors are raised, and records of results are handed out: nobody makes them. Doctests do not reach native code.
    is_error = isinstance(thing, type) and issubclass(thing, BaseException)
    is_native = getattr(thing, "__module__", "") == "localsvm._native"
    is_record = dataclasses.is_dataclass(thing) and thing.__dataclass_params__.frozen  # estimators are not frozen
    return not (is_error or is_native or is_record)


@pytest.mark.parametrize("name", [name for name, thing in LISTED.items() if _needs_example(thing)])
def test_what_users_call_has_an_example_that_runs_as_a_doctest(name):
    thing = LISTED[name]
    own = [inspect.getdoc(thing) or ""]
    own += (
        [inspect.getdoc(member) or "" for member in vars(thing).values() if callable(member)]
        if isinstance(thing, type)
        else []
    )
    assert any(">>> " in text for text in own)


@pytest.mark.parametrize("name", LISTED)
def test_everything_on_the_pages_is_documented(name):
    assert inspect.getdoc(LISTED[name])
