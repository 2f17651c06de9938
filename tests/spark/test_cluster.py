"""What the other tests stand on: the cluster is a real one, and leaves nothing behind."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow as pa
import spark_cluster


def process_numbers(session, n):
    """Return the processes that each of n slow tasks ran in."""

    def number(batches):
        for batch in batches:
            time.sleep(0.2)
            yield pa.RecordBatch.from_pydict({"parent": [os.getppid()] * batch.num_rows})

    rows = session.range(n, numPartitions=n).mapInArrow(number, "parent long").collect()
    return [row["parent"] for row in rows]


def test_tasks_run_on_both_workers_in_classic_and_in_connect_mode(spark, connect):
    classic, remote = set(process_numbers(spark, 8)), set(connect.run(process_numbers, 8))
    assert len(classic) == len(remote) == 2
    assert not classic & remote
    assert os.getpid() not in classic | remote


def test_nothing_is_left_when_the_process_that_started_a_cluster_is_killed(tmp_path):
    script = textwrap.dedent("""
        import sys, time
        from spark_cluster import Cluster
        cluster = Cluster(sys.argv[1])
        print(*(service.process.pid for service in cluster._services), flush=True)
        time.sleep(600)
    """)
    environment = {**os.environ, "PYTHONPATH": str(Path(spark_cluster.__file__).parent)}
    command = [sys.executable, "-c", script, tmp_path / "cluster"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        groups = [int(word) for word in process.stdout.readline().split()]
        assert len(groups) == 3
        process.kill()
    end = time.monotonic() + 60
    while any(map(_has_members, groups)):
        assert time.monotonic() < end, "processes of the cluster are still there"
        time.sleep(0.05)


def _has_members(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
