"""Progress of a command on stderr: finished cells, rows per second, memory, time left; on terminals only."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from localsvm.cli.output import amount, duration
from localsvm.estimators.progress import DOING, StageClock
from localsvm.fit.memory import resident_memory
from localsvm.fit.training import Progress as Step

_SECONDS_BETWEEN = 0.1


class Work:
    """Progress bars on stderr; hidden if it is not a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        console = Console(stderr=True)
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[done]}"),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._quiet = quiet
        self._notes: list[str] = []
        self._lines: dict[str, TaskID] = {}
        self._shown: str | None = None
        self._took: dict[str, float] = {}
        self._since = self._changed = 0.0
        self._clock = StageClock()
        self._member = ""
        self.last: Step | None = None
        """Last reported progress of training."""

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop drawing, remove the bars, and print the notes; after an error its message stands alone."""
        self._bars.stop()
        if not self._quiet and kind is None:
            for note in dict.fromkeys(self._notes):
                typer.echo(f"Note: {note}", err=True)

    def note(self, text: str) -> None:
        """Print a note once the bars are removed: what is printed before is removed with them."""
        self._notes.append(text)

    def read(self, n_rows: int, total: int | None) -> None:
        """Show how many rows were read."""
        self._show("reading rows", n_rows, total, _memory())

    def phase(self, name: str) -> None:
        """Show a phase of unknown length."""
        self._show(name, None, None, "")

    def __call__(self, step: Step) -> None:
        """Show the progress of training."""
        self.last = step
        if self._bars.disable or (step.cells_done < step.n_cells and not self._is_time()):
            return
        note = f"{step.rate:,.0f} rows/s  {_memory()}  {duration(step.seconds_left)} left{self._member}"
        self._show(DOING["cells"], step.cells_done, step.n_cells, note)

    def stage(self, name: str, member: int, n_members: int) -> None:
        """Show which stage of a fit begins."""
        self._clock.begin(name)
        self._member = f"  model {member} of {n_members}" if n_members > 1 else ""
        if name != "cells":
            self._show(DOING[name], None, None, self._member.strip())

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds of the stages of the fit."""
        self._clock.begin(None)
        return self._clock.seconds

    def _is_time(self) -> bool:
        """Return whether enough time has passed since the last update."""
        now = time.monotonic()
        due = now - self._changed >= _SECONDS_BETWEEN
        self._changed = now if due else self._changed
        return due

    def _show(self, line: str, done: int | None, total: int | None, note: str) -> None:
        """Update a bar; the one before it is complete, with the seconds it took."""
        if line != self._shown:
            now = time.monotonic()
            if self._shown is not None:
                self._took[self._shown] = self._took.get(self._shown, 0.0) + now - self._since
                took = duration(self._took[self._shown])
                self._bars.update(self._lines[self._shown], total=1, completed=1, note=took)
            self._shown, self._since = line, now
        if line not in self._lines:
            self._lines[line] = self._bars.add_task(line, total=total, done="", note="")
        counted = "" if done is None else f"{done:,}/{total or done:,}"
        self._bars.update(self._lines[line], completed=done or 0, total=total, done=counted, note=note)


def _memory() -> str:
    taken = resident_memory()
    return "" if taken is None else amount(taken)
