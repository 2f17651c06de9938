"""A worker that is lost in the middle of training costs what it was training, and changes nothing."""

import time

import numpy as np
from spark_cluster import Cluster
from spark_frames import frame_of
from spark_problems import two_classes
from spark_process import SparkProcess

from localsvm import LocalSVC
from localsvm.spark import LocalSVMClassifier

X, Y = two_classes(5000)
PARAMETERS = {"cell_size": 500, "grid": 10, "n_folds": 5, "scaling": "minmax"}


def fit(session, path):
    frame = frame_of(session, X, label=Y)
    model = LocalSVMClassifier(**PARAMETERS, coarse_size=500, checkpoint=path).fit(frame)
    return model.coarse_cells, model.task_report, model.toLocal().predict_proba(X)


def wait_for_finished_tasks(path, count):
    """Return when so many tasks have left their cells in files, but not all."""
    end = time.monotonic() + 300
    while len(list(path.glob("_temporary/0/task_*"))) < count:
        assert time.monotonic() < end, "no task has ended"
        time.sleep(0.01)


def test_a_job_that_loses_a_worker_trains_only_what_was_lost_again(tmp_path):
    with (
        Cluster(tmp_path / "cluster") as cluster,
        SparkProcess(cluster.settings(), cluster.environment) as client,
    ):
        client.begin(fit, str(tmp_path / "cells"))
        wait_for_finished_tasks(tmp_path / "cells", 4)
        before = time.time()
        cluster.kill_a_worker()
        coarse, report, probabilities = client.result()
    finished = np.array([task["finished"] for task in report])
    # The last task of the lost worker may have left its cells, and not have told the driver yet.
    assert (finished < before).sum() >= 3, "what was finished is not trained again"
    assert (finished > before).any(), "the worker was lost in the middle"
    twin = LocalSVC(**PARAMETERS, partition=coarse, n_jobs=1).fit(X, Y)
    assert np.array_equal(probabilities, twin.predict_proba(X))
