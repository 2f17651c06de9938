"""The progress bar of `verbose=1`: one line of plain characters; without a terminal only its last state.

While a fit prepares its cells, the line names the stage; the last state has each stage's share of the time.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from localsvm.fit.training import OnProgress, Progress, tell_stage

_WIDTH = 24
_LEAST_SHARE = 0.005  # less is nothing in per cent

DOING = {
    "scaling": "choosing the scaling",
    "relevance": "weighting the features",
    "partition": "partitioning",
    "cells": "training cells",
    "calibration": "calibrating",
}
"""What happens in the stages of a fit."""


@contextmanager
def listening(callback: OnProgress | None, *, draws: bool) -> Iterator[OnProgress | None]:
    """Yield the listener of a fit: a progress bar, which is ended with the fit, a callback, both or none."""
    if not draws:
        yield callback
        return
    bar = ProgressBar()
    try:
        yield bar if callback is None else _Both(bar, callback)
    finally:
        bar.end()


@dataclass(frozen=True)
class _Both:
    first: OnProgress
    second: OnProgress

    def __call__(self, progress: Progress) -> None:
        self.first(progress)
        self.second(progress)

    def stage(self, name: str, member: int, n_members: int) -> None:
        tell_stage(self.first, name, member, n_members)
        tell_stage(self.second, name, member, n_members)


class StageClock:
    """The seconds of each stage, summed over the members of an ensemble."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._current: str | None = None
        self._since = 0.0

    def begin(self, stage: str | None) -> None:
        """End the current stage, and begin another one."""
        now = time.perf_counter()
        if self._current is not None:
            self.seconds[self._current] = self.seconds.get(self._current, 0.0) + now - self._since
        self._current, self._since = stage, now


class ProgressBar:
    """Draws progress on the standard error stream."""

    def __init__(self) -> None:
        self._clock = StageClock()
        self._last: Progress | None = None
        self._member = ""
        self._drawn = 0

    def __call__(self, progress: Progress) -> None:
        """Draw one state, if the stream is a terminal."""
        self._last = progress
        self._draw(line(progress) + self._member)

    def stage(self, name: str, member: int, n_members: int) -> None:
        """Draw the name of a stage, which has no states in between."""
        self._clock.begin(name)
        self._member = f"  model {member} of {n_members}" if n_members > 1 else ""
        if name != "cells":
            done = 0.0 if self._last is None else self._last.samples_done / max(self._last.n_samples, 1)
            self._draw(f"{bar(done)} {done:4.0%}  {DOING[name]}{self._member}")

    def end(self) -> None:
        """Draw the last state, whether or not the stream is a terminal, and end the line."""
        self._clock.begin(None)
        if self._last is not None and self._last.samples_done >= self._last.n_samples:
            text = line(self._last, self._clock.seconds)
            sys.stderr.write("\r" + text.ljust(self._drawn) + "\n")
        elif self._drawn:  # stopped
            sys.stderr.write("\n")
        sys.stderr.flush()

    def _draw(self, text: str) -> None:
        if not sys.stderr.isatty():
            return
        text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self._drawn))
        sys.stderr.flush()
        self._drawn = len(text)


def bar(done: float) -> str:
    """Return a bar of plain characters."""
    filled = int(done * _WIDTH)
    return f"localsvm [{'#' * filled}{'.' * (_WIDTH - filled)}]"


def line(progress: Progress, seconds: Mapping[str, float] | None = None) -> str:
    """Return the bar as text; at the end with the seconds of the stages.

    Examples
    --------
    >>> from localsvm.estimators.progress import line
    >>> from localsvm.fit.training import Progress
    >>> line(Progress(cells_done=40, n_cells=80, samples_done=50_000, n_samples=100_000, seconds=10.0))
    'localsvm [############............]  50%  40/80 cells  5,000 rows/s  10 s left'
    """
    done = progress.samples_done / max(progress.n_samples, 1)
    left = f"{progress.rate:,.0f} rows/s  {_duration(progress.seconds_left)} left"
    end = left if seconds is None else f"{_duration(sum(seconds.values()))}{shares(seconds)}"
    return f"{bar(done)} {done:4.0%}  {progress.cells_done:,}/{progress.n_cells:,} cells  {end}"


def shares(seconds: Mapping[str, float]) -> str:
    """Return the stages with their shares of the time, those that took some.

    Examples
    --------
    >>> from localsvm.estimators.progress import shares
    >>> shares({"scaling": 0.001, "relevance": 6.0, "cells": 14.0})
    ': weighting the features 30 %, training cells 70 %'
    """
    total = max(sum(seconds.values()), 1e-9)
    parts = [f"{DOING[name]} {part / total:.0%}" for name, part in seconds.items() if part >= _LEAST_SHARE * total]
    return ": " + ", ".join(parts).replace("%", " %") if parts else ""


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
