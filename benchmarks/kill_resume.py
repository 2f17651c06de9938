"""Kills a training with SIGKILL at random moments, resumes it, and compares the model with that of an undisturbed one.

    python -m benchmarks.kill_resume [--kills 100] [--rows 6000] [--cell-size 100] [--seed 0] [--jobs 2] [--prepare 1]

Every training is a process of its own, with a checkpoint. One that ends before it is killed has a model, whose file
must be the same to the byte, up to the record of seconds, as that of a training that nothing stopped and that had no
checkpoint; the next one begins with an empty directory. The last one is left to its end. With --prepare 1 a training is
killed as soon as it has kept one more stage before its cells, so that each attempt gets one stage further and no more.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import struct
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from multiprocessing.process import BaseProcess as Process
from pathlib import Path

# Processes are forked from one that has imported all they need and does nothing else: they begin at once. What is
# imported here, all of them import again.
WORKER = "benchmarks._kill_resume_worker"
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([WORKER])


@dataclass(frozen=True)
class Options:
    """What to train, and how often to kill it."""

    kills: int = 100
    rows: int = 6000
    cell_size: int = 100
    seed: int = 0
    jobs: int = 2
    prepare: int = 0


@dataclass
class Tally:
    """What happened so far."""

    kills: int = 0
    models: int = 0
    stages: int = 0
    cells_at_kill: list[int] = field(default_factory=list)
    half_written: int = 0


def train(*arguments: object) -> None:
    """Train in a process of its own."""
    import_module(WORKER).train(*arguments)


def seconds_of_training(
    options: Options, model: Path, checkpoint: Path | None, wait: Callable[[Process], None]
) -> float | None:
    """Return how long a training took; None if it had not ended after the wait and was killed."""
    begun, begin = PROCESSES.Pipe(duplex=False)
    arguments = (options.rows, options.cell_size, options.jobs, model, checkpoint, begin)
    process = PROCESSES.Process(target=train, args=arguments)
    process.start()
    begin.close()
    begun.recv()
    start = time.monotonic()
    wait(process)
    seconds = time.monotonic() - start
    process.kill()
    process.join()
    if process.exitcode not in (0, -9):
        raise SystemExit("a training failed")
    return seconds if process.exitcode == 0 else None


def stages_in(checkpoint: Path) -> list[Path]:
    """Return the files of finished stages."""
    return list(checkpoint.glob("stage-*.rec"))


def one_more_stage(checkpoint: Path, known: int, process: Process) -> None:
    """Wait until one more stage is kept, or the training has ended."""
    while process.is_alive() and len(stages_in(checkpoint)) <= known:
        time.sleep(0.001)


def before_seconds(path: Path) -> bytes:
    """The bytes of a model file up to the record of seconds."""
    content = path.read_bytes()
    begin, size, _ = struct.unpack("<QQQ", content[-36:-12])
    return content[: begin + size]


def count(tally: Tally, checkpoint: Path) -> None:
    """Look at what a killed training has left."""
    tally.kills += 1
    tally.stages = max(tally.stages, len(stages_in(checkpoint)))
    tally.cells_at_kill.append(len(list(checkpoint.glob("cell-*.rec"))))
    tally.half_written += bool(list(checkpoint.glob("*.part")))


def torment(options: Options, folder: Path) -> Tally:
    """Kill and resume until there were enough kills, and compare every model."""
    model = folder / "model.lsvm"
    undisturbed = seconds_of_training(options, model, None, Process.join)
    assert undisturbed is not None
    expected, moments, tally = before_seconds(model), random.Random(options.seed), Tally()
    while tally.models == 0 or tally.kills < options.kills:
        model.unlink()
        checkpoint = folder / f"checkpoint-{tally.models}"
        while True:
            if tally.kills >= options.kills:
                wait = Process.join
            elif options.prepare:
                wait = partial(one_more_stage, checkpoint, len(stages_in(checkpoint)))
            else:
                wait = partial(Process.join, timeout=moments.uniform(0, 0.5 * undisturbed))
            if seconds_of_training(options, model, checkpoint, wait) is not None:
                break
            count(tally, checkpoint)
        tally.models += 1
        if before_seconds(model) != expected:
            raise SystemExit(f"model {tally.models}, after {tally.kills} kills, is another one")
    return tally


def main() -> None:
    """Read the command line and tell what came of it."""
    parser = argparse.ArgumentParser(description="Kill a training again and again.")
    for name, default in vars(Options()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    with tempfile.TemporaryDirectory() as folder:
        tally = torment(Options(**vars(parser.parse_args())), Path(folder))
    at_kill = tally.cells_at_kill
    print(
        f"{tally.kills} kills, {tally.models} models, all the same to the byte; {min(at_kill)} to {max(at_kill)} cells "
        f"and up to {tally.stages} stages were kept at a kill; {tally.half_written} kills left a file half written"
    )


if __name__ == "__main__":
    main()
