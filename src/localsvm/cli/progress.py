"""What a command shows while it works: cells done, rows per second, memory, time left; nothing if nobody looks."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn

from localsvm.cli.output import amount, duration
from localsvm.memory import resident_memory
from localsvm.training import Progress as Step


class Work:
    """Lines on stderr that change; quiet when it is not a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        console = Console(stderr=True)
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._reading: TaskID | None = None
        self._training: TaskID | None = None
        self.last: Step | None = None
        """How far training is."""

    def __enter__(self) -> Self:
        """Show the lines."""
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the lines."""
        self._bars.stop()

    def read(self, n_rows: int, total: int | None) -> None:
        """Show how many rows were read."""
        if self._reading is None:
            self._reading = self._bars.add_task("reading rows", total=total, note="")
        self._bars.update(self._reading, completed=n_rows, total=total, note=_memory())

    def train(self, step: Step) -> None:
        """Show how far training is."""
        self.last = step
        if self._training is None:
            self._training = self._bars.add_task("training cells", total=step.n_cells, note="")
        note = f"{step.rate:,.0f} rows/s  {_memory()}  {duration(step.seconds_left)} left"
        self._bars.update(self._training, completed=step.cells_done, note=note)


def _memory() -> str:
    taken = resident_memory()
    return "" if taken is None else amount(taken)
