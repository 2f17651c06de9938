"""What users of pyspark.ml look for in a fitted model: predictions of one vector, a summary, and evaluators."""

import numpy as np
import pytest
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator, RegressionEvaluator
from pyspark.ml.linalg import DenseVector, Vectors
from sklearn import metrics
from spark_frames import frame_of, in_order
from spark_problems import PROBLEMS

from localsvm.errors import InvalidData
from localsvm.spark import (
    LocalSVMClassificationModel,
    LocalSVMClassifier,
    LocalSVMRegressionModel,
    LocalSVMRegressor,
    predict,
)

CLASSES = {"two classes": [0.0, 1.0], "three classes": [0.0, 1.0, 2.0]}
"""Labels as a StringIndexer makes them: evaluators of Spark take the element of a vector for its label."""


@pytest.fixture(scope="module", params=CLASSES)
def classification(request, spark):
    """A problem, its labels, its frame and a model."""
    problem = PROBLEMS[request.param]
    y = np.unique(problem.y, return_inverse=True)[1].astype(float)
    frame = frame_of(spark, problem.X, label=y).cache()
    yield y, problem.X, frame, LocalSVMClassifier(**problem.on_spark).fit(frame)
    frame.unpersist()


@pytest.fixture(scope="module")
def regression(spark):
    problem = PROBLEMS["numbers"]
    frame = frame_of(spark, problem.X, label=problem.y).cache()
    yield problem, frame, LocalSVMRegressor(**problem.on_spark).fit(frame)
    frame.unpersist()


# -------------------------------------------------------------------------------------- one vector


@pytest.mark.parametrize("largest", [predict.BROADCAST_BYTES, 0], ids=["model on the driver", "cells in executors"])
def test_one_vector_is_predicted_as_in_a_frame(classification, monkeypatch, largest):
    monkeypatch.setattr(predict, "BROADCAST_BYTES", largest)
    _, X, frame, model = classification
    expected = in_order(model.transform(frame.where("row < 3")), "prediction", "rawPrediction", "probability")
    for x, prediction, raw, probability in zip(X[:3], *expected, strict=True):
        vector = Vectors.dense(x)
        assert model.predict(vector) == prediction
        assert isinstance(model.predictRaw(vector), DenseVector)
        assert np.array_equal(model.predictRaw(vector).toArray(), raw)
        assert np.array_equal(model.predictProbability(vector).toArray(), probability)


def test_a_vector_may_be_sparse_or_an_array(regression):
    problem, _, model = regression
    x = [0.0, float(problem.X[0, 1])]
    expected = model.predict(Vectors.dense(x))
    assert model.predict(Vectors.sparse(2, [1], [x[1]])) == model.predict(np.array(x)) == model.predict(x) == expected


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (Vectors.dense([1.0]), r"the vector has shape \(1,\), but the model has 2 features"),
        (Vectors.dense([1.0, np.nan]), "element 1 of the vector is NaN or infinite"),
    ],
)
def test_an_invalid_vector_raises(regression, vector, message):
    with pytest.raises(InvalidData, match=message):
        regression[2].predict(vector)


# ----------------------------------------------------------------------------------------- summary


def test_the_summary_of_a_classification_has_out_of_fold_measures(classification, tmp_path):
    y, X, _, model = classification
    summary = model.summary
    assert (summary.numInstances, summary.numFeatures) == X.shape
    assert (summary.numCells, summary.numTasks) == (model.n_cells, len(model.task_report))
    assert 0 < summary.numSupportVectors <= len(y) * model.numClasses
    assert summary.totalSeconds == model.timings["total"] > 0
    # The accuracy is that of cross-validation, and the mean of the recalls by the sizes of the classes. The risk of
    # probabilities, here of two classes, is their log-loss, below that of the rates of the classes.
    if model.numClasses > 2:
        assert summary.accuracy == pytest.approx(1 - summary.risk, abs=0.01)
    else:
        assert 1 - summary.accuracy < summary.risk < np.log(2)
    sizes = np.bincount(y.astype(int))
    assert summary.accuracy == pytest.approx(np.average(summary.recallByLabel, weights=sizes))
    assert len(summary.precisionByLabel) == len(sizes)
    assert (summary.areaUnderROC is None) == (model.numClasses > 2)
    model.save(str(tmp_path / "model"))
    assert LocalSVMClassificationModel.load(str(tmp_path / "model")).summary == summary


@pytest.mark.parametrize("objective", ["tpr_tnr", "log_loss"])
def test_out_of_fold_measures_estimate_those_on_new_rows(spark, objective):
    problem = PROBLEMS["two classes"]
    X, y = problem.X, (problem.y > 0).astype(float)
    model = LocalSVMClassifier(**problem.on_spark, objective=objective).fit(frame_of(spark, X[:900], label=y[:900]))
    prediction, raw = in_order(model.transform(frame_of(spark, X[900:])), "prediction", "rawPrediction")
    summary, new = model.summary, y[900:]
    assert summary.accuracy == pytest.approx(metrics.accuracy_score(new, prediction), abs=0.05)
    assert summary.recallByLabel[1] == pytest.approx(metrics.recall_score(new, prediction), abs=0.08)
    assert summary.areaUnderROC == pytest.approx(metrics.roc_auc_score(new, raw[:, 1]), abs=0.05)
    if point := model.operating_point:
        assert summary.recallByLabel == pytest.approx([1 - point.false_alarm, point.detection])


def test_the_summary_of_a_regression_has_the_error_of_cross_validation(regression, tmp_path):
    problem, _, model = regression
    summary = model.summary
    assert summary.numInstances == len(problem.y)
    assert summary.rootMeanSquaredError == pytest.approx(0.1, rel=0.3)  # the noise of the problem
    assert summary.meanSquaredError == pytest.approx(summary.rootMeanSquaredError**2)
    model.save(str(tmp_path / "model"))
    assert LocalSVMRegressionModel.load(str(tmp_path / "model")).summary == summary


# -------------------------------------------------------------------------------------- evaluators


def evaluate(session):
    """Return the measures of Spark's evaluators, and what scikit-learn makes of the same predictions."""
    found, expected = {}, {}
    problem = PROBLEMS["three classes"]
    y = problem.y - 5
    frame = frame_of(session, problem.X, label=y)
    rows = LocalSVMClassifier(**problem.on_spark).fit(frame).transform(frame)
    prediction, probability = in_order(rows, "prediction", "probability")
    weighted = {"average": "weighted", "zero_division": 0}
    expected["accuracy"] = metrics.accuracy_score(y, prediction)
    expected["f1"] = metrics.f1_score(y, prediction, **weighted)
    expected["weightedPrecision"] = metrics.precision_score(y, prediction, **weighted)
    expected["logLoss"] = metrics.log_loss(y, np.clip(probability, 1e-15, 1))
    for name in expected:
        found[name] = MulticlassClassificationEvaluator(metricName=name).evaluate(rows)

    two = PROBLEMS["two classes"]  # -1 and 1
    frame = frame_of(session, two.X, label=two.y)
    rows = LocalSVMClassifier(**two.on_spark).fit(frame).transform(frame)
    (raw,) = in_order(rows, "rawPrediction")
    for name, score in (("areaUnderROC", metrics.roc_auc_score), ("areaUnderPR", metrics.average_precision_score)):
        found[name] = BinaryClassificationEvaluator(metricName=name, numBins=0).evaluate(rows)
        expected[name] = score(two.y > 0, raw[:, 1])

    numbers = PROBLEMS["numbers"]
    frame = frame_of(session, numbers.X, label=numbers.y)
    rows = LocalSVMRegressor(**numbers.on_spark).fit(frame).transform(frame)
    (prediction,) = in_order(rows, "prediction")
    for name, score in (("r2", metrics.r2_score), ("mae", metrics.mean_absolute_error)):
        found[name] = RegressionEvaluator(metricName=name).evaluate(rows)
        expected[name] = score(numbers.y, prediction)
    return found, expected


def test_evaluators_of_spark_agree_with_scikit_learn_in_both_modes(spark, connect):
    for found, expected in (evaluate(spark), connect.run(evaluate)):
        assert found == pytest.approx(expected, rel=0.01)  # precision is interpolated in another way
