"""Messages of the library in the words of the command line: parameters become options.

Enters: a message such as 'pass missing="impute"'. Leaves: 'pass --missing impute'.
"""

from __future__ import annotations

import re

_SAME_NAME = (
    "cell_radius",
    "cell_size",
    "checkpoint",
    "class_weight",
    "delimiter",
    "dtype",
    "duplicates",
    "effort",
    "encoding",
    "false_alarm",
    "format",
    "grid",
    "kernel",
    "max_memory",
    "members",
    "missing",
    "objective",
    "partition",
    "scaling",
    "target",
)
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME_NAME}
_OPTIONS |= {"n_folds": "--folds", "n_jobs": "--jobs", "random_state": "--seed"}
_FLAGS = {"header=False": "--no-header", "relevance=None": "--no-relevance"}

_FLAG = re.compile(rf"\b({'|'.join(_FLAGS)})\b")
_GIVEN = re.compile(rf"(?<![\w-])({'|'.join(_OPTIONS)})=('[^']*'|\"[^\"]*\"|[\w.+-]*[\w])?")
_ALONE = re.compile(r"(?<![\w-])(cell_size|cell_radius|max_memory|false_alarm)(?![\w=])")
_GRID = re.compile(r"(; a wider one may predict better:| It does without the smallest lams:) grid=Grid\(.*\)\.$")
_WITHOUT_OPTION = (
    (re.compile(r"\bgive None(, | or )"), "give "),
    (re.compile(r"('[^']*'|\w)( or|,) None\b"), r"\1"),
    (re.compile(r", or None for all cores"), ""),
    (re.compile(r" or a RandomState"), ""),
)
"""What only Python can give: an option is left out instead."""


def in_options(message: str) -> str:
    """Return a message with options in place of parameters.

    >>> in_options('Drop these rows, or pass missing="impute".')
    'Drop these rows, or pass --missing impute.'
    >>> in_options("max_memory='lots': give None, a number of bytes or text like '8GB'.")
    "--max-memory lots: give a number of bytes or text like '8GB'."
    """
    message = _GRID.sub(_grid_option, message)
    message = _FLAG.sub(lambda found: _FLAGS[found[1]], message)
    message = _GIVEN.sub(lambda found: f"{_OPTIONS[found[1]]} {_bare(found[2] or '')}".rstrip(), message)
    message = _ALONE.sub(lambda found: _OPTIONS[found[1]], message)
    for pattern, replacement in _WITHOUT_OPTION:
        message = pattern.sub(replacement, message)
    return message


def _grid_option(found: re.Match[str]) -> str:
    """Return advice on the grid: more steps have wider ranges, up to 20; they cannot be narrowed."""
    steps = max([int(number) for number in re.findall(r"n_\w+=(\d+)", found[0])], default=10)
    return f"{found[1]} --grid 20." if steps < 20 and found[1].startswith(";") else "." if found[1][0] == ";" else ""


def _bare(value: str) -> str:
    """Return a value without quotes, if a shell needs none."""
    text = value[1:-1] if value[:1] in ("'", '"') else value
    return value if re.search(r"[^\w./:+-]", text) or not text else text
