"""Programs in processes of their own: a JSON task goes in, the last line that comes out is the JSON answer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parent
LIQUIDSVM_WORKER = BENCHMARKS / "_liquidsvm_worker.py"
CELL_SIZE = 2000
# The metric and the kernel of liquidSVM and of the paper, for comparisons with them.
PLAIN: dict[str, Any] = {"relevance": None, "kernel": "gauss"}
# liquidSVM's way to the paper's partition: a tree of farthest-first traversals on samples of 50 000 rows.
LIQUIDSVM_VORONOI = (6, CELL_SIZE, 1, 50_000, 2.0, 20, 4)


def answer(worker: list[str | Path], task: dict[str, Any]) -> dict[str, Any]:
    """Start a worker, give it a task, and return its answer."""
    done = subprocess.run(
        worker,
        input=json.dumps(task) + "\n",
        stdout=subprocess.PIPE,
        text=True,
        cwd=BENCHMARKS.parent,
        check=False,
    )
    if done.returncode or not done.stdout.strip():
        raise SystemExit(f"{worker[-1]} ended with status {done.returncode} and no answer; its messages are above.")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def peak_bytes() -> int:
    """Return the peak of this process's memory so far."""
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
