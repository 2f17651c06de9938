"""Measured runs, one line of a CSV each: appended when measured, found again in the next session.

A line is known by what was measured: set, sizes, program, settings, number of the repeat. If it is
there more than once, the last one counts.
"""

from __future__ import annotations

import csv
import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.scale.problems import Problem
from localsvm import simd_level

RESULTS = Path(__file__).resolve().parent.parent / "results" / "scale.csv"
KEYS = ("set", "n_train", "n_test", "program", "settings", "repeat")
FIGURES = (
    *("train", "select", "cpu", "predict", "error", "error_unseen", "peak", "cells", "largest_cell", "support_vectors"),
    *("steps", "partition", "kernel", "solver", "validation", "selection", "generate"),
)
COLUMNS = (*KEYS, *FIGURES, "revision", "machine")
SHORT = 60.0
REPEATS = 3
Figures = dict[str, float]
Key = tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """What is measured: a program with its settings on a problem."""

    problem: Problem
    program: str
    settings: dict[str, Any] = field(hash=False)

    def __str__(self) -> str:
        return f"{self.problem.name} {self.problem.n_train} x {self.program} ({self.described})"

    @property
    def described(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.settings.items())

    def key(self, repeat: int) -> Key:
        sizes = str(self.problem.n_train), str(self.problem.n_test)
        return (self.problem.name, *sizes, self.program, self.described, str(repeat))


class Store:
    """The CSV, and how to measure what it lacks; with `again`, what this session has not measured."""

    def __init__(self, measure: Callable[[Run], Figures] | None, *, again: bool = False, file: Path = RESULTS) -> None:
        self._measure, self._again, self._file = measure, again, file
        self._lines: dict[Key, Figures] = _read(file)
        self._fresh: set[Key] = set()

    def best(self, run: Run) -> Figures | None:
        """Return the fastest training and the fastest prediction of 3 repeats, of 1 if it takes a minute."""
        first = self._get(run, 1)
        if first is None:
            return None
        repeats = range(2, REPEATS + 1 if training(first) < SHORT else 2)
        figures = [first, *filter(None, (self._get(run, repeat) for repeat in repeats))]
        return fastest(figures)

    def _get(self, run: Run, repeat: int) -> Figures | None:
        key = run.key(repeat)
        known = key in (self._fresh if self._again else self._lines)
        if self._measure and not known:
            print(f"  measuring {run}, repeat {repeat} ...", flush=True)
            self._lines[key] = {name: value for name, value in self._measure(run).items() if value is not None}
            self._fresh.add(key)
            self._append(key)
        return self._lines.get(key)

    def _append(self, key: Key) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        figures = {name: f"{value:.6g}" for name, value in self._lines[key].items() if name in FIGURES}
        line = dict(zip(KEYS, key, strict=True)) | figures | {"revision": revision(), "machine": machine()}
        begin = not self._file.exists()
        with self._file.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if begin:
                writer.writeheader()
            writer.writerow(line)


def training(figures: Figures) -> float:
    """Return the seconds until the model is ready: liquidSVM's select belongs to it."""
    return figures["train"] + figures.get("select", 0.0)


def fastest(runs: list[Figures]) -> Figures:
    """Return the run with the fastest training, with the fastest prediction of all."""
    return min(runs, key=training) | {"predict": min(run["predict"] for run in runs)}


def _read(file: Path) -> dict[Key, Figures]:
    if not file.exists():
        return {}
    with file.open(newline="") as text:
        lines = list(csv.DictReader(text))
    return {
        tuple(line[name] for name in KEYS): {name: float(line[name]) for name in FIGURES if line[name]}
        for line in lines
    }


@cache
def revision() -> str:
    """Return the commit, with a plus if sources have been changed since."""
    changed = _git("status", "--porcelain", "--", ":/src", ":/native", ":/benchmarks/*.py")
    return (_git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


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
