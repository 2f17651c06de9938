"""A model reaches the executors once, whatever the number of tasks, transforms and modes."""

import numpy as np
import pyarrow as pa
from spark_frames import frame_of, in_order
from spark_problems import PROBLEMS

from localsvm.spark import LocalSVMClassifier, sending

PROBLEM = PROBLEMS["two classes"]
OUTPUTS = ("prediction", "rawPrediction", "probability")


def opened_models(session, n_tasks=8):
    """Return how often each Python process has opened a model, by process."""

    def count(batches):
        import os
        import time

        from localsvm.spark import sending

        for _ in batches:
            time.sleep(0.1)  # so that every process has a task
            yield pa.RecordBatch.from_pydict({"process": [os.getpid()], "opened": [sending._open.cache_info().misses]})

    rows = session.range(n_tasks, numPartitions=n_tasks).mapInArrow(count, "process long, opened long").collect()
    return {row["process"]: row["opened"] for row in rows}


def transform_often(session):
    """Predict in 12 tasks, twice; return the predictions and how often a process has opened a model."""
    before, sending.SMALL_FILE = sending.SMALL_FILE, 0
    try:
        model = LocalSVMClassifier(**PROBLEM.on_spark).fit(frame_of(session, PROBLEM.X, label=PROBLEM.y))
        model.set(model.transform_by, "broadcast")
        begin = opened_models(session)
        found = [in_order(model.transform(frame_of(session, PROBLEM.X, n)), *OUTPUTS) for n in (12, 5)]
        end = opened_models(session)
        opened = {process: end[process] - begin[process] for process in begin.keys() & end.keys()}
        return found, opened, model.coarse_cells
    finally:
        sending.SMALL_FILE = before


def check(found, opened, coarse_cells):
    twin = PROBLEM.fit_without_spark(coarse_cells)
    scores = twin.decision_function(PROBLEM.X)
    expected = twin.predict(PROBLEM.X), np.column_stack([-scores, scores]), twin.predict_proba(PROBLEM.X)
    assert all(map(np.array_equal, found[0], expected))
    assert all(map(np.array_equal, found[1], expected))
    # Spark ends idle processes: one that has opened the model may be gone.
    assert max(opened.values(), default=0) <= 1, "a process has opened the model more than once"


def test_a_broadcast_model_is_opened_once_per_process(spark):
    check(*transform_often(spark))


def test_a_model_is_a_file_of_a_connect_session_and_opened_once_per_process(connect):
    check(*connect.run(transform_often))
