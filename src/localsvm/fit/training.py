"""Training of all cells in threads, the largest first.

Enters: tasks, one per cell, and a `MemoryPlan`. Leaves: trained cells in the order of the tasks; cells of a checkpoint
are not trained again. Worker threads release the interpreter's lock while they solve; the calling thread
only waits, so that Ctrl-C is seen at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from localsvm.cell import CancelToken
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.cell.trained import TrainedCell
from localsvm.fit.memory import MemoryPlan
from localsvm.storage.kept_cells import KeptCells
from localsvm.storage.spool import Spool

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Progress:
    """Progress of a fit, for callbacks; cells in training count in proportion to the solved part of their grid."""

    cells_done: int
    n_cells: int
    samples_done: int
    n_samples: int
    seconds: float
    samples_restored: int = 0
    """Of those done: samples of cells that an earlier fit had trained."""

    @property
    def rate(self) -> float:
        """Samples per second that are trained now."""
        return (self.samples_done - self.samples_restored) / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """Seconds until the end at this rate."""
        return (self.n_samples - self.samples_done) / max(self.rate, 1e-9)


OnProgress = Callable[[Progress], None]
"""Called with the progress of a fit; if it has a method `stage`, that is told which stage begins."""

STAGES = ("scaling", "relevance", "partition", "cells", "calibration")
"""The stages of a fit, in order."""


def tell_stage(listener: OnProgress | None, stage: str, member: int = 1, n_members: int = 1) -> None:
    """Tell a listener that wants to know which stage begins, and of which member of an ensemble."""
    told = getattr(listener, "stage", None)
    if told is not None:
        told(stage, member, n_members)


def train_cells(
    tasks: Sequence[CellTask],
    sizes: NDArray[np.intp],
    settings: CellSettings,
    plan: MemoryPlan,
    on_progress: OnProgress | None = None,
    keeper: KeptCells | None = None,
    spool: Spool | None = None,
) -> Sequence[TrainedCell]:
    """Train all cells that the keeper does not have; if one fails or Ctrl-C is pressed, stop them all.

    With a spool the support vectors of finished cells are on disk, not in memory.
    """
    begin = time.perf_counter()
    training = _Training(tasks, sizes, settings, plan, keeper, spool)
    last = (0, 0)
    with ThreadPoolExecutor(plan.cells_at_once) as pool:
        try:
            running = {pool.submit(training.work) for _ in range(plan.cells_at_once)}
            while running:
                ended, running = wait(running, _POLL_SECONDS, return_when=FIRST_EXCEPTION)
                for worker in ended:
                    worker.result()  # raises what the worker raised
                state = training.state()
                if on_progress is not None and state != last:
                    on_progress(training.progress(*state, time.perf_counter() - begin))
                    last = state
        finally:
            # After an error no cell begins and those in training stop at the token, so that the pool can close.
            training.token.cancel()
    return training.cells()


class _Training:
    """What worker threads share: the cells that wait, those in training, and the trained ones."""

    def __init__(
        self,
        tasks: Sequence[CellTask],
        sizes: NDArray[np.intp],
        settings: CellSettings,
        plan: MemoryPlan,
        keeper: KeptCells | None,
        spool: Spool | None,
    ) -> None:
        self.token = CancelToken()
        self._tasks, self._sizes, self._settings, self._plan = tasks, sizes, settings, plan
        self._keeper, self._spool = keeper, spool
        self._cells: dict[int, TrainedCell] = {}  # in memory: none with a spool
        trained = np.array([self._restore(number) for number in range(len(tasks))], dtype=bool)
        self._restored = self._samples_done = int(sizes[trained].sum())
        self._cells_done = int(trained.sum())
        self._work = np.square(sizes, dtype=np.float64)  # seconds grow with the square of the rows
        by_size = np.argsort(sizes, kind="stable")  # the largest is taken first, from the end
        self._waiting = by_size[~trained[by_size]].tolist()
        self._work_waiting = float(self._work[self._waiting].sum())
        self._solved: dict[int, float] = {}  # part of the grid that is solved, of cells in training
        self._lock = threading.Lock()

    def work(self) -> None:
        """Train one cell after another until none waits."""
        while (taken := self._take()) is not None:
            number, n_threads = taken
            cell = train_cell(
                self._tasks[number],
                self._settings,
                self.token,
                on_progress=partial(self._solved.__setitem__, number),
                max_bytes=self._plan.bytes_per_cell,
                n_threads=n_threads,
            )
            if self._keeper is not None:
                self._keeper.save(cell)
            self._keep(number, cell)
            self._finish(number)

    def _take(self) -> tuple[int, int] | None:
        """Return the next cell and its number of threads, which solve its folds in parallel."""
        plan = self._plan
        with self._lock:
            if not self._waiting or self.token.cancelled:
                return None
            in_training = sum((1 - solved) * self._work[number] for number, solved in self._solved.items())
            left = self._work_waiting + float(in_training)
            number = self._waiting.pop()
            self._work_waiting -= self._work[number]
            self._solved[number] = 0.0
            # A cell with more than a thread's part of the remaining work would finish last, with other threads idle.
            is_large = self._work[number] > left / plan.n_threads and plan.all_threads_fit
            return number, plan.n_threads if plan.folds_in_parallel or is_large else 1

    def _restore(self, number: int) -> bool:
        """Take over a cell that an earlier fit has finished; return whether there is one."""
        cell = None if self._keeper is None else self._keeper.load(number)
        if cell is not None:
            self._keep(number, cell)
        return cell is not None

    def _keep(self, number: int, cell: TrainedCell) -> None:
        if self._spool is None:
            self._cells[number] = cell
        else:
            self._spool.save(cell)

    def cells(self) -> Sequence[TrainedCell]:
        """Return the trained cells in the order of their tasks."""
        if self._spool is not None:
            return self._spool.cells()
        return tuple(self._cells[number] for number in sorted(self._cells))

    def _finish(self, number: int) -> None:
        with self._lock:
            self._cells_done += 1
            self._samples_done += int(self._sizes[number])
            del self._solved[number]

    def state(self) -> tuple[int, int]:
        """Return the number of trained cells and of trained samples."""
        with self._lock:
            partly = sum(solved * self._sizes[number] for number, solved in self._solved.items())
            return self._cells_done, self._samples_done + int(partly)

    def progress(self, cells_done: int, samples_done: int, seconds: float) -> Progress:
        n_samples = int(self._sizes.sum())
        return Progress(cells_done, len(self._tasks), samples_done, n_samples, seconds, self._restored)
