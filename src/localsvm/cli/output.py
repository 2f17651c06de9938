"""Results of a command on stdout, as a table or as JSON; notes on stderr."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Output:
    """Format and verbosity of the output."""

    json: bool = False
    quiet: bool = False
    """Hide progress and notes."""

    def note(self, text: str) -> None:
        """Print a note."""
        if not self.quiet:
            typer.echo(text, err=True)

    def summary(self, values: Mapping[str, Any], shown: Mapping[str, Any] | None = None) -> None:
        """Print what was done: a JSON object, or one line per value to show, unless quiet."""
        if self.json or not self.quiet:
            self.result(values if self.json or shown is None else shown)

    def result(self, values: Mapping[str, Any], title: str | None = None) -> None:
        """Print what was asked for: a JSON object, or one line per value."""
        if self.json:
            typer.echo(json.dumps(_with_keys(values)))
            return
        table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
        for name, value in values.items():
            table.add_row(name, _shown(name, value))
        Console(highlight=False).print(table)

    def table(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Print records with the same keys below each other; as JSON they are part of the result."""
        if self.json:
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in records[0]:
            table.add_column(name, overflow="fold")
        for record in records:
            table.add_row(*(_shown(name, value) for name, value in record.items()))
        Console(highlight=False).print(table)


def _with_keys(values: Any) -> Any:
    """Return values with one spelling of each key: rows, not n_rows, and no spaces.

    >>> _with_keys({"n_rows": 3, "largest cell": 2, "cells": [{"n_rows": 1}]})
    {'rows': 3, 'largest_cell': 2, 'cells': [{'rows': 1}]}
    """
    if isinstance(values, Mapping):
        return {name.removeprefix("n_").replace(" ", "_"): _with_keys(value) for name, value in values.items()}
    return [_with_keys(value) for value in values] if isinstance(values, list | tuple) else values


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("seconds"):
        return duration(value)
    if name.endswith(("bytes", "memory")):
        return amount(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        shown = ", ".join(map(str, value[:12]))
        return shown if len(value) <= 12 else f"{shown}, ... ({len(value)})"
    return str(value)


def duration(seconds: float) -> str:
    """Return a readable duration.

    >>> duration(0.25), duration(75), duration(7300)
    ('0.25 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def amount(n_bytes: float) -> str:
    """Return a readable number of bytes.

    >>> amount(1200), amount(3_400_000), amount(5.2e9)
    ('1.2 kB', '3.4 MB', '5.2 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"
