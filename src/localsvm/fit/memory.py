"""Memory: what the machine has, what this process takes, and a plan of how much training may use at once.

Enters: sizes of cells and a limit. Leaves: a `MemoryPlan`, or a refusal with the numbers before work starts.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localsvm.cell.settings import CellSettings
from localsvm.errors import InvalidData

_CGROUP = Path("/sys/fs/cgroup")
_MMAP_THRESHOLD, _MMAP_BYTES = -3, 1 << 20  # of mallopt(3)

_KEPT_BYTES = 64 << 20  # of large blocks, which the core keeps for the next cell
_LARGE_BLOCK = 2 << 20
_TASK_COPIES = 3  # of the samples of a cell: they are gathered, ordered and merged


@dataclass(frozen=True)
class MemoryPlan:
    """How many cells are trained at once, by how many threads, and what each may take."""

    n_threads: int
    cells_at_once: int
    bytes_per_cell: int | None = None
    all_threads_fit: bool = True
    """Whether all threads can work on one cell; else there is memory for one of them only."""

    @property
    def folds_in_parallel(self) -> bool:
        """Whether there are more threads than cells at once, so that those of a cell solve its folds in parallel."""
        return self.cells_at_once < self.n_threads


@dataclass(frozen=True)
class MemoryLimit:
    """Bytes that training may take beyond the data, and where the limit comes from."""

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


def plan_memory(
    sizes: NDArray[np.intp],
    n_features: int,
    settings: CellSettings,
    n_threads: int,
    limit: MemoryLimit,
    *,
    holds_model: bool = True,
) -> MemoryPlan:
    """Plan a training that stays within the limit, or refuse it with the numbers.

    As many cells are trained at once as their kernel matrices fit, at most one per thread. If not even one fits, cells
    are trained one by one with as many rows of the matrix as fit.
    """
    if limit.n_bytes is None:
        return MemoryPlan(n_threads, n_threads)
    largest = int(sizes.max())
    model = 4 * int(sizes.sum()) * (n_features + settings.reduction.columns_per_row) if holds_model else 0
    task = _TASK_COPIES * 4 * largest * n_features
    kept = _KEPT_BYTES if 4 * largest**2 >= _LARGE_BLOCK else 0
    for_cells = limit.n_bytes - model - kept
    for cells_at_once in range(min(n_threads, len(sizes)), 0, -1):
        needed = settings.bytes_needed(largest, n_features, n_threads if cells_at_once < n_threads else 1)
        left = for_cells // cells_at_once - task
        if needed.kernel <= left or (cells_at_once == 1 and needed.smallest <= left):
            by_all = settings.bytes_needed(largest, n_features, n_threads)
            return MemoryPlan(n_threads, cells_at_once, left, cells_at_once < n_threads or by_all.kernel <= left)
    raise InvalidData(
        f"training needs {_amount(model)} for the model ({int(sizes.sum())} samples of {n_features} features, 4 bytes "
        f"each) and at least {_amount(needed.smallest + task + kept)} for its largest cell of {largest} samples "
        f"({_amount(needed.kernel + task + kept)} to be fast), but {limit.owner} {_amount(limit.n_bytes)}. Make cells "
        "smaller with cell_size, train on a sample of the rows, or reduce the features."
    )


def _amount(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"


def available_memory() -> int | None:
    """Return the bytes that this process may take in addition, or None if unknown.

    The minimum of what the machine, the control group and the limits of the process (`ulimit -v`, `ulimit -d`) leave.
    """
    known = [n_bytes for n_bytes in (_machine(), _control_group(), *_process_limits()) if n_bytes is not None]
    return max(0, min(known)) if known else None


def resident_memory() -> int | None:
    """Return the bytes that this process holds in memory, or None if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def give_back_large_blocks() -> None:
    """Have the C library return large blocks to the system as soon as they are freed, if it can.

    By default glibc keeps freed blocks of up to 32 MB for later use.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _MMAP_BYTES)


def _machine() -> int | None:
    fields = _fields("/proc/meminfo")
    if "MemAvailable" in fields:
        return fields["MemAvailable"] * 1024
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _control_group() -> int | None:
    limit, used = _number(_CGROUP / "memory.max"), _number(_CGROUP / "memory.current")
    return None if limit is None or used is None else limit - used


def _process_limits() -> list[int]:
    try:
        import resource
    except ImportError:  # not a Unix
        return []
    limits = {
        used: resource.getrlimit(limit)[0]
        for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
    }
    limited = [used for used, soft in limits.items() if soft != resource.RLIM_INFINITY]
    status = _fields("/proc/self/status") if limited else {}
    return [limits[used] - status.get(used, 0) * 1024 for used in limited]


def _fields(path: str) -> dict[str, int]:
    """Read lines like `MemAvailable:  123 kB`."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return {}
    parts = (line.replace(":", " ").split() for line in lines)
    return {part[0]: int(part[1]) for part in parts if len(part) >= 2 and part[1].isdigit()}


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # "max" is no limit
        return None
