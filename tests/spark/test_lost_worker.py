"""A worker that dies during training changes nothing, and finished tasks do not run again.

Spark's own records say which tasks ran, and how they ended.
"""

import json
import time
import urllib.request
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from spark_cluster import Cluster
from spark_fits import FEATURES, SETTINGS, fit, write_toy
from spark_frames import without_seconds
from spark_process import SparkProcess

from localsvm import LocalSVC

SECONDS_TO_KILL = 120


def stages_url(session):
    """Return the address of the records of the application's stages."""
    context = session.sparkContext
    return f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"


def fit_model(session, path, checkpoint):
    model = fit(session, path, checkpoint=checkpoint)
    return model.coarse_cells, model.task_report, model.toLocal()


def read(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def wait_for_training(stages, last_stage):
    """Wait until some tasks of a training have ended, but not all; return the number of its stage."""
    end = time.monotonic() + SECONDS_TO_KILL
    while time.monotonic() < end:
        for stage in read(f"{stages}?status=active"):
            # Only trainings have so many tasks: one for each coarse cell.
            if stage["stageId"] > last_stage and stage["numTasks"] > 10 and stage["numCompleteTasks"] >= 4:
                return stage["stageId"]
        time.sleep(0.02)
    raise AssertionError("no training was seen")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("lost") / "rows", 4000)


@pytest.fixture(scope="module")
def cluster_to_lose(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("lost") / "cluster") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster_to_lose):
    settings = cluster_to_lose.settings() | {"spark.ui.enabled": "true", "spark.ui.port": 0}
    with SparkProcess(settings, cluster_to_lose.environment) as client:
        yield client


@pytest.fixture(scope="module")
def twin(rows):
    """Return a function that fits the same model without Spark."""
    table = pq.read_table(rows)
    X, y = np.column_stack([table[name] for name in FEATURES]), table["label"].to_numpy()
    parameters = {name: value for name, value in SETTINGS.items() if name != "coarse_size"}
    return lambda coarse: LocalSVC(**parameters, members=1, partition=coarse, n_jobs=1).fit(X, y)


@pytest.mark.parametrize("checkpoint", [False, True], ids=["on the driver", "checkpoint"])
def test_a_killed_worker_changes_nothing_and_only_its_unfinished_tasks_run_again(
    cluster_to_lose, client, twin, rows, tmp_path, checkpoint
):
    stages = client.run(stages_url)
    last_stage = max((stage["stageId"] for stage in read(stages)), default=-1)
    client.begin(fit_model, rows, str(tmp_path / "cells") if checkpoint else None)
    training = wait_for_training(stages, last_stage)
    before = time.time()
    cluster_to_lose.kill_a_worker()
    cluster_to_lose.start_worker()
    coarse, report, local = client.result()
    attempts = read(f"{stages}/{training}?details=true")

    assert without_seconds(local.model_) == without_seconds(twin(coarse).model_)
    tasks = [task for attempt in attempts for task in attempt["tasks"].values()]
    lost = [task["partitionId"] for task in tasks if "ExecutorLostFailure" in task.get("errorMessage", "")]
    succeeded = Counter(task["partitionId"] for task in tasks if task["status"] == "SUCCESS")
    assert lost, "no task was running on the worker"
    assert succeeded == dict.fromkeys(range(len(report)), 1), "not every task succeeded once, the lost ones included"
    finished = np.array([task["finished"] for task in report])
    assert (finished < before).sum() >= 3, "finished tasks ran again"
    assert (finished > before).any(), "the worker died after the training"
