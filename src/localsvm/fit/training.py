"""Training of all cells: a memory plan before work starts, then cells in threads, largest first.

Enters: tasks, one per cell. Leaves: trained cells in the order of the tasks; those that an earlier fit has left with a
keeper are not trained again. Work runs in threads that release the interpreter's lock; the calling thread only waits,
so that Ctrl-C is seen at once.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell import CancelToken
from localsvm.cell.settings import CellSettings, CellTask
from localsvm.cell.train import train_cell
from localsvm.cell.trained import TrainedCell
from localsvm.errors import InvalidData
from localsvm.fit.memory import available_memory
from localsvm.storage.kept_cells import KeptCells
from localsvm.storage.spool import Spool

_POLL_SECONDS = 0.1

_KEPT_BYTES = 64 << 20  # of large blocks, which the core keeps for the next cell
_LARGE_BLOCK = 2 << 20
_TASK_COPIES = 3  # of the samples of a cell: they are gathered, ordered and merged


@dataclass(frozen=True)
class MemoryPlan:
    """How many cells are trained at once, by how many threads, and what each may take."""

    n_threads: int
    cells_at_once: int
    bytes_per_cell: int | None = None
    has_room_for_threads: bool = True
    """Whether all threads can be at work on one cell; else there is room for what one of them needs."""

    @property
    def folds_side_by_side(self) -> bool:
        """Whether there are threads to spare for the folds of a cell."""
        return self.cells_at_once < self.n_threads


def plan_memory(
    sizes: NDArray[np.intp],
    n_features: int,
    settings: CellSettings,
    n_threads: int,
    limit: MemoryLimit,
    *,
    holds_model: bool = True,
) -> MemoryPlan:
    """Plan a training that stays within the memory there is, or refuse it with the numbers.

    As many cells at once as have room for their kernel matrices, at most one per thread. When not even one has, the
    largest are trained one by one with as many rows of the matrix as there is room for.
    """
    if limit.n_bytes is None:
        return MemoryPlan(n_threads, n_threads)
    largest = int(sizes.max())
    model = 4 * int(sizes.sum()) * (n_features + settings.reduction.columns_per_row) if holds_model else 0
    task = _TASK_COPIES * 4 * largest * n_features
    kept = _KEPT_BYTES if 4 * largest**2 >= _LARGE_BLOCK else 0
    room = limit.n_bytes - model - kept
    for cells_at_once in range(min(n_threads, len(sizes)), 0, -1):
        needed = settings.bytes_needed(largest, n_features, n_threads if cells_at_once < n_threads else 1)
        left = room // cells_at_once - task
        if needed.kernel <= left or (cells_at_once == 1 and needed.smallest <= left):
            by_all = settings.bytes_needed(largest, n_features, n_threads)
            return MemoryPlan(n_threads, cells_at_once, left, cells_at_once < n_threads or by_all.kernel <= left)
    raise InvalidData(
        f"training needs {_amount(model)} for the model ({int(sizes.sum())} samples of {n_features} features, 4 bytes "
        f"each) and at least {_amount(needed.smallest + task + kept)} for its largest cell of {largest} samples "
        f"({_amount(needed.kernel + task + kept)} to be fast), but {limit.owner} {_amount(limit.n_bytes)}. Make cells "
        "smaller with cell_size, train on a sample of the rows, or reduce the features."
    )


@dataclass(frozen=True)
class MemoryLimit:
    """Bytes that training may take beyond the data, and who says so."""

    n_bytes: int | None
    owner: str

    @classmethod
    def of(cls, max_memory: int | None) -> MemoryLimit:
        """Return the limit that a user gave, or that of the machine."""
        if max_memory is not None:
            return cls(max_memory, "max_memory allows")
        return cls(available_memory(), "this process can have")

    def check(self, n_bytes: int, what: str) -> None:
        """Refuse what takes more."""
        if self.n_bytes is not None and n_bytes > self.n_bytes:
            raise InvalidData(
                f"{what} needs {_amount(n_bytes)}, but {self.owner} {_amount(self.n_bytes)}. Train on a sample of the "
                "rows, or reduce the features."
            )


def _amount(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"


@dataclass(frozen=True)
class Progress:
    """One step of a fit, for callbacks; samples of cells at work count by the share done."""

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


def train_cells(
    tasks: Sequence[CellTask],
    sizes: NDArray[np.intp],
    settings: CellSettings,
    plan: MemoryPlan,
    on_progress: OnProgress | None = None,
    keeper: KeptCells | None = None,
    spool: Spool | None = None,
) -> Sequence[TrainedCell]:
    """Train all cells that the keeper has not; when one fails or Ctrl-C comes, stop them all.

    With a spool the support vectors of finished cells are on disk, not in memory.
    """
    crew = _Crew(tasks, sizes, settings, plan, keeper, spool)
    watch = _Watch(sizes, crew)
    with ThreadPoolExecutor(plan.cells_at_once) as workers:
        try:
            for _ in range(plan.cells_at_once):
                workers.submit(crew.work)
            while True:
                progress = watch.look()
                if on_progress is not None and progress is not None:
                    on_progress(progress)
                if watch.cells_done == len(tasks):
                    break
                watch.wait()
        finally:
            # After an error no cell begins, those at work see the token; then the pools empty.
            crew.token.cancel()
    return crew.results()


class _Crew:
    """Workers that take the next cell from a common list until it is empty."""

    def __init__(
        self,
        tasks: Sequence[CellTask],
        sizes: NDArray[np.intp],
        settings: CellSettings,
        plan: MemoryPlan,
        keeper: KeptCells | None,
        spool: Spool | None,
    ) -> None:
        self.tasks, self.settings, self.plan, self.keeper, self.spool = tasks, settings, plan, keeper, spool
        self.token = CancelToken()
        self.finished: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        self.shares: dict[int, float] = {}
        self._cells = [self._restored(number) for number in range(len(tasks))]
        self.restored = [number for number, cell in enumerate(self._cells) if cell]
        self._work = np.square(sizes, dtype=np.float64)  # seconds grow with the square of the rows
        by_size = np.argsort(sizes, kind="stable").tolist()  # the largest is taken first, from the end
        self._waiting = [number for number in by_size if not self._cells[number]]
        self._work_waiting = float(self._work[self._waiting].sum())
        self._lock = threading.Lock()

    def work(self) -> None:
        try:
            while (taken := self._take()) is not None:
                number, n_threads = taken
                cell = train_cell(
                    self.tasks[number],
                    self.settings,
                    self.token,
                    on_progress=self._share_setter(number),
                    max_bytes=self.plan.bytes_per_cell,
                    n_threads=n_threads,
                )
                if self.keeper is not None:
                    self.keeper.save(cell)
                self._cells[number] = self._held(cell)
                self.finished.put(number)
        except BaseException as error:
            self.finished.put(error)

    def _restored(self, number: int) -> TrainedCell | bool:
        """Return a cell that an earlier fit has finished; False if there is none."""
        cell = None if self.keeper is None else self.keeper.load(number)
        return False if cell is None else self._held(cell)

    def _held(self, cell: TrainedCell) -> TrainedCell | bool:
        """Return a finished cell, or True when it is on disk."""
        if self.spool is None:
            return cell
        self.spool.save(cell)
        return True

    def _take(self) -> tuple[int, int] | None:
        """Return the next cell, and by how many threads its folds are solved side by side."""
        with self._lock:
            if not self._waiting or self.token.cancelled:
                return None
            left = self._work_waiting + self._work_left_at_work()
            number = self._waiting.pop()
            self._work_waiting -= self._work[number]
            self.shares[number] = 0.0
            # One that is more than a thread's share of what is left would be at work when all others are done.
            is_large = self._work[number] > left / self.plan.n_threads and self.plan.has_room_for_threads
            return number, self.plan.n_threads if self.plan.folds_side_by_side or is_large else 1

    def _work_left_at_work(self) -> float:
        return float(sum((1 - share) * self._work[number] for number, share in self.shares.copy().items()))

    def _share_setter(self, number: int) -> Callable[[float], None]:
        def set_share(share: float) -> None:
            self.shares[number] = share

        return set_share

    def results(self) -> Sequence[TrainedCell]:
        if self.spool is not None:
            return self.spool.cells()
        return tuple(cell for cell in self._cells if isinstance(cell, TrainedCell))


class _Watch:
    """How far the crew is, and what of that is news."""

    def __init__(self, sizes: NDArray[np.intp], crew: _Crew) -> None:
        self._sizes, self._crew = sizes, crew
        self._begin = time.perf_counter()
        self._restored = int(sizes[crew.restored].sum())
        self._samples_done = self._restored
        self._last = (0, 0)
        self.cells_done = len(crew.restored)

    def wait(self) -> None:
        """Wait for finished cells, a tenth of a second at most; raise what a worker raised."""
        try:
            finished = [self._crew.finished.get(timeout=_POLL_SECONDS)]
            while not self._crew.finished.empty():
                finished.append(self._crew.finished.get())
        except queue.Empty:
            return
        for number in finished:
            if isinstance(number, BaseException):
                raise number
            self.cells_done += 1
            self._samples_done += int(self._sizes[number])
            self._crew.shares.pop(number, None)

    def look(self) -> Progress | None:
        """Return the state, or None if nothing has changed since the last look."""
        n_samples = int(self._sizes.sum())
        at_work = sum(share * self._sizes[number] for number, share in self._crew.shares.copy().items())
        samples_done = min(n_samples, self._samples_done + int(at_work))
        if (self.cells_done, samples_done) == self._last:
            return None
        self._last = (self.cells_done, samples_done)
        seconds = time.perf_counter() - self._begin
        return Progress(self.cells_done, len(self._sizes), samples_done, n_samples, seconds, self._restored)
