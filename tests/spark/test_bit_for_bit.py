"""Given the same coarse centers, models and predictions of a cluster are those of a fit without Spark, to the bit."""

import numpy as np
import pytest
from spark_frames import columns_of, frame_of, in_order, without_seconds
from spark_problems import PROBLEMS, two_classes

from localsvm import LocalSVC
from localsvm.spark import LocalSVMClassifier, LocalSVMRegressor, distributed, predict


def on_cluster(problem):
    return LocalSVMClassifier if problem.twin is LocalSVC else LocalSVMRegressor


@pytest.fixture(scope="module", params=PROBLEMS)
def fitted(request, spark):
    """A problem, its frame, the model of the cluster, and the model of a fit without Spark."""
    problem = PROBLEMS[request.param]
    columns = {"label": problem.y} | ({} if problem.weight is None else {"weight": problem.weight})
    frame = frame_of(spark, problem.X, **columns).cache()
    estimator = on_cluster(problem)(**problem.on_spark)
    if problem.weight is not None:
        estimator.setWeightCol("weight")
    model = estimator.fit(frame)
    yield problem, frame, model, problem.fit_without_spark(model.coarse_cells)
    frame.unpersist()


def test_the_model_is_that_of_a_fit_without_spark(fitted):
    _, _, model, twin = fitted
    assert len(model.coarse_cells) > 1
    local = model.toLocal()
    assert without_seconds(local.model_) == without_seconds(twin.model_)
    assert local.cells_ == twin.cells_


@pytest.mark.parametrize("by", ["broadcast", "shuffle"])
def test_predictions_are_those_of_a_fit_without_spark(fitted, by):
    problem, frame, model, twin = fitted
    found = model.copy({model.transform_by: by}).transform(frame)
    assert found.columns[: len(frame.columns)] == frame.columns
    (prediction,) = in_order(found, "prediction")
    assert np.array_equal(prediction, twin.predict(problem.X))
    if isinstance(twin, LocalSVC):
        raw, probability = in_order(found, "rawPrediction", "probability")
        assert np.array_equal(probability, twin.predict_proba(problem.X))
        scores = twin.decision_function(problem.X)
        assert np.array_equal(raw, scores if scores.ndim == 2 else np.column_stack([-scores, scores]))


def test_every_row_is_in_the_report_of_one_task(fitted):
    problem, _, model, _ = fitted
    present = len(problem.y) if problem.weight is None else int((problem.weight > 0).sum())
    rows = [task["rows"] for task in model.task_report]
    assert sum(rows) == present
    assert rows == sorted(rows, reverse=True)
    assert sum(task["cells"] for task in model.task_report) == model.n_cells
    assert max(rows) <= 500


def test_more_rows_than_a_traversal_takes_are_partitioned_as_without_spark(spark):
    X, y = two_classes(52_000)
    X = X[:, :2]
    parameters = {"cell_size": 1000, "n_folds": 1, "grid": 2, "kernel": "laplace", "scaling": "minmax"}
    model = LocalSVMClassifier(**parameters).fit(frame_of(spark, X, label=y))
    twin = LocalSVC(**parameters, members=1, n_jobs=1).fit(X, y)
    assert len(model.task_report) > 1
    assert without_seconds(model.toLocal().model_) == without_seconds(twin.model_)


def test_a_large_model_stays_in_the_executors(spark, monkeypatch):
    monkeypatch.setattr(distributed, "SMALL_MODEL", 0)
    monkeypatch.setattr(predict, "BROADCAST_BYTES", 0)
    problem = PROBLEMS["weights, duplicates, rates"]
    frame = frame_of(spark, problem.X, label=problem.y, weight=problem.weight)
    model = LocalSVMClassifier(**problem.on_spark, weightCol="weight").fit(frame)
    twin = problem.fit_without_spark(model.coarse_cells)
    (probability,) = in_order(model.transform(frame), "probability")
    assert np.array_equal(probability, twin.predict_proba(problem.X))
    assert model.toLocal().cells_ == twin.cells_
    model.release()


def test_neither_the_kind_of_features_nor_the_partitions_change_the_model(spark):
    problem = PROBLEMS["two classes"]
    frame = frame_of(spark, problem.X, label=problem.y)
    names = columns_of(problem.X)
    array = frame.selectExpr("label", f"array({', '.join(names)}) AS features")
    frames = [
        (LocalSVMClassifier(**problem.on_spark), frame),
        (LocalSVMClassifier(**problem.on_spark, featuresCol=names), frame.coalesce(1)),
        (LocalSVMClassifier(**problem.on_spark), array.repartition(7)),
    ]
    first, *others = [without_seconds(estimator.fit(rows).toLocal().model_) for estimator, rows in frames]
    assert all(other == first for other in others)
