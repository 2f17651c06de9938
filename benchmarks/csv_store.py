"""Measured runs, one line of a CSV each: appended when measured, found again in the next session.

A line is known by its key, what was measured. If it is there more than once, the last one counts.
"""

from __future__ import annotations

import csv
import math
import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from localsvm import simd_level

RESULTS = Path(__file__).resolve().parent / "results"
Figures = dict[str, float]
Key = tuple[str, ...]


class Keyed(Protocol):
    """What can be measured: its key has a text for each of the layout's keys."""

    @property
    def key(self) -> Key: ...


AnyRun = TypeVar("AnyRun", bound=Keyed)


@dataclass(frozen=True)
class Layout:
    """The columns of a CSV; revision and machine follow them."""

    keys: tuple[str, ...]
    figures: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.keys, *self.figures, "revision", "machine")


class CsvStore(Generic[AnyRun]):
    """The CSV, and how to measure what it lacks; with `again`, what this session has not measured.

    A run that was given up is measured again when the limit, in seconds, is larger now.
    """

    def __init__(
        self,
        layout: Layout,
        file: Path,
        measure: Callable[[AnyRun], Figures] | None,
        *,
        again: bool = False,
        limit: float = 0.0,
    ) -> None:
        self._layout, self._file, self._measure, self._again, self._limit = layout, file, measure, again, limit
        self._lines = _read(layout, file)
        self._fresh: set[Key] = set()

    def get(self, run: AnyRun) -> Figures | None:
        """Return the figures of a run, measured now if need be; None if it is not to be measured."""
        if self._measure and not self._is_settled(run.key):
            print(f"  measuring {run} ...", flush=True)
            self._lines[run.key] = {name: value for name, value in self._measure(run).items() if value is not None}
            self._fresh.add(run.key)
            self._append(run.key)
        return self.known(run)

    def known(self, run: AnyRun) -> Figures | None:
        """Return the figures of a run if it has been measured."""
        return self._lines.get(run.key)

    def _is_settled(self, key: Key) -> bool:
        if key not in (self._fresh if self._again else self._lines):
            return False
        return self._lines[key].get("limit", math.inf) >= self._limit

    def _append(self, key: Key) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        figures = {name: f"{value:.6g}" for name, value in self._lines[key].items() if name in self._layout.figures}
        line = dict(zip(self._layout.keys, key, strict=True)) | figures
        begin = not self._file.exists()
        with self._file.open("a", newline="") as file:
            writer = csv.DictWriter(file, self._layout.columns, lineterminator="\n")
            if begin:
                writer.writeheader()
            writer.writerow(line | {"revision": revision(), "machine": machine()})


def training(figures: Figures) -> float:
    """Return the seconds until the model is ready: liquidSVM's select belongs to it."""
    return figures["train"] + figures.get("select", 0.0)


def fastest(runs: list[Figures]) -> Figures:
    """Return the run with the fastest training, with the fastest prediction of all."""
    return min(runs, key=training) | {"predict": min(run["predict"] for run in runs)}


def described(settings: dict[str, object]) -> str:
    """Return settings as the text that a key has."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _read(layout: Layout, file: Path) -> dict[Key, Figures]:
    if not file.exists():
        return {}
    with file.open(newline="") as text:
        lines = list(csv.DictReader(text))
    return {
        tuple(line[name] for name in layout.keys): {name: float(line[name]) for name in layout.figures if line[name]}
        for line in lines
    }


@cache
def revision() -> str:
    """Return the commit, with a plus if sources have been changed since."""
    changed = _git("status", "--porcelain", "--", ":/src", ":/native", ":/benchmarks/*.py")
    return (_git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


@cache
def commit_day(of: str) -> str:
    """Return the day of a revision, as 2024-01-31; empty where there is no history."""
    return _git("show", "-s", "--format=%cs", of.removesuffix("+"))


def _git(*arguments: str) -> str:
    here = Path(__file__).parent
    return subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=False).stdout.strip()


@cache
def machine() -> str:
    """Return processor, cores, memory, system and the level of vector instructions in a line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return "; ".join([_processor(), f"{cores} cores", f"{gigabytes:.0f} GB", platform.system(), simd_level()])


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    named = info.read_text().partition("model name")[2].partition(":")[2] if info.exists() else ""
    return named.partition("\n")[0].strip() or platform.processor() or platform.machine()
