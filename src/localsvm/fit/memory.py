"""How much memory there is, and how much is taken: for the plan of a fit, before it starts."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 1 << 20  # of mallopt(3)


def available_memory() -> int | None:
    """Return the bytes that this process may still take, or None where nobody knows.

    The least of what the machine has to spare, what the control group leaves, and what the limits of the process
    (`ulimit -v`, `ulimit -d`) leave.
    """
    known = [n_bytes for n_bytes in (_machine(), _control_group(), *_process_limits()) if n_bytes is not None]
    return max(0, min(known)) if known else None


def resident_memory() -> int | None:
    """Return the bytes that this process holds in memory, or None where nobody knows."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def give_back_large_blocks() -> None:
    """Have the C library return large blocks to the system as soon as they are freed, where it can be told to.

    By default glibc keeps blocks of up to 32 MB for later; a process that must stay small has no later.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)


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
