"""A machine that dies in the middle of training: Spark's own books say what was trained, and how often."""

import json
import time
import urllib.request
from collections import Counter

from spark_cluster import Cluster
from spark_fits import fit_cells, write_toy
from spark_process import SparkProcess

SECONDS_TO_KILL = 120


def address(session):
    """Return where the application tells about its stages."""
    context = session.sparkContext
    return f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"


def read(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def wait_for_training(stages, n_tasks, last_stage):
    """Wait until some of the tasks of a training have ended; return the number of its stage."""
    end = time.monotonic() + SECONDS_TO_KILL
    while time.monotonic() < end:
        for stage in read(f"{stages}?status=active"):
            if stage["stageId"] > last_stage and stage["numTasks"] == n_tasks and stage["numCompleteTasks"] >= 2:
                return stage["stageId"]
        time.sleep(0.02)
    raise AssertionError("no training was seen")


def test_a_killed_worker_changes_nothing_and_only_what_it_had_not_finished_is_trained_again(tmp_path):
    rows = write_toy(tmp_path / "rows", 6000)
    with Cluster(tmp_path / "cluster") as cluster:
        settings = cluster.settings() | {"spark.ui.enabled": "true", "spark.ui.port": 0}
        with SparkProcess(settings, cluster.environment) as client:
            stages = client.run(address)
            undisturbed = client.run(fit_cells, rows)
            last_stage = max(stage["stageId"] for stage in read(stages))
            client.begin(fit_cells, rows)
            training = wait_for_training(stages, undisturbed["n_tasks"], last_stage)
            cluster.kill_a_worker()
            assert client.result() == undisturbed
            attempts = read(f"{stages}/{training}?details=true")
    ended = [(task["partitionId"], task["status"]) for attempt in attempts for task in attempt["tasks"].values()]
    trained = Counter(task for task, status in ended if status == "SUCCESS")
    assert trained == dict.fromkeys(range(undisturbed["n_tasks"]), 1)
    assert len(ended) > len(trained), "no task was lost"
