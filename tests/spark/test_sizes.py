"""Sizes at which a cluster works, scaled down with its limits: 32 million rows of 631 features break at 1 GB."""

from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from spark_frames import frame_of, without_seconds
from spark_problems import PROBLEMS

from localsvm.spark import LocalSVMClassifier, LocalSVMRegressor, coarse, distributed, fit, results, training

N_ROWS, N_FEATURES = 8000, 631


@pytest.fixture(scope="module")
def wide(spark):
    """Rows of two classes around a few centers of different density, as one column of arrays."""
    rng = np.random.default_rng(0)
    center = rng.integers(0, 12, size=N_ROWS)
    X = rng.normal(size=(12, N_FEATURES))[center] + 0.3 * rng.normal(size=(N_ROWS, N_FEATURES))
    features = pa.FixedSizeListArray.from_arrays(pa.array(X.astype(np.float32).ravel()), N_FEATURES)
    label = (X[:, 0] + X[:, 1] > 0).astype(float)
    table = pa.table({"features": features.cast(pa.list_(pa.float32())), "label": label})
    return spark.createDataFrame(table).repartition(6).localCheckpoint()


def test_large_coarse_cells_are_split_by_tasks_and_only_centers_reach_the_driver(spark, wide, monkeypatch):
    """Their samples have 7 MB, and results of more than 4 MB are refused."""
    assert spark.conf.get("spark.driver.maxResultSize") == "4m"
    monkeypatch.setattr(coarse, "LARGEST_TRAVERSAL", 600)  # about a hundredth
    monkeypatch.setattr(fit, "sample_rows", lambda _: 600)
    monkeypatch.setattr(distributed, "SMALL_MODEL", 0)
    parameters = {"grid": 2, "n_folds": 2, "kernel": "gauss", "relevance": None, "scaling": "minmax"}
    model = LocalSVMClassifier(cell_size=400, coarse_size=400, **parameters).fit(wide)
    rows = [task["rows"] for task in model.task_report]
    assert len(rows) > 25 and sum(rows) == N_ROWS and max(rows) <= 400
    assert len(model.coarse_cells.nodes) > 5, "few coarse cells were split twice"
    model.release()


def test_results_beyond_the_limit_reach_the_driver_in_parts(spark):
    random = F.udf(lambda key: bytes(np.random.default_rng(key).bytes(300_000)), "binary")
    frame = spark.range(24).select(F.col("id").alias("key"), random("id").alias("bytes")).localCheckpoint()
    with pytest.raises(Exception, match=r"bigger than spark\.driver\.maxResultSize"):
        frame.toArrow()
    rows = results.collect_rows(frame, "key", ["bytes"])
    assert [row["key"] for row in rows] == list(range(24))
    assert all(row["bytes"] == np.random.default_rng(row["key"]).bytes(300_000) for row in rows)


@pytest.mark.parametrize("problem", ["two classes", "weights, duplicates, rates"])
def test_tasks_find_the_centers_that_the_driver_finds(spark, problem, monkeypatch):
    """Also where duplicates leave too few distinct rows at first, and more have to be drawn."""
    problem = PROBLEMS[problem]
    weight = np.ones(len(problem.y)) if problem.weight is None else problem.weight
    frame = frame_of(spark, np.tile(problem.X, (2, 1)), label=np.tile(problem.y, 2), weight=np.tile(weight, 2))
    classifier = LocalSVMClassifier(**problem.on_spark, weightCol="weight")
    monkeypatch.setattr(coarse, "LARGEST_TRAVERSAL", 400)
    expected = classifier.fit(frame)
    monkeypatch.setattr(coarse, "_contains_samples", lambda *_: False)
    found = classifier.fit(frame)
    assert len(found.coarse_cells) == len(expected.coarse_cells) > 1
    assert without_seconds(found.toLocal().model_) == without_seconds(expected.toLocal().model_)


def test_many_small_partitions_are_read_by_few_tasks(spark):
    problem, context = PROBLEMS["numbers"], spark.sparkContext
    frame = frame_of(spark, problem.X, 40, label=problem.y).localCheckpoint()
    group = uuid4().hex
    context.setJobGroup(group, "a fit")
    LocalSVMRegressor(**problem.on_spark).fit(frame)
    context.setLocalProperty("spark.jobGroup.id", None)
    context._jsc.sc().listenerBus().waitUntilEmpty(300_000)  # the status of stages follows their events
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
    tasks = sorted(stage.numTasks for stage in stages if stage is not None)  # None: skipped, never submitted
    assert tasks[-1] == 40, "the first pass reads every partition"
    assert tasks[-2] < 20  # two for each Python process; Spark has some that are idle


def test_a_forecast_has_the_tasks_and_bytes_of_the_fit(spark):
    problem = PROBLEMS["two classes"]
    frame = frame_of(spark, problem.X, label=problem.y).localCheckpoint()
    classifier = LocalSVMClassifier(**problem.on_spark)
    found, model = classifier.forecast(frame), classifier.fit(frame)
    tasks = model.task_report
    assert (found.n_rows, found.n_features) == problem.X.shape
    assert (found.n_tasks, found.largest_task) == (len(tasks), tasks[0]["rows"])
    assert found.n_cells == pytest.approx(model.n_cells, rel=0.3)
    assert found.largest_cell <= 150
    assert found.model_bytes == pytest.approx(model._parts.n_bytes, rel=0.3)
    assert 0 < found.pilot_cells <= model.n_cells
    assert found.seconds > 0
    assert min(found.task_memory, found.driver_memory) > found.result_bytes >= 20 * found.n_rows


def test_the_bytes_of_the_shuffle_are_those_that_tasks_write(spark):
    problem = PROBLEMS["numbers"]
    frame = frame_of(spark, problem.X, label=problem.y).localCheckpoint()
    regressor = LocalSVMRegressor(**problem.on_spark)
    prepared = fit.prepare_distributed(frame, regressor._estimator(), regressor._fit_plan())
    blocks = training.shuffled_rows(prepared.problem.rows, prepared.training).drop("part")
    written = blocks.select(sum(F.length(name) for name in blocks.columns).alias("n_bytes")).agg(F.sum("n_bytes"))
    assert written.first()[0] == regressor.forecast(frame).shuffle_bytes


def forecast(session):
    problem = PROBLEMS["numbers"]
    frame = frame_of(session, problem.X, label=problem.y)
    return LocalSVMRegressor(**problem.on_spark).forecast(frame)


def test_a_forecast_in_connect_mode(connect):
    found = connect.run(forecast)
    assert found.n_rows == 1200
