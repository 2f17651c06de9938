"""The cluster of the other tests runs tasks on two workers, and its processes end with the tests."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import spark_cluster


def process_numbers(session):
    """Return the process in which each of two tasks ran that begin when both workers have a core for them."""

    def number(batches):
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"parent": [os.getppid()] * batch.num_rows})

    rows = session.range(2, numPartitions=2).mapInArrow(number, "parent long", barrier=True).collect()
    return [row["parent"] for row in rows]


def test_tasks_run_on_both_workers_in_classic_and_in_connect_mode(spark, connect):
    classic, remote = set(process_numbers(spark)), set(connect.run(process_numbers))
    assert len(classic) == len(remote) == 2
    assert not classic & remote
    assert os.getpid() not in classic | remote


START_A_SERVICE = """
import sys, time
from pathlib import Path
from spark_cluster import Service
service = Service(["sh", "-c", "sleep 600 & echo started; sleep 600"], Path(sys.argv[1]), None)
service.find("(started)")
print(service.process.pid, flush=True)
time.sleep(600)
"""


def test_services_end_with_all_their_processes_when_the_process_that_started_them_is_killed(tmp_path):
    """A cluster consists of services: master, workers, Connect servers."""
    environment = {**os.environ, "PYTHONPATH": str(Path(spark_cluster.__file__).parent)}
    command = [sys.executable, "-c", START_A_SERVICE, tmp_path / "log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        group = int(process.stdout.readline())
        assert _has_members(group)
        process.kill()
    end = time.monotonic() + 60
    while _has_members(group):
        assert time.monotonic() < end, "processes of the service are still running"
        time.sleep(0.05)


def _has_members(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
