"""The flow of a fit: merge -> scale -> partition -> train cells -> model.

Enters: validated rows and `FitSettings`. Leaves: a `LocalModel` and the seconds of each phase. Work
runs in threads that release the interpreter's lock; the calling thread only waits, so that Ctrl-C
is seen at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.train import (
    PHASES,
    CancelToken,
    CellSettings,
    CellTask,
    TrainedCell,
    train_cell,
)
from localsvm.data.content import Rows, canonical_rows, distinct_rows
from localsvm.data.scaling import fit_scaling
from localsvm.errors import InvalidData
from localsvm.model.local_model import LocalModel

_POLL_SECONDS = 0.1

# Distances and kernel matrix are two; coefficients, neighbours and the solvers' state are the rest.
_FLOATS_PER_PAIR = 2.2

# Below this radius squares of distances and of the smallest width leave single precision.
_SMALLEST_RADIUS = 1e-15


@dataclass(frozen=True)
class FitSettings:
    """How to fit: the settings of a cell, and those around it."""

    cell: CellSettings
    scaling: str | None
    seed: int
    n_threads: int
    class_factor: tuple[float, float] = (1.0, 1.0)
    """Factors on the weights of samples with a negative and with a positive target.

    They are applied when equal samples have been merged: three times a weight w is 3 w exactly, but
    w f + w f + w f need not be 3 w f.
    """
    max_memory: int | None = None
    """Bytes that training may take; None is what the machine has."""


@dataclass(frozen=True)
class Progress:
    """One step of a fit, for callbacks; samples of a cell at work count by the share done."""

    cells_done: int
    n_cells: int
    samples_done: int
    n_samples: int
    seconds: float


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class FitResult:
    """The model and the seconds spent in each phase."""

    model: LocalModel
    seconds: dict[str, float]


def available_threads() -> int:
    """Return the number of cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def fit_model(
    X: NDArray[np.floating],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    settings: FitSettings,
    on_progress: OnProgress | None = None,
) -> FitResult:
    """Fit a local model to rows of finite features; rows of weight zero are as if absent."""
    begin = time.perf_counter()
    # Merged and ordered by content first, so that sums over rows round alike for any order.
    X, y, weight = distinct_rows(X, y, weight)
    weight = weight * np.where(y < 0, *settings.class_factor)
    scaling = fit_scaling(settings.scaling, X, weight)
    rows = canonical_rows(scaling.apply(X), y, weight, settings.seed)
    tasks = [CellTask(rows, radius=cell_radius(rows))]
    _check_spread(X, rows)
    _check_memory(tasks, settings.max_memory)
    partitioned = time.perf_counter()

    cells = train_cells(tasks, settings.cell, settings.n_threads, on_progress)
    seconds = {"partition": partitioned - begin}
    for phase in PHASES:
        seconds[phase] = sum(cell.seconds[phase] for cell in cells)
    seconds["total"] = time.perf_counter() - begin
    return FitResult(LocalModel(X.shape[1], scaling, tuple(cells)), seconds)


def cell_radius(rows: Rows) -> float:
    """Return the largest distance of a sample from the mean of the distinct samples."""
    X = rows.X.astype(np.float64)
    radius = float(np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).max()))
    return radius if radius > 0 else 1.0


def train_cells(
    tasks: Sequence[CellTask],
    settings: CellSettings,
    n_threads: int,
    on_progress: OnProgress | None = None,
) -> list[TrainedCell]:
    """Train all cells, in the order given; when one fails or Ctrl-C comes, stop them all."""
    token = CancelToken()
    watch = _Watch(tasks)
    with ThreadPoolExecutor(n_threads) as folds, ThreadPoolExecutor(1) as cells:
        futures = [
            cells.submit(train_cell, task, settings, token, folds.map, watch.share_setter(j))
            for j, task in enumerate(tasks)
        ]
        try:
            for n_done in _as_they_finish(futures):
                progress = watch.look(n_done)
                if on_progress is not None and progress is not None:
                    on_progress(progress)
        except BaseException:
            # Cells that wait never begin, the one at work sees the token; then the pools empty.
            token.cancel()
            cells.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


class _Watch:
    """How far every cell is, as its thread says, and what of that is news."""

    def __init__(self, tasks: Sequence[CellTask]) -> None:
        self._sizes = np.array([len(task.rows.y) for task in tasks])
        self._shares = np.zeros(len(tasks))
        self._begin = time.perf_counter()
        self._last = (0, 0)

    def share_setter(self, number: int) -> Callable[[float], None]:
        def set_share(share: float) -> None:
            self._shares[number] = share

        return set_share

    def look(self, cells_done: int) -> Progress | None:
        """Return the state, or None if nothing has changed since the last look."""
        n_cells, n_samples = len(self._sizes), int(self._sizes.sum())
        samples_done = n_samples if cells_done == n_cells else int(self._shares @ self._sizes)
        if (cells_done, samples_done) == self._last:
            return None
        self._last = (cells_done, samples_done)
        seconds = time.perf_counter() - self._begin
        return Progress(cells_done, n_cells, samples_done, n_samples, seconds)


def _as_they_finish(futures: Sequence[Future[TrainedCell]]) -> Iterator[int]:
    """Yield the number of finished cells, at least every tenth of a second; raise what one raised."""
    pending = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in finished:
            future.result()
        yield len(futures) - len(pending)


def _check_spread(X: NDArray[np.floating], rows: Rows) -> None:
    """Refuse rows that differ as given but are alike in single precision, once scaled."""
    if rows.n_groups > 1 and cell_radius(rows) >= _SMALLEST_RADIUS:
        return
    spread = float((X.max(axis=0) / 2 - X.min(axis=0) / 2).max()) * 2
    if spread > 0:
        raise InvalidData(
            f"the features differ by {spread:.3g} at most, too little for single precision. "
            "Multiply them by a large number, or pass scaling='quantile'."
        )


def _check_memory(tasks: Sequence[CellTask], max_memory: int | None) -> None:
    """Refuse a cell that cannot be trained in the memory there is."""
    largest = max(len(task.rows.y) for task in tasks)
    needed = _FLOATS_PER_PAIR * 4.0 * largest**2
    limit = max_memory if max_memory is not None else _physical_memory()
    if limit is not None and needed > limit:
        owner = "max_memory allows" if max_memory is not None else "this machine has"
        raise InvalidData(
            f"a cell of {largest} distinct samples needs {_gigabytes(needed)} of memory, but "
            f"{owner} {_gigabytes(limit)}. Train on a sample of the rows."
        )


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB"


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
