"""Instructions that the native core takes for every workload, counted by callgrind.

Enters: a level of vector instructions. Leaves: counts by workload. Only what is executed in the extension itself is
counted, neither Python nor NumPy, whose versions differ from machine to machine. So a count is the same on every run,
up to some millionths, and on every processor, as long as the compiler is.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.speed.workloads import WORKLOADS
from localsvm import _native

HERE = Path(__file__).resolve().parent
EXTENSION = Path(_native.__file__)


def count_instructions(level: str) -> dict[str, int]:
    """Run all workloads under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "requests.so"
        subprocess.run(
            [os.environ.get("CXX", "c++"), "-shared", "-fPIC", "-o", library, HERE / "requests.cpp"], check=True
        )
        environment = os.environ | {"LOCALSVM_SIMD": level, "OPENBLAS_NUM_THREADS": "1"}
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/counts"]
        run = subprocess.run(
            [*command, sys.executable, "-m", "benchmarks.speed._worker", library],
            env=environment,
            cwd=HERE.parents[1],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if run.returncode:
            raise SystemExit(f"the workloads did not run under valgrind:\n{run.stderr}")
        dumps = [file.read_text().splitlines() for file in Path(folder).glob("counts.*")]
    by_name = {_name(lines): instructions_in(lines, EXTENSION.name) for lines in dumps}
    return {name: by_name[name] for name in WORKLOADS}


def instructions_in(lines: Iterable[str], part: str) -> int:
    """Return the instructions of a dump of callgrind's that were executed in objects whose path ends with `part`.

    Lines with costs follow the object and function that they belong to; the line after "calls=" has what the called
    function took, which is counted where that function stands. An object has its name where it is first mentioned, as
    the place of costs ("ob=") or of a call ("cob="), and a number after that.
    """
    paths: dict[str, str] = {}
    total, inside, is_call = 0, False, False
    for line in lines:
        if line.startswith(("ob=", "cob=")):
            kind, _, value = line.partition("=")
            number, _, path = value.partition(" ")
            paths.setdefault(number, path)
            inside = paths[number].endswith(part) if kind == "ob" else inside
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[\d+*-]", line):
            total += int(line.split()[1]) if inside and not is_call else 0
            is_call = False
    return total


def _name(lines: Iterable[str]) -> str:
    """Return the workload that a dump is of."""
    trigger = "desc: Trigger: Client Request: "
    return next((line.removeprefix(trigger) for line in lines if line.startswith(trigger)), "")


def compiler() -> str:
    """Return what compiled the extension, as it says itself."""
    found = re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", EXTENSION.read_bytes())
    return found.group().decode() if found else "unknown"
