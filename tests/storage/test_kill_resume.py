"""Real processes, killed at random moments; `python -m benchmarks.kill_resume` does it a hundred times."""

import re
import subprocess
import sys
from pathlib import Path


def test_trainings_that_are_killed_and_resumed_end_with_the_same_model():
    command = [sys.executable, "-m", "benchmarks.kill_resume", "--kills", "8", "--rows", "3000"]
    run = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("8 kills, ")
    assert "all the same to the byte" in run.stdout


def test_every_attempt_gets_a_stage_further_before_the_cells():
    command = [sys.executable, "-m", "benchmarks.kill_resume", "--prepare", "1", "--kills", "6", "--rows", "3000"]
    run = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert int(re.search(r"(\d+) stages", run.stdout)[1]) >= 4  # scaling, at least two metrics, partition
    assert "all the same to the byte" in run.stdout
