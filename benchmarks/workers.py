"""Programs in processes of their own: a JSON task goes in, the last line that comes out is the JSON answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parent
LIQUIDSVM_WORKER = BENCHMARKS / "_liquidsvm_worker.py"
CELL_SIZE = 2000
# The metric and the kernel of liquidSVM and of the paper, for comparisons with them; and their classifier.
PLAIN: dict[str, Any] = {"relevance": None, "kernel": "gauss"}
DECISIONS: dict[str, Any] = {"objective": "accuracy", "members": 1}
PLAIN_SVC: dict[str, Any] = {**PLAIN, **DECISIONS}
# liquidSVM's way to the paper's partition: a tree of farthest-first traversals on samples of 50 000 rows.
LIQUIDSVM_VORONOI = (6, CELL_SIZE, 1, 50_000, 2.0, 20, 4)


class WorkerFailed(SystemExit):
    """A worker has ended without an answer; who does not expect that ends, too."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def answer(worker: list[str | Path], task: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
    """Start a worker, give it a task, and return its answer; raise TimeoutError if it takes longer than this."""
    with subprocess.Popen(
        worker,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=BENCHMARKS.parent,
        start_new_session=True,  # so that what it starts ends with it
    ) as process:
        try:
            said, _ = process.communicate(json.dumps(task) + "\n", timeout=seconds)
        except BaseException as stopped:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(stopped, subprocess.TimeoutExpired):
                raise TimeoutError(f"{worker[-1]} took more than {seconds:.0f} seconds.") from None
            raise
    if process.returncode or not said.strip():
        message = f"{worker[-1]} ended with status {process.returncode} and no answer; its messages are above."
        raise WorkerFailed(message, process.returncode)
    return dict(json.loads(said.splitlines()[-1]))


def peak_bytes() -> int:
    """Return the peak of this process's memory so far."""
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
